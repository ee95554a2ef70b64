"""What each call was given: any window in four small queries, whatever the session's length."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from contextviz.events.evidence import check_from
from contextviz.store.bulk import chunks
from contextviz.store.models import ItemRecord, SnapshotRecord
from contextviz.store.rows.window import ITEMS, window_from
from contextviz.store.values import NotFound, SnapshotRow, Window, WindowItem

QUERY_ROWS = 10_000
_COLUMNS = (
    "index", "call_index", "basis", "note", "previous", "keep", "item_count", "estimated_tokens", "sums", "log_check",
)  # fmt: skip


def _row(values: tuple[Any, ...]) -> SnapshotRow:
    index, call_index, basis, note, previous, keep, item_count, tokens, sums, check = values
    return SnapshotRow(
        index, call_index, basis, note or None, previous, keep, item_count, tokens, sums, check_from(check)
    )


def snapshots(session_id: int, *, start: int = 0, stop: int | None = None) -> list[SnapshotRow]:
    """Snapshots from index `start` up to but not `stop`, without items. One query."""
    found = SnapshotRecord.objects.filter(session_id=session_id, index__gte=start)
    if stop is not None:
        found = found.filter(index__lt=stop)
    return [_row(values) for values in found.order_by("index").values_list(*_COLUMNS)]


def find_of_call(session_id: int, call_index: int) -> SnapshotRow | None:
    """The snapshot of a call, None where its window is not known. One query."""
    found = SnapshotRecord.objects.filter(session_id=session_id, call_index=call_index).order_by("index")
    values = found.values_list(*_COLUMNS).first()
    return _row(values) if values else None


def window_of_call(session_id: int, call_index: int, *, start: int = 0, stop: int | None = None) -> Window | None:
    """What a call was given, in order (see `window`); None where that is not known. Five queries."""
    found = find_of_call(session_id, call_index)
    return window(session_id, found.index, start=start, stop=stop) if found else None


def window(session_id: int, index: int, *, start: int = 0, stop: int | None = None) -> Window:
    """The window of snapshot `index`, in order, from its item `start` up to but not `stop`; raises NotFound.

    Four queries. A window may hold tens of thousands of items: pages ask for a part."""
    found = SnapshotRecord.objects.filter(session_id=session_id, index=index).values_list(*_COLUMNS).first()
    if found is None:
        raise NotFound(f"Session {session_id} has no snapshot {index}.")
    order = positions(session_id, index)
    places = range(len(order))[start:stop]
    items = items_at(session_id, (order[place] for place in places))
    return Window(_row(found), [WindowItem(place, order[place], *items[order[place]]) for place in places])


def positions(session_id: int, index: int) -> list[int]:
    """The item positions of snapshot `index`, in order: enough to compare two windows. Two queries."""
    rows = SnapshotRecord.objects.filter(session_id=session_id)
    place = rows.filter(index=index).values_list("chain_index", "key_index").first()
    if place is None:
        raise NotFound(f"Session {session_id} has no snapshot {index}.")
    chain, key = place
    part = rows.filter(chain_index=chain, index__gte=key, index__lte=index).order_by("index")
    return window_from(part.values_list("whole", "keep", "tail"))


def items_at(session_id: int, numbers: Iterable[int]) -> dict[int, Any]:
    """Items with their categories, `(ContextItem, category)`, by position. One query for ten thousand of them."""
    result: dict[int, Any] = {}
    for part in chunks(set(numbers), QUERY_ROWS):
        rows = ItemRecord.objects.filter(session_id=session_id, index__in=part).values_list("index", *ITEMS.columns)
        result.update((row[0], ITEMS.to_event(row[1:])) for row in rows)
    return result


def snapshots_of_calls(session_id: int, call_indexes: Collection[int]) -> dict[int, SnapshotRow]:
    """The snapshots of some calls by call index, those without one left out. One query."""
    found = SnapshotRecord.objects.filter(session_id=session_id, call_index__in=set(call_indexes)).order_by("-index")
    return {row.call_index: row for row in map(_row, found.values_list(*_COLUMNS))}
