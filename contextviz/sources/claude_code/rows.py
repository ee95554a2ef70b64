"""One line of a transcript as a small value: what the tree, the messages and the windows need of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool, TextRef
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage
from contextviz.sources.claude_code.blocks import content_blocks, dump, is_wrapper, text_block
from contextviz.sources.claude_code.usage import usage_of
from contextviz.sources.lines import Json
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_list, as_text, same

SYNTHETIC_MODEL = "<synthetic>"
SUMMARY_START = "This session is being continued from a previous conversation"
# Attachments that are for the screen or for the client itself, never for the model.
_SILENT = frozenset({"hook_success", "hook_cancelled", "hook_system_message", "prompt_snapshot", "session_context"})
_TEXT_KEYS = ("text", "content", "prompt", "snippet", "context", "message", "stdout")


@dataclass(frozen=True, slots=True)
class Compact:
    """The metadata of a compaction or microcompaction line (formats.md B.5)."""

    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None
    duration_seconds: float | None
    anchor: str | None = None
    preserved: tuple[str, ...] = ()
    segment: tuple[str | None, str | None] = (None, None)
    cleared_calls: frozenset[str] = frozenset()
    cleared_rows: frozenset[str] = frozenset()


@dataclass(slots=True)
class Row:
    """A line that is a node of the tree. `agent`, `order`, `is_sibling`, `is_replayed` and `message_index` are filled
    when the session is put together (`take_apart` undoes that; `written_agent` is what the line says); `is_rewrite`
    says that its first block replaces the last one of the rows before it (a growing answer); `is_result` that it is a
    user row that carries tool results."""

    uuid: str | None
    parent: str | None
    kind: str
    line: int
    file: str
    at: datetime | None
    agent: str | None = None
    is_sidechain: bool = False
    logical_parent: str | None = None
    subtype: str | None = None
    blocks: tuple[Block, ...] = ()
    message_id: str | None = None
    request_id: str | None = None
    request_ref: str | None = None
    model: str | None = None
    usage: TokenUsage | None = None
    is_meta: bool = False
    is_summary: bool = False
    is_hidden: bool = False
    is_failed: bool = False
    is_wrapper: bool = False
    is_rewrite: bool = False
    is_rendered: bool = False
    is_beside: bool = False
    is_replayed: bool = False
    origin: str | None = None
    block_index: int | None = None
    compact: Compact | None = None
    spawned: str | None = None
    message_index: int | None = None
    has_bad_time: bool = False
    order: int = 0
    is_sibling: bool = False
    is_result: bool = False
    system: TextRef | None = None
    tools: TextRef | None = None
    written_agent: str | None = None

    def take_apart(self) -> None:
        """Forget what followed from the other rows, so that the session can be put together with more of them."""
        self.agent = self.written_agent
        self.is_sibling = self.is_replayed = False
        self.message_index = None

    @property
    def is_synthetic(self) -> bool:
        """Whether the client wrote this assistant row itself: no model was called for it."""
        return self.model == SYNTHETIC_MODEL

    @property
    def is_prompt(self) -> bool:
        """Whether a person wrote this row: not a result, a summary, a wrapper or the client's own text."""
        return (
            self.kind == "user"
            and not self.is_result
            and not (self.is_meta or self.is_summary or self.is_hidden or self.is_wrapper or self.is_sidechain)
            and self.origin in (None, "human", "user", "queued")
            and any(block.kind in ("text", "image") for block in self.blocks)
        )


def row_of(value: Json, line: int, file: str, pool: TextPool) -> Row:
    """The row of one JSON record that has a uuid or is a user or assistant line."""
    kind = same(as_text(value.get("type"))) or ""
    written = value.get("timestamp")
    at = instant(written)
    agent = same(as_id(value.get("agentId")))
    row = Row(
        uuid=same(as_id(value.get("uuid"))),
        parent=same(as_id(value.get("parentUuid"))),
        kind=kind,
        line=line,
        file=file,
        at=at,
        agent=agent,
        written_agent=agent,
        is_sidechain=value.get("isSidechain") is True,
        logical_parent=as_id(value.get("logicalParentUuid")),
        has_bad_time=written is not None and at is None,
    )
    if kind == "user":
        _fill_user(row, value, pool)
    elif kind == "assistant":
        _fill_assistant(row, value, pool)
    elif kind == "system":
        _fill_system(row, value, pool)
    elif kind == "attachment":
        _fill_attachment(row, value, pool)
    return row


def _fill_user(row: Row, value: Json, pool: TextPool) -> None:
    content = as_dict(value.get("message")).get("content")
    row.blocks = content_blocks(content, pool)
    row.is_result = any(block.kind == "tool_result" for block in row.blocks)
    row.is_meta = value.get("isMeta") is True
    row.is_summary = value.get("isCompactSummary") is True
    row.is_hidden = value.get("isVisibleInTranscriptOnly") is True and not row.is_summary
    row.origin = as_id(as_dict(value.get("origin")).get("kind"))
    first = content if isinstance(content, str) else _first_text(content)
    row.is_wrapper = is_wrapper(first)
    if row.parent is None and not row.is_sidechain and first.startswith(SUMMARY_START):
        row.is_summary = True  # before boundary lines existed (formats.md B.5): the first line of a new file
    spawned = as_id(as_dict(value.get("toolUseResult")).get("agentId"))
    if spawned:
        row.spawned = spawned


def _first_text(content: Any) -> str:
    parts = [as_dict(part) for part in as_list(content)]
    return next((as_text(part.get("text")) or "" for part in parts if part.get("type") == "text"), "")


def _fill_assistant(row: Row, value: Json, pool: TextPool) -> None:
    message = as_dict(value.get("message"))
    row.blocks = content_blocks(message.get("content"), pool)
    row.message_id = same(as_id(message.get("id")))
    row.request_id = same(as_id(value.get("requestId")))
    row.request_ref = as_id(value.get("requestRef"))
    row.model = same(as_id(message.get("model")))
    row.usage = usage_of(message.get("usage"))
    row.is_failed = value.get("isApiErrorMessage") is True
    row.block_index = as_int(value.get("apiBlockIndex"))


def _fill_system(row: Row, value: Json, pool: TextPool) -> None:
    row.subtype = as_text(value.get("subtype"))
    if row.subtype == "local_command":
        text = as_text(value.get("content")) or ""
        row.blocks = (text_block(text, pool),) if text else ()
        row.is_wrapper = True
    elif row.subtype == "compact_boundary":
        row.compact = _boundary(as_dict(value.get("compactMetadata")))
    elif row.subtype == "microcompact_boundary":
        row.compact = _microcompact(as_dict(value.get("microcompactMetadata")))


def _boundary(meta: Json) -> Compact:
    messages = as_dict(meta.get("preservedMessages"))
    segment = as_dict(meta.get("preservedSegment"))
    return Compact(
        trigger=as_text(meta.get("trigger")),
        tokens_before=as_int(meta.get("preTokens")),
        tokens_after=as_int(meta.get("postTokens")),
        duration_seconds=_seconds(meta.get("durationMs")),
        anchor=as_id(messages.get("anchorUuid")) or as_id(segment.get("anchorUuid")),
        preserved=tuple(one for one in map(as_id, as_list(messages.get("uuids"))) if one),
        segment=(as_id(segment.get("headUuid")), as_id(segment.get("tailUuid"))),
    )


def _microcompact(meta: Json) -> Compact:
    before, saved = as_int(meta.get("preTokens")), as_int(meta.get("tokensSaved"))
    return Compact(
        trigger=as_text(meta.get("trigger")),
        tokens_before=before,
        tokens_after=before - saved if before is not None and saved is not None and saved <= before else None,
        duration_seconds=_seconds(meta.get("durationMs")),
        cleared_calls=frozenset(one for one in map(as_id, as_list(meta.get("compactedToolIds"))) if one),
        cleared_rows=frozenset(one for one in map(as_id, as_list(meta.get("clearedAttachmentUUIDs"))) if one),
    )


def _seconds(milliseconds: Any) -> float | None:
    value = as_float(milliseconds)
    return None if value is None else value / 1000


def _fill_attachment(row: Row, value: Json, pool: TextPool) -> None:
    attachment = as_dict(value.get("attachment"))
    row.subtype = as_text(attachment.get("type"))
    row.is_beside = value.get("renderedBesideToolResult") is True
    if row.subtype == "prompt_snapshot":
        system, tools = _system_text(attachment), as_list(attachment.get("tools"))
        row.system = pool.put(system) if system else None
        row.tools = pool.put(dump(tools)) if tools else None
    if "rendered" in value:
        row.is_rendered = True
        for one in as_list(value.get("rendered")):
            row.blocks += content_blocks(as_dict(one).get("content"), pool)
    elif row.subtype not in _SILENT:
        row.blocks = _derived(attachment, pool)
    row.blocks = tuple(
        Block("injected", block.text) if block.kind == "text" and row.subtype != "queued_command" else block
        for block in row.blocks
    )


def _derived(attachment: Json, pool: TextPool) -> tuple[Block, ...]:
    """The text of an attachment of a client that does not write what it rendered: its own text field."""
    content = attachment.get("content")
    inner = as_dict(as_dict(content).get("file")).get("content")
    texts = [inner, *(attachment.get(key) for key in _TEXT_KEYS)]
    text = next((one for one in texts if isinstance(one, str) and one.strip()), None)
    if text is None:
        return ()
    return (Block("injected" if attachment.get("type") != "queued_command" else "text", pool.put(text)),)


def _system_text(attachment: Json) -> str:
    parts = [attachment.get("cliPrefix"), *as_list(attachment.get("systemPrompt"))]
    return "\n\n".join(part for part in parts if isinstance(part, str))
