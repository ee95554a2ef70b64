"""Context items, and snapshots with their key frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from contextviz.events.evidence import check_as_dict, check_from
from contextviz.events.snapshot import ContextItem, ContextSnapshot, SnapshotLog
from contextviz.events.text import TextRef
from contextviz.store.models.window import ItemRecord, SnapshotRecord
from contextviz.store.packing import Runs, pack, unpack
from contextviz.store.rows.table import Row, Table

KEY_FRAME_EVERY = 32  # snapshots; a window is then read from at most this many rows

ITEM_COLUMNS = (
    "role", "kind", "digest", "chars", "size", "estimated_tokens", "entry", "message_index", "state", "reason",
    "basis", "is_error", "tool_name", "tool_call_id", "media_bytes", "category",
)  # fmt: skip
CategorisedItem = tuple[ContextItem, str]


def _item_to_row(pair: CategorisedItem) -> Row:
    item, category = pair
    return (
        item.role, item.kind, item.text.digest, item.text.chars, item.text.size, item.text.estimated_tokens,
        item.entry, item.message_index, item.state, item.reason, item.basis, item.is_error, item.tool_name,
        item.tool_call_id, item.media_bytes, category,
    )  # fmt: skip


def _to_item(row: Row) -> CategorisedItem:
    (role, kind, digest, chars, size, tokens, entry, message_index, state, reason, basis, is_error, tool_name,
     tool_call_id, media_bytes, category) = row  # fmt: skip
    ref = TextRef(bytes(digest), chars, size, tokens)
    item = ContextItem(
        role, kind, ref, entry or None, message_index, state, reason, basis, is_error, tool_name or None,
        tool_call_id or None, media_bytes,
    )  # fmt: skip
    return item, category


ITEMS = Table[CategorisedItem](ItemRecord, ITEM_COLUMNS, _item_to_row, _to_item)

SNAPSHOT_COLUMNS = (
    "call_index", "basis", "note", "previous", "keep", "tail", "whole", "chain_index", "key_index", "item_count",
    "estimated_tokens", "sums", "log_check",
)  # fmt: skip


def _to_snapshot(row: Row) -> ContextSnapshot:
    return ContextSnapshot(row[0], row[1], row[3], row[4], tuple(unpack(row[5])), row[2] or None, check_from(row[12]))


SNAPSHOTS = Table[Row](SnapshotRecord, SNAPSHOT_COLUMNS, lambda row: row, lambda row: row)


def to_snapshot(row: Row) -> ContextSnapshot:
    """A row of SNAPSHOT_COLUMNS as the event."""
    return _to_snapshot(row)


def snapshot_rows(log: SnapshotLog, sums: Iterable[Mapping[str, int]]) -> Iterator[Row]:
    """Every snapshot as a row of SNAPSHOT_COLUMNS; `sums` are its estimated tokens by category.

    The current window of each chain is kept while going through, so this is linear in what changes.
    """
    chains: dict[int, _Chain] = {}
    for index, (snapshot, by_category) in enumerate(zip(log.snapshots, sums, strict=True)):
        chain = chains.pop(snapshot.previous, None) if snapshot.previous is not None else _Chain(index)
        if chain is None:  # two snapshots continue the same one; readers never do, but the type allows it
            chain = _Chain(index)
            chain.window.extend(log.positions(index))
        else:
            chain.window.cut(snapshot.keep)
            chain.window.extend(snapshot.tail)
        is_key = chain.length % KEY_FRAME_EVERY == 0
        chain.key = index if is_key else chain.key
        chain.length += 1
        chains[index] = chain
        whole = chain.window.packed() if is_key else None
        yield (
            snapshot.call_index, snapshot.basis, snapshot.note, snapshot.previous, snapshot.keep, pack(snapshot.tail),
            whole, chain.first, chain.key, len(chain.window), sum(by_category.values()), dict(by_category),
            None if snapshot.check is None else check_as_dict(snapshot.check),
        )  # fmt: skip


class _Chain:
    """A row of snapshots that continue each other, while it is written."""

    __slots__ = ("first", "key", "length", "window")

    def __init__(self, first: int) -> None:
        self.first = first
        self.key = first
        self.length = 0
        self.window = Runs()


def window_from(rows: Iterable[Row]) -> list[int]:
    """The item positions of the last of `rows`: a chain's rows of (whole, keep, tail) from its key frame on."""
    window: list[int] = []
    for whole, keep, tail in rows:
        if whole is not None:
            window = unpack(whole)
        else:
            del window[keep:]
            window.extend(unpack(tail))
    return window


def runs_of(positions: Iterable[int]) -> list[tuple[int, int]]:
    """Sorted distinct positions as half-open ranges, small gaps closed: few conditions instead of many."""
    ordered = sorted(set(positions))
    if not ordered:
        return []
    runs = [(ordered[0], ordered[0] + 1)]
    for before, after in pairwise(ordered):
        if after - before <= 1:
            runs[-1] = (runs[-1][0], after + 1)
        else:
            runs.append((after, after + 1))
    return runs
