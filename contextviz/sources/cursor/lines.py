"""The lines of Cursor's transcripts into a draft. They have neither ids, times nor tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.session import Session
from contextviz.events.text import TextPool
from contextviz.sources.lines import Record
from contextviz.sources.plain.content import part_blocks
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import title_of
from contextviz.sources.source import Probe, ReadOptions
from contextviz.sources.values import as_dict, as_text

FORMAT = "cursor"
Json = dict[str, Any]
TURN_ENDED = "turn_ended"
FAILED = frozenset({"error", "failed"})
# A part of any of these types is understood; the others are kept as their JSON.
_KNOWN = frozenset({"text", "tool_use", "tool_result", "image", "thinking", "reasoning", "redacted_thinking"})
OPENED, CLOSED = "<user_query>", "</user_query>"


def is_message(record: Mapping[str, Any]) -> bool:
    """Whether a record is a message as only Cursor writes it: the role beside `message`, and no type."""
    message = record.get("message")
    return (
        isinstance(record.get("role"), str) and "type" not in record and isinstance(message, dict)
        and "role" not in message and isinstance(message.get("content"), list)
    )  # fmt: skip


def is_line(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of Cursor's."""
    return is_message(record) or record.get("type") == TURN_ENDED


class CursorLines:
    """The script (plain.growing) of one transcript."""

    def __init__(self, probe: Probe, name: str, parent: str | None, options: ReadOptions) -> None:
        self.draft = Draft(Session(name, FORMAT), probe.name, options)
        self.draft.session.parent = parent

    def feed(self, record: Record) -> str | None:
        """See Script.feed."""
        value = record.value
        kind = as_text(value.get("type"))
        if kind == TURN_ENDED:
            self.draft.transcript.failed_calls += as_text(value.get("status")) in FAILED
            return None
        message, word = as_dict(value.get("message")), as_text(value.get("role"))
        roles: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}
        role = roles.get(word or "")
        if kind is not None or role is None or word is None:
            return kind or word or "no role"
        draft, session = self.draft, self.draft.session
        blocks = list(self._blocks(message.get("content"), role))
        if role == "user" and any(block.kind == "tool_result" for block in blocks):
            role = "tool" if all(block.kind == "tool_result" for block in blocks) else role
        made = draft.message(
            role, word, blocks, line=record.line, is_human=role == "user" and session.parent is None
        )  # fmt: skip
        draft.put(made, without_thinking=True)
        if role == "user" and session.title is None:
            session.title = title_of(next((draft.pool.get(one.text) for one in blocks if one.kind == "text"), ""))
        return None

    def end(self) -> None:
        """See Script.end."""

    def _blocks(self, content: Any, role: Role) -> Iterator[Block]:
        pool = self.draft.pool
        for part in content if isinstance(content, list) else [content]:
            kind, text = as_text(as_dict(part).get("type")), as_text(as_dict(part).get("text"))
            if isinstance(part, dict) and kind not in _KNOWN:
                self.draft.unknown_part(str(kind)[:80])
            if role == "user" and kind == "text" and text is not None:
                yield from _typed(text, pool)
            else:
                yield from part_blocks(part, pool, "system" if role == "system" else "text")


def _typed(text: str, pool: TextPool) -> Iterator[Block]:
    """What a person typed stands between tags of the client, with what the client puts in before and after."""
    at = 0
    while (start := text.find(OPENED, at)) >= 0 and (end := text.find(CLOSED, start)) >= 0:
        start += len(OPENED)
        if text[at:start].strip():
            yield Block("injected", pool.put(text[at:start]))
        yield Block("text", pool.put(text[start:end].removeprefix("\n").removesuffix("\n")))
        at = end
    if text[at:].strip():
        yield Block("injected" if at else "text", pool.put(text[at:]))
