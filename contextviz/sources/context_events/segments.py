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
NO_TEXT = "its text was not sent"


class Segments:
    """Holds what was assembled last until a call is given it."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._positions: list[int] | None = None
        self._is_whole = True

    def assembled(self, segments: list[Any], messages: Mapping[str, Message], nodes: Mapping[str, SummaryNode]) -> None:
        """Take the segments of one `context.assembled`."""
        table = self._draft.transcript.log.table
        items = [item for one in segments if (item := self._item(as_dict(one), messages, nodes)) is not None]
        self._is_whole = all(item.text.chars for item in items)
        self._positions = [table.intern(item) for item in items]

    def given_to(self, call: ModelCall) -> None:
        """The call that follows was given what was assembled; one without any before it has no snapshot."""
        if self._positions is None:
            return
        basis: SnapshotBasis = "request" if self._is_whole else "partial"
        note = None if self._is_whole else "some segments came without their text"
        self._draft.transcript.log.add(call.index, self._positions, basis=basis, note=note)
        self._positions = None

    def _item(
        self, told: dict[str, Any], messages: Mapping[str, Message], nodes: Mapping[str, SummaryNode]
    ) -> ContextItem | None:
        kind = as_text(told.get("kind")) or "message"
        if kind == "reserve":
            return None
        role, item_kind = _KINDS.get(kind, ("user", "text"))
        reason = _reason(kind, told)
        state = _STATES.get(as_text(told.get("state")) or "", "injected" if item_kind == "injected" else "verbatim")
        text = as_text(told.get("text"))
        ref = told.get("ref")
        message = _message_of(ref, messages)
        node = nodes.get(ref) if isinstance(ref, str) else None
        if message is not None:
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
    if as_text(told.get("text")) is None and told.get("ref") is None:
        words.append(NO_TEXT)
    return ", ".join(words)
