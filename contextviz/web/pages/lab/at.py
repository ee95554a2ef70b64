"""What every compared run had at one call: sizes, composition, lists, graphs, a boundary, or a what-if."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from contextviz.charts import words
from contextviz.engines.engine import EngineSpec
from contextviz.store.queries import runs
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.pages.held import open_text
from contextviz.web.pages.lab.columns import Column
from contextviz.web.pages.lab.graphs import NodeShown, RunGraph, node_shown, run_graphs
from contextviz.web.pages.lab.lists import Lists, category_table, lists
from contextviz.web.pages.lab.place import VIEWS, LabPlace
from contextviz.web.pages.lab.what_if import WhatIfPage, what_if
from contextviz.web.pages.lab.windows import SlotWindow, windows_at
from contextviz.web.pages.links import call_url, compaction_url, message_url
from contextviz.web.pages.session.shown import Shown, shown

Asked = TypeVar("Asked")
MOST_DROPPED = 40
SUMMARY_CHARS = 20_000
SUMMARY_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class Step:
    """A link to another call; `key` is the key that follows it."""

    name: str
    url: str
    key: str
    is_orange: bool = False


@dataclass(frozen=True, slots=True)
class ViewTab:
    """One of the views under the play-head."""

    name: str
    url: str
    current: bool
    # The key that chooses it
    key: str


@dataclass(frozen=True, slots=True)
class SizeRow:
    """One run at the call. `kept` is the share of its window that stood in the one before; `since` says which boundary
    came last, with its address."""

    column: Column
    window: SlotWindow
    engine_tokens: int | None
    kept: float | None
    since: str
    since_url: str
    is_over: bool
    whole_url: str


@dataclass(frozen=True, slots=True)
class BoundaryShown:
    """One boundary with what it dropped (message, address, tokens) and the summary that stands for it."""

    column: Column
    number: int
    facts: tuple[tuple[str, str], ...]
    reason: str
    dropped: tuple[tuple[str, str, int], ...]
    more: int
    summary: Shown | None
    close_url: str
    page_url: str


@dataclass(frozen=True, slots=True)
class AtCall:
    """Everything under the play-head."""

    place: LabPlace
    call: int
    # What the slider says of its position
    said: str
    steps: tuple[Step, ...]
    views: tuple[ViewTab, ...]
    sizes: tuple[SizeRow, ...]
    lists: Lists | None
    categories: list[tuple[str, tuple[int | None, ...]]]
    graphs: list[RunGraph]
    node: NodeShown | None
    boundary: BoundaryShown | None
    what_if: WhatIfPage | None
    # Whether one of the runs is a replay
    has_replays: bool
    # What of the address is not there, each as a sentence
    notices: tuple[str, ...]


def at_call(
    row: SessionRow, place: LabPlace, columns: Sequence[Column], specs: Sequence[EngineSpec], call: int,
    typed: Mapping[str, str], *, is_asked: bool,
) -> AtCall:  # fmt: skip
    """What the compared runs had at `call`, for the view that the address names."""
    windows = windows_at(row, columns, call)
    listed = lists(place, windows) if place.view == "lists" else None
    notices: list[str] = []
    boundary, node = _found(_boundary, place, columns, notices), _found(node_shown, place, columns, notices)
    return AtCall(
        place, call, _said(columns, windows, call), _steps(place, columns, call), _views(place),
        tuple(_size(place, window, call) for window in windows), listed,
        category_table(windows) if place.view == "composition" else [],
        run_graphs(place, columns) if place.view == "graphs" else [], node, boundary,
        what_if(place, columns, specs, typed, call, is_asked=is_asked) if place.view == "what-if" else None,
        any(column.run is not None for column in columns), tuple(notices),
    )  # fmt: skip


def _found(
    read: Callable[[LabPlace, Sequence[Column]], Asked | None], place: LabPlace, columns: Sequence[Column],
    notices: list[str],
) -> Asked | None:  # fmt: skip
    """What the address names; where that is not there, a sentence more and nothing: the rest of the page holds."""
    try:
        return read(place, columns)
    except NotFound as error:
        notices.append(str(error))
        return None


def _said(columns: Sequence[Column], windows: Sequence[SlotWindow], call: int) -> str:
    last = max(column.numbers[-1] for column in columns if column.numbers)
    sizes = [f"{one.column.name} {words.compact(one.tokens)} tokens" for one in windows if one.tokens is not None]
    return f"call {call:,} of {last:,}" + (f": {', '.join(sizes)}" if sizes else "")


def _steps(place: LabPlace, columns: Sequence[Column], call: int) -> tuple[Step, ...]:
    numbers = sorted({number for column in columns for number in _beside(column.numbers, call)})
    found = []
    before = [number for number in numbers if number < call]
    after = [number for number in numbers if number > call]
    if before:
        found.append(Step(f"Call {before[-1]:,}", place.at(before[-1]), "ArrowLeft"))
    if after:
        found.append(Step(f"Call {after[0]:,}", place.at(after[0]), "ArrowRight"))
    beside = [(at, column) for column in columns for at in _beside(column.boundary_calls, call)]
    earlier = max((one for one in beside if one[0] < call), key=lambda one: one[0], default=None)
    later = min((one for one in beside if one[0] > call), key=lambda one: one[0], default=None)
    for mark, key, name in ((earlier, "C", "Boundary before"), (later, "c", "Boundary after")):
        if mark is not None:
            at, column = mark
            found.append(Step(f"{name}: {column.sign} call {at:,}", place.at(at), key, is_orange=True))
    return tuple(found)


def _beside(numbers: Sequence[int], call: int) -> list[int]:
    low, high = bisect_left(numbers, call), bisect_right(numbers, call)
    return [*numbers[max(low - 1, 0) : low], *numbers[high : high + 1]]


def _views(place: LabPlace) -> tuple[ViewTab, ...]:
    return tuple(
        ViewTab(
            name, place.url(view=view, start=0, only=None, is_whole=False, node=None, boundary=None),
            view == place.view, key,
        )
        for view, name, key in VIEWS
    )  # fmt: skip


def _size(place: LabPlace, window: SlotWindow, call: int) -> SizeRow:
    column, made = window.column, window.call
    kept = None
    if made is not None and window.tokens:
        kept = (made.kept_tokens + (column.system_tokens or 0)) / window.tokens if made.index else None
    last = column.boundary_at(call)
    url = boundary_url(place, column, *last) if last else ""
    since = f"⟳{last[0]} at call {last[1]:,}" if last else ""
    whole = place.url(view="lists", only=column.slot, start=0, anchor="lab-lists")
    if column.run is None and window.number is not None:
        whole = call_url(place.session_id, window.number)
    return SizeRow(
        column, window, made.engine_tokens if made else None, kept, since, url, bool(made and made.is_over), whole
    )


def boundary_url(place: LabPlace, column: Column, number: int, call: int) -> str:
    """Where a boundary is shown: the compaction's own page for what was recorded, else here."""
    if column.run is None:
        return compaction_url(place.session_id, number)
    return place.url(anchor="boundary", boundary=(column.slot, number), call=call)


def _boundary(place: LabPlace, columns: Sequence[Column]) -> BoundaryShown | None:
    if place.boundary is None:
        return None
    slot, number = place.boundary
    column = next((one for one in columns if one.slot == slot), None)
    if column is None:
        raise NotFound(f"The address names boundary {number:,} of run {slot}; there are {len(columns)} compared.")
    if number > column.boundary_count:
        has = words.counted(column.boundary_count, "boundary", "boundaries")
        raise NotFound(f"{column.sign} {column.name} has {has}, so no number {number:,}.")
    close = place.url(boundary=None)
    if column.run is None:
        url = compaction_url(place.session_id, number)
        return BoundaryShown(column, number, (), "", (), 0, None, close, url)
    found = runs.get_boundary(column.run, number)
    made = found.compaction
    chosen = found.dropped[:MOST_DROPPED]
    messages = runs.messages_at(column.run, chosen)
    dropped = []
    for seq in chosen:
        one = messages.get(seq)
        index = one.source_index if one else None
        name = f"{one.role}, message {(seq if index is None else index) + 1:,}" if one else f"message {seq + 1:,}"
        dropped.append(
            (name, message_url(place.session_id, index) if index is not None else "", one.tokens if one else 0)
        )
    facts = (
        ("Kind", made.kind), ("Trigger", made.trigger or words.UNKNOWN),
        ("Window before, as the engine counts", f"{words.tokens(made.tokens_before)} tok ({found.basis})"),
        ("Window after", f"{words.tokens(made.tokens_after)} tok"),
        ("Messages read by then", words.tokens(found.messages)),
        ("Messages dropped", words.tokens(len(found.dropped))),
        ("Summariser calls", words.tokens(found.summariser_calls)),
    )  # fmt: skip
    summary = None
    if made.summary is not None:
        text, _ = open_text(made.summary, chars=SUMMARY_CHARS)
        summary = shown(text or "", chars=made.summary.chars, limit=SUMMARY_CHARS, most_bytes=SUMMARY_BYTES)
    return BoundaryShown(
        column, number, facts, made.summary_note or "", tuple(dropped), len(found.dropped) - len(dropped), summary,
        close, "",
    )  # fmt: skip
