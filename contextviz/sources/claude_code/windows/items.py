"""Context items of blocks: what an item is, where it comes from and why it is there."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.message import Block
from contextviz.events.snapshot import ContextItem, ItemState
from contextviz.events.text import TextRef
from contextviz.sources.claude_code.rows import Row

REMINDER = "reminder by the client"
WRAPPED = "passed on by the client, not typed as a prompt"
WITH_REMINDERS = "tool result with the client's reminders in it"


@dataclass(slots=True)
class ItemMaker:
    """Makes items; `summaries` numbers compactions by their summary row's uuid."""

    summaries: dict[str, int] = field(default_factory=dict)

    def of_row(self, row: Row) -> list[ContextItem]:
        """The items of a row as the transcript has it."""
        return [self.of_block(block, row) for block in row.blocks]

    def of_block(self, block: Block, row: Row | None, *, role: str | None = None) -> ContextItem:
        """The item of a block; `row` says where it comes from (None: not in the transcript)."""
        is_summary = row is not None and row.is_summary and block.kind in ("text", "summary")
        state, reason = self._why(block, row, is_summary)
        return ContextItem(
            role="tool" if block.kind == "tool_result" else _role(row, role),  # type: ignore[arg-type]
            kind="summary" if is_summary else block.kind,
            text=block.text,
            entry=row.uuid if row else None,
            message_index=row.message_index if row else None,
            state=state,
            reason=reason,
            is_error=block.is_error,
            tool_name=block.tool_name,
            tool_call_id=block.tool_call_id,
            media_bytes=block.media_bytes,
        )

    def _why(self, block: Block, row: Row | None, is_summary: bool) -> tuple[ItemState, str]:
        if is_summary and row is not None:
            number = self.summaries.get(row.uuid or "")
            return "summary", f"summary by compaction {number}" if number else "summary of an earlier conversation"
        if row is not None and row.kind == "attachment" and row.subtype != "queued_command":
            return "injected", f"{REMINDER}: {(row.subtype or 'attachment').replace('_', ' ')}"
        if block.kind == "injected":
            return "injected", REMINDER
        if row is not None and row.kind != "assistant" and (row.is_wrapper or row.is_meta):
            return "injected", WRAPPED
        if row is None:
            return "verbatim", "in the request the client wrote down"
        return "verbatim", "kept verbatim"


def _role(row: Row | None, role: str | None) -> str:
    if role is not None:
        return role
    return "assistant" if row is not None and row.kind == "assistant" else "user"


def fixed_items(system: tuple[TextRef, ...], tools: TextRef | None) -> list[ContextItem]:
    """The items every call begins with: the system prompt's blocks and the tool definitions as one."""
    items = [ContextItem("system", "system", text, reason="system prompt") for text in system]
    if tools is not None:
        items.append(ContextItem("system", "tools", tools, reason="tool definitions"))
    return items
