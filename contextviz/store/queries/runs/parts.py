"""Parts of one replay, from the few chunks that hold them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from contextviz.events.compaction import SummaryNode
from contextviz.events.engine_event import EngineEvent
from contextviz.events.run import KEY_EVERY, Run, RunBoundary, RunCall, RunMessage, RunOriginal, WindowEdit, WindowLog
from contextviz.events.snapshot import ItemTable
from contextviz.store.models import RunChunkRecord, RunSeriesRecord
from contextviz.store.queries.runs.listing import RunRow
from contextviz.store.rows import run as rows
from contextviz.store.rows.run import Part
from contextviz.store.values import NotFound, WindowItem

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class BoundaryMark:
    """A boundary on a chart: `call` is the index of the first call after it, None where none follows. Tokens are the
    engine's own numbers."""

    number: int
    call: int | None
    kind: str
    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None


@dataclass(frozen=True, slots=True)
class RunSeries:
    """A run by call, one entry a call: `messages` read by then, the session's own `model_call` (None: it reports none),
    the window's `tokens` by the run's estimator, `engine_tokens` as the engine counts (None: it does not),
    `kept_tokens` of the prefix shared with the window before, `items`, and whether it `is_over` the budget (1 or 0)."""

    messages: list[int]
    model_call: list[int | None]
    tokens: list[int]
    engine_tokens: list[int | None]
    kept_tokens: list[int]
    items: list[int]
    is_over: list[int]
    boundaries: list[BoundaryMark]


@dataclass(frozen=True, slots=True)
class RunWindow:
    """A window, or a page of it: `items` in order; `call.items` is how many there are in all."""

    call: RunCall
    items: list[WindowItem]


def series(run: RunRow) -> RunSeries:
    """What charts draw, unreduced; raises NotFound until the run is done. One query."""
    body = RunSeriesRecord.objects.filter(run_id=run.id).values_list("body", flat=True).first()
    if body is None:
        raise NotFound(f"This run is {run.state}: it has no windows yet.")
    columns: dict[str, Any] = rows.open_body(body)
    columns["boundaries"] = [BoundaryMark(*mark) for mark in columns["boundaries"]]
    return RunSeries(**columns)


def calls(run: RunRow, start: int = 0, stop: int | None = None) -> list[RunCall]:
    """Calls from index `start` up to but not `stop`. One query."""
    return _between(run, rows.CALLS, run.call_count, start, stop)


def get_call(run: RunRow, index: int) -> RunCall:
    """One call; raises NotFound. One query."""
    found = calls(run, index, index + 1) if 0 <= index < run.call_count else []
    if not found:
        raise NotFound(f"This run has no call {index + 1}." if run.is_done else f"This run is {run.state}.")
    return found[0]


def positions(run: RunRow, index: int) -> list[int]:
    """The positions in the run's items of window `index`, in order; raises NotFound. One query."""
    if not 0 <= index < run.call_count:
        raise NotFound(f"This run has no call {index + 1}.")
    window: list[int] = []
    for edit in _between(run, rows.WINDOWS, run.call_count, index - index % KEY_EVERY, index + 1):
        _apply(edit, window)
    return window


def _apply(edit: WindowEdit, window: list[int]) -> None:
    """`edit.applied` in place: of a long window 32 copies would be most of what a page waits for."""
    if edit.end > edit.start:
        del window[edit.end :]
        window[edit.keep : edit.start] = edit.insert
    else:
        window[edit.keep :] = edit.insert
    window.extend(edit.tail)


def window(run: RunRow, index: int, start: int = 0, stop: int | None = None) -> RunWindow:
    """What call `index` was given, from its item `start` up to but not `stop`; raises NotFound. Three queries, and
    only the items that are shown are opened."""
    call = get_call(run, index)
    order = positions(run, index)
    places = range(len(order))[start:stop]
    items = _at(run, rows.ITEMS_OF_RUNS, [order[place] for place in places])
    return RunWindow(call, [WindowItem(place, order[place], *items[order[place]]) for place in places])


def boundaries(run: RunRow, start: int = 0, stop: int | None = None) -> list[RunBoundary]:
    """Boundaries in order, from place `start` up to but not `stop`. One query."""
    return _between(run, rows.BOUNDARIES, run.boundary_count, start, stop)


def get_boundary(run: RunRow, number: int) -> RunBoundary:
    """One boundary by its number, from 1; raises NotFound. One query."""
    found = boundaries(run, number - 1, number) if 1 <= number <= run.boundary_count else []
    if not found:
        raise NotFound(f"This run has no boundary {number}.")
    return found[0]


def nodes(run: RunRow, start: int = 0, stop: int | None = None) -> list[SummaryNode]:
    """Summaries in the order they were made. One query."""
    return _between(run, rows.NODES_OF_RUNS, run.node_count, start, stop)


def get_node(run: RunRow, node_id: str) -> SummaryNode:
    """One summary by the engine's id; raises NotFound. Two queries."""
    place = _place(run, "node_ids", node_id, run.node_count)
    if place is None:
        raise NotFound(f"This run has no summary called {node_id[:80]}.")
    return nodes(run, place, place + 1)[0]


def events(run: RunRow, start: int = 0, stop: int | None = None) -> list[EngineEvent]:
    """What the engine told, in order. One query."""
    return _between(run, rows.EVENTS, run.event_count, start, stop)


def originals(run: RunRow, start: int = 0, stop: int | None = None) -> list[RunOriginal]:
    """What handles of the run stand for, in the order they were made. One query."""
    return _between(run, rows.ORIGINALS, run.original_count, start, stop)


def get_original(run: RunRow, handle: str) -> RunOriginal:
    """What a handle stands for; raises NotFound. Two queries."""
    place = _place(run, "handles", handle, run.original_count)
    if place is None:
        raise NotFound(f"This run has no original behind {handle[:80]}.")
    return originals(run, place, place + 1)[0]


def messages_at(run: RunRow, seqs: Collection[int]) -> dict[int, RunMessage]:
    """Messages of the replay by seq, those that there are not left out: from what a boundary dropped to the session's
    own messages. One query."""
    return _at(run, rows.MESSAGES, [seq for seq in seqs if 0 <= seq < run.message_count])


def load_run(run: RunRow) -> Run:
    """Everything of a run that is done, for analyses in jobs; raises NotFound. Eight queries, memory as the run."""
    if run.measured is None:
        raise NotFound(f"This run is {run.state}: it has no windows yet.")
    table = ItemTable([item for item, _ in _between(run, rows.ITEMS_OF_RUNS, run.item_count, 0, None)])
    return Run(
        run.engine, run.version, run.label, dict(run.settings), run.measured, dict(run.qualities), run.summariser,
        run.scorer, list(run.notes), messages=_between(run, rows.MESSAGES, run.message_count, 0, None),
        calls=calls(run), log=WindowLog(table, _between(run, rows.WINDOWS, run.call_count, 0, None)),
        boundaries=boundaries(run), nodes=nodes(run), events=events(run), originals=originals(run),
        summariser_calls=run.summariser_calls,
    )  # fmt: skip


def _between(run: RunRow, part: Part[Entry], count: int, start: int, stop: int | None) -> list[Entry]:
    stop = count if stop is None else min(stop, count)
    start = max(0, start)
    if start >= stop:
        return []
    first = start // part.size
    read = _chunks(run, part, first, (stop - 1) // part.size)
    found = [entry for number, body in read for entry in part.opened(number, body)]
    return found[start - first * part.size : stop - first * part.size]


def _chunks(run: RunRow, part: Part[Any], first: int, last: int) -> Iterator[tuple[int, bytes | memoryview]]:
    found = RunChunkRecord.objects.filter(run_id=run.id, kind=part.kind, number__gte=first, number__lte=last)
    return found.order_by("number").values_list("number", "body").iterator()


def _at(run: RunRow, part: Part[Entry], places: Collection[int]) -> dict[int, Entry]:
    """Entries by place; only the chunks that hold them are read. One query for any number of them."""
    wanted = set(places)
    if not wanted:
        return {}
    numbers = {place // part.size for place in wanted}
    found = RunChunkRecord.objects.filter(run_id=run.id, kind=part.kind, number__in=numbers)
    entries: dict[int, Entry] = {}
    for number, body in found.values_list("number", "body").iterator():
        first = number * part.size
        packed = rows.open_body(body)
        entries.update(
            (place, part.from_row(packed[place - first], place))
            for place in range(first, first + len(packed))
            if place in wanted
        )
    return entries


def _place(run: RunRow, kind: str, name: str, count: int) -> int | None:
    number = rows.bucket_of(name, count)
    body = RunChunkRecord.objects.filter(run_id=run.id, kind=kind, number=number).values_list("body", flat=True).first()
    places: dict[str, int] = {} if body is None else rows.open_body(body)
    return places.get(name)
