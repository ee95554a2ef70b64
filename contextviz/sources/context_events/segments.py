"""The segments of an assembled context as the items of the window that the next call was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.compaction import SummaryNode
from contextviz.events.message import Kind, Message, Role
from contextviz.events.snapshot import ContextItem, ItemState, SnapshotBasis
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_dict, as_id, as_int, as_text

# Kinds of section 8.2 as roles and kinds of items; `reserve` is no item but room that is kept free.
_KINDS: dict[str, tuple[Role, Kind]] = {
    "system": ("system", "system"), "tools": ("system", "tools"), "identity": ("system", "system"),
    "session_history": ("user", "text"), "memory": ("system", "injected"), "summary": ("user", "summary"),
    "handoff": ("user", "summary"), "placeholder": ("user", "text"), "bridge": ("user", "injected"),
    "recalled": ("user", "injected"), "working": ("user", "injected"), "staged": ("user", "injected"),
    "message": ("user", "text"), "tool_result": ("tool", "tool_result"), "error": ("tool", "tool_result"),
    "focus_brief": ("user", "injected"),
}  # fmt: skip
_STATES: dict[str, ItemState] = {
    "verbatim": "verbatim", "compressed": "stub", "shrunk": "truncated", "truncated": "truncated", "stub": "stub",
    "injected": "injected",
}  # fmt: skip


class Segments:
    """Holds what was assembled last until a call is given it."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._positions: list[int] | None = None
        self._left_out = 0
        self._left_tokens = 0

    def assembled(self, segments: list[Any], messages: Mapping[str, Message], nodes: Mapping[str, SummaryNode]) -> None:
        """Take the segments of one `context.assembled`. Those without text are left out and counted with their tokens:
        an item of nothing would count as none."""
        table = self._draft.transcript.log.table
        self._positions, self._left_out, self._left_tokens = [], 0, 0
        for told in map(as_dict, segments):
            if as_text(told.get("kind")) == "reserve":
                continue
            item = self._item(told, messages, nodes)
            if item is not None and item.text.chars:
                self._positions.append(table.intern(item))
            else:
                self._left_out += 1
                self._left_tokens += as_int(as_dict(told.get("tokens")).get("n")) or 0

    def given_to(self, call: ModelCall) -> None:
        """The call that follows was given what was assembled; one without any before it has no snapshot."""
        if self._positions is None:
            return
        basis: SnapshotBasis = "partial" if self._left_out else "request"
        note = None
        if self._left_out:
            count = "1 segment" if self._left_out == 1 else f"{self._left_out} segments"
            note = f"{count} came without text: {self._left_tokens:,} tokens by the engine's own count"
        self._draft.transcript.log.add(call.index, self._positions, basis=basis, note=note)
        self._positions = None

    def _item(
        self, told: dict[str, Any], messages: Mapping[str, Message], nodes: Mapping[str, SummaryNode]
    ) -> ContextItem | None:
        kind = as_text(told.get("kind")) or "message"
        role, item_kind = _KINDS.get(kind, ("user", "text"))
        reason = _reason(kind, told)
        state = _STATES.get(as_text(told.get("state")) or "", "injected" if item_kind == "injected" else "verbatim")
        text = as_text(told.get("text"))
        ref = told.get("ref")
        message = _message_of(ref, messages)
        node = nodes.get(ref) if isinstance(ref, str) else None
        if message is not None and not message.blocks and text is None:
            return None
        if message is not None and message.blocks:
            block = message.blocks[0]
            content = self._draft.pool.put(text) if text is not None else block.text
            kind_of = block.kind if kind == "message" else item_kind
            return ContextItem(
                message.role, kind_of, content, message.id, message.index, state, reason,
                is_error=block.is_error, tool_name=block.tool_name, tool_call_id=block.tool_call_id,
            )  # fmt: skip
        if text is None and node is not None:
            return ContextItem("user", "summary", node.text, node.id, None, "summary", reason)
        content = self._draft.pool.put(text or "")
        state = "summary" if item_kind == "summary" and state == "verbatim" else state
        entry = ref if isinstance(ref, str) else None
        return ContextItem(role, item_kind, content, entry, None, state, reason)


def _message_of(ref: Any, messages: Mapping[str, Message]) -> Message | None:
    if isinstance(ref, dict):
        number = as_int(ref.get("seq"))
        return messages.get(as_id(ref.get("id")) or "") or messages.get(f"message-{number}")
    return messages.get(ref) if isinstance(ref, str) else None


def _reason(kind: str, told: dict[str, Any]) -> str:
    tokens = as_dict(told.get("tokens"))
    number, estimator = as_int(tokens.get("n")), as_text(tokens.get("estimator"))
    words = [kind.replace("_", " ")]
    if number is not None:
        words.append(f"{number:,} tokens by {(estimator or 'the engine')[:40]}")
    protected = as_text(told.get("protected"))
    if protected:
        words.append(f"protected: {protected[:40]}")
    return ", ".join(words)
