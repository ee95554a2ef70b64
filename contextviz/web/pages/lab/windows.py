"""The windows that the compared runs had at one call, bounded, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contextviz.analysis.composition import CATEGORIES, item_tokens
from contextviz.analysis.lab import Aligned, AlignedItem, align, near_differences, without_long_stretches
from contextviz.events.run import RunCall
from contextviz.events.snapshot import ContextItem
from contextviz.services import figures
from contextviz.store.queries import runs, snapshots
from contextviz.store.values import SessionRow, WindowItem
from contextviz.web.pages.lab.columns import Column

HEAD = 60
MOST_ALIKE = 6  # rows on end that differ in the same way
MOST_READ = 1_600  # items of all windows together; what is older is counted, not compared


@dataclass(frozen=True, slots=True)
class SlotWindow:
    """A run's window at the call. `number` is the session's call that it was made for (None: the run had none yet).

    `items` are its first ones and its newest, `count` how many there are, `tokens` its size as the column counts.
    `parts` are tokens by category with `residual` (tokens − Σ parts); None where that is not known.
    """

    column: Column
    number: int | None
    items: Sequence[WindowItem]
    count: int
    tokens: int | None
    parts: Mapping[str, int | None] | None
    residual: int | None
    call: RunCall | None = None
    missing: str = ""

    @property
    def unread(self) -> int:
        """Items between the first and the newest that were not read."""
        return self.count - len(self.items)

    @property
    def share(self) -> float | None:
        """Its part of the run's context window."""
        return self.tokens / self.column.window if self.tokens is not None and self.column.window else None


@dataclass(frozen=True, slots=True)
class Compared:
    """Windows item by item. `since` is the first message that is compared, where windows were too long to read whole
    (None: they were not); `left_out` counts each window's items that are older."""

    aligned: Aligned
    since: int | None
    left_out: tuple[int, ...]


def windows_at(row: SessionRow, columns: Sequence[Column], call: int) -> list[SlotWindow]:
    """Each run's window at call `call` of the session. As many queries whatever the windows hold."""
    most = MOST_READ // max(len(columns), 1)
    return [
        _recorded(row, column, call, most) if column.run is None else _replayed(column, call, most)
        for column in columns
    ]


def _recorded(row: SessionRow, column: Column, call: int, most: int) -> SlotWindow:
    index = column.index_at(call)
    if index is None:
        return _nothing(column, "Nothing was asked of a model yet.")
    number, tokens = column.numbers[index], column.tokens[index]
    composition = figures.composition_of(row.id, number - 1)
    found = snapshots.find_of_call(row.id, number - 1)
    if found is None:
        sentence = "The source does not record what the model was given here, and no rule rebuilds it."
        return SlotWindow(column, number, (), 0, tokens, None, None, None, sentence)
    order = snapshots.positions(row.id, found.index)
    chosen = _places(len(order), most)
    items = snapshots.items_at(row.id, (order[place] for place in chosen))
    listed = [WindowItem(place, order[place], *items[order[place]]) for place in chosen]
    parts = {str(name): part for name, part in composition.parts.items()}
    return SlotWindow(column, number, listed, len(order), tokens, parts, composition.residual)


def _replayed(column: Column, call: int, most: int) -> SlotWindow:
    index = column.index_at(call)
    if column.run is None or index is None:
        return _nothing(column, "This run had made no window yet.")
    made = runs.get_call(column.run, index)
    chosen = _places(made.items, most)
    gap = next((place for place, one in enumerate(chosen) if place != one), len(chosen))
    listed = list(runs.window(column.run, index, 0, gap).items) if gap else []
    if gap < len(chosen):
        listed += runs.window(column.run, index, chosen[gap], made.items).items
    tokens = column.tokens[index]
    counted: dict[str, int] = dict.fromkeys(map(str, CATEGORIES), 0)
    for one in listed:
        counted[one.category] = counted.get(one.category, 0) + item_tokens(one.item)
    counted["system"] += column.system_tokens or 0
    residual = None if tokens is None else tokens - sum(counted.values())
    # Where no item is one, tools are in the one number that system prompt and tools are together: not none of them.
    parts: dict[str, int | None] = {**counted, "tools": counted["tools"] or None}
    return SlotWindow(column, column.numbers[index], listed, made.items, tokens, parts, residual, made)


def _nothing(column: Column, sentence: str) -> SlotWindow:
    return SlotWindow(column, None, (), 0, None, None, None, None, sentence)


def _places(count: int, most: int) -> list[int]:
    """All places of a window, or its first ones and its newest."""
    if count <= most:
        return list(range(count))
    return [*range(HEAD), *range(count - (most - HEAD), count)]


def compare(windows: Sequence[SlotWindow]) -> Compared:
    """The windows side by side. Where one was not read whole, all are compared from the first message that every one
    of them was read from."""
    since = max((_first_message(one) for one in windows if one.unread), default=None)
    lists: list[list[ContextItem]] = []
    left_out = []
    for one in windows:
        kept = [item.item for item in one.items if _is_since(item.item, since)]
        lists.append(kept)
        left_out.append(one.count - len(kept))
    held = [one.column.run is not None for one in windows]
    return Compared(align(lists, held), since, tuple(left_out))


def _first_message(window: SlotWindow) -> int:
    newest = [one.item.message_index for one in window.items if one.place >= HEAD]
    return min((index for index in newest if index is not None), default=0)


def _is_since(item: ContextItem, since: int | None) -> bool:
    return since is None or item.message_index is None or item.message_index >= since


def rows_shown(compared: Compared, *, beside: int, whole: bool) -> list[tuple[int, AlignedItem]]:
    """The rows to list with their places: those round differences, long stretches of one kind by their ends; or all.
    A single row between them is listed too: saying that it is left out would take as much room."""
    rows = compared.aligned.rows
    if whole:
        return list(enumerate(rows))
    chosen = without_long_stretches(rows, near_differences(rows, beside=beside), most=MOST_ALIKE)
    filled: list[int] = []
    for place in [*chosen, len(rows)] if chosen else []:
        if place - (filled[-1] if filled else -1) == 2:
            filled.append(place - 1)
        filled.append(place)
    return [(place, rows[place]) for place in filled[:-1]]
