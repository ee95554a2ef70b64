"""Messages, and what could not be read."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema

from contextviz.api.replies import Bodies
from contextviz.api.shapes import Name, Text, Words
from contextviz.events.message import Block as BlockEvent
from contextviz.events.message import Message as MessageEvent
from contextviz.events.problem import ReadProblem

MOST_BLOCKS = 200
MOST_ENTRIES = 100


class Block(Schema):
    """One content block. A tool call's text is JSON with name and arguments. `full_chars` is the size before the
    client cut what the model saw; `is_synthetic` marks a result that a repair wrote."""

    kind: str
    tool_name: Name | None
    tool_call_id: Name | None
    is_error: bool
    is_synthetic: bool
    media_type: Name | None
    media_bytes: int | None
    full_chars: int | None
    text: Text


class Message(Schema):
    """One message, whichever branch it is on. `index` counts from 0; `call` is the number of the call that it
    answers. The first 200 blocks and 100 entry ids are listed; `block_count` says how many there are."""

    index: int
    id: Name | None
    parent_id: Name | None
    role: str
    native_role: Name
    at: datetime | None
    agent: Name | None
    model: Name | None
    call: int | None
    on_active_path: bool
    is_human: bool
    file: Words
    line: int | None
    entry_ids: list[Name]
    block_count: int
    blocks: list[Block]


class Problem(Schema):
    """Something that could not be read as it stands."""

    index: int
    code: str
    severity: str
    sentence: Words
    file: Words | None
    line: int | None
    entry: Name | None
    value: Words | int | None


def message_of(message: MessageEvent, bodies: Bodies) -> Message:
    """A message as the API shows it."""
    return Message(
        index=message.index,
        id=message.id,
        parent_id=message.parent_id,
        role=message.role,
        native_role=message.native_role,
        at=message.at,
        agent=message.agent,
        model=message.model,
        call=None if message.call_index is None else message.call_index + 1,
        on_active_path=message.on_active_path,
        is_human=message.is_human,
        file=message.file,
        line=message.line,
        entry_ids=list(message.entry_ids[:MOST_ENTRIES] or ([message.id] if message.id else [])),
        block_count=len(message.blocks),
        blocks=[_block(block, bodies) for block in message.blocks[:MOST_BLOCKS]],
    )


def _block(block: BlockEvent, bodies: Bodies) -> Block:
    return Block(
        kind=block.kind,
        tool_name=block.tool_name,
        tool_call_id=block.tool_call_id,
        is_error=block.is_error,
        is_synthetic=block.is_synthetic,
        media_type=block.media_type,
        media_bytes=block.media_bytes,
        full_chars=block.full_chars,
        text=bodies.text(block.text),
    )


def problem_of(index: int, problem: ReadProblem) -> Problem:
    """A problem as the API shows it."""
    return Problem(
        index=index,
        code=problem.code,
        severity=problem.severity,
        sentence=problem.message,
        file=problem.file,
        line=problem.line,
        entry=problem.entry,
        value=problem.value,
    )
