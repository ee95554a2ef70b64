"""What a table of rows is, and the references that rows hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contextviz.events.text import TextRef
from contextviz.store.models.rows import IndexedRecord

Event = TypeVar("Event")
Row = tuple[Any, ...]
PackedRef = list[Any]


@dataclass(frozen=True)  # slots and a frozen generic do not go together on Python 3.11
class Table(Generic[Event]):
    """One table: its columns, an event as a row, and a row as an event."""

    model: type[IndexedRecord]
    columns: tuple[str, ...]
    to_row: Callable[[Event], Row]
    to_event: Callable[[Row], Event]


def pack_ref(ref: TextRef) -> PackedRef:
    """A reference as JSON: hash, characters, bytes, estimated tokens."""
    return [ref.digest.hex(), ref.chars, ref.size, ref.estimated_tokens]


def pack_optional(ref: TextRef | None) -> PackedRef | None:
    """The same for a text that may not be there."""
    return None if ref is None else pack_ref(ref)


def unpack_ref(packed: PackedRef) -> TextRef:
    """The reference behind `pack_ref`."""
    return TextRef(bytes.fromhex(packed[0]), packed[1], packed[2], packed[3])


def unpack_optional(packed: PackedRef | None) -> TextRef | None:
    """The same for a text that may not be there."""
    return None if packed is None else unpack_ref(packed)
