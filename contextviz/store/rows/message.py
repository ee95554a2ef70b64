"""Messages, their entries and the pairs of tool calls and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from contextviz.events.message import Block, Message, ToolPair
from contextviz.store.models.rows import EntryRecord, MessageRecord, ToolPairRecord
from contextviz.store.rows.table import Row, Table, pack_ref, unpack_ref

# Block fields by their short names in JSON; a field at its default is left out.
_SHORT = {
    "tool_name": "n",
    "tool_call_id": "i",
    "is_error": "e",
    "is_synthetic": "y",
    "media_type": "mt",
    "media_bytes": "mb",
    "base64_chars": "bc",
    "full_chars": "fc",
}
_LONG = {short: name for name, short in _SHORT.items()}
_rest_of = attrgetter(*_SHORT)
_NOTHING = (None, None, False, False, None, None, None, None)  # a plain text's
MESSAGE_COLUMNS = (
    "index", "source_id", "parent", "role", "native_role", "blocks", "at", "line", "file", "agent", "model",
    "call_index", "on_active_path", "is_human", "entry_ids", "estimated_tokens",
)  # fmt: skip


def blocks(items: Iterable[Block]) -> list[dict[str, Any]]:
    """Blocks as compact JSON of references: `k` kind, `t` text, the rest by `_SHORT`."""
    result = []
    for block in items:
        packed: dict[str, Any] = {"k": block.kind, "t": pack_ref(block.text)}
        rest = _rest_of(block)
        if rest != _NOTHING:
            for short, value in zip(_LONG, rest, strict=True):
                if value is not None and value is not False:
                    packed[short] = value
        result.append(packed)
    return result


def unpack_blocks(packed: Iterable[dict[str, Any]]) -> tuple[Block, ...]:
    """The blocks behind `blocks`."""
    return tuple(
        Block(item["k"], unpack_ref(item["t"]), **{_LONG[name]: value for name, value in item.items() if name in _LONG})
        for item in packed
    )


def _to_row(message: Message) -> Row:
    tokens = sum(block.text.estimated_tokens for block in message.blocks)
    return (
        message.index, message.id, message.parent_id, message.role, message.native_role, blocks(message.blocks),
        message.at, message.line, message.file, message.agent, message.model, message.call_index,
        message.on_active_path, message.is_human, list(message.entry_ids), tokens,
    )  # fmt: skip


def _to_message(row: Row) -> Message:
    (index, source_id, parent, role, native_role, packed, at, line, file, agent, model, call_index, on_active_path,
     is_human, entry_ids, _tokens) = row  # fmt: skip
    return Message(
        index, source_id or None, parent or None, role, native_role, unpack_blocks(packed), at, line, file,
        agent or None, model or None, call_index, on_active_path, is_human, tuple(entry_ids),
    )  # fmt: skip


MESSAGES = Table[Message](MessageRecord, MESSAGE_COLUMNS, _to_row, _to_message)
ENTRY_COLUMNS = ("entry", "message_index")
ENTRIES = Table[Row](EntryRecord, ENTRY_COLUMNS, lambda row: row, lambda row: row)


def entries(messages: Iterable[Message]) -> Iterator[Row]:
    """Each entry id with the index of its message."""
    for message in messages:
        names = dict.fromkeys(message.entry_ids)
        if message.id:
            names[message.id] = None
        for name in names:
            yield name, message.index


def _pair_to_row(pair: ToolPair) -> Row:
    return (
        pair.call_entry, pair.call_message, pair.call_block, pair.result_entry, pair.result_message, pair.result_block
    )  # fmt: skip


def _to_pair(row: Row) -> ToolPair:
    return ToolPair(row[0] or None, row[1], row[2], row[3] or None, row[4], row[5])


PAIR_COLUMNS = ("call_entry", "call_message", "call_block", "result_entry", "result_message", "result_block")
PAIRS = Table[ToolPair](ToolPairRecord, PAIR_COLUMNS, _pair_to_row, _to_pair)
