"""Two to four windows of one session side by side: which item stands in which of them, and as what.

Items of a message are the same item wherever that message is given, whole or cut; what has no message (a summary, an
injected note) is known by its text. Rows stand in the order of the first window, with what others have beside the
items that they follow there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from contextviz.events.snapshot import ContextItem

Mark = Literal["kept", "changed", "only", "missing", "beside"]
MOST_WINDOWS = 4
# What replays know as one number only: every request has it beside the messages that an engine chooses.
HELD_BESIDE = ("system", "tools")
_HEAD = -1


@dataclass(frozen=True, slots=True)
class Cell:
    """An item in one window: its place there (from 0; None where it is not) and how it stands beside the others.

    kept: as in the others that have it; changed: with another text; only: no other window has it; beside: not among
    its items, but in every request that this window is sent with.
    """

    mark: Mark
    place: int | None = None
    item: ContextItem | None = None


@dataclass(frozen=True, slots=True)
class AlignedItem:
    """One row: a cell a window. `item` is what stands for all of them: the verbatim one, else the first."""

    item: ContextItem
    cells: tuple[Cell, ...]

    @property
    def is_same(self) -> bool:
        """Whether every window has it, with one text."""
        return all(cell.mark in ("kept", "beside") for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Aligned:
    """The rows in order, and for each window how many of its cells have which mark.

    In each window kept + changed + only are its items, and with missing and beside they are all rows.
    """

    rows: tuple[AlignedItem, ...]
    counts: tuple[dict[Mark, int], ...]

    @property
    def differences(self) -> int:
        """How many rows are not the same in every window."""
        return sum(not row.is_same for row in self.rows)


def identity(item: ContextItem) -> Hashable:
    """What an item is the same by in windows of different runs; several of one window may share it, in order."""
    if item.message_index is not None and item.state != "summary":
        return (item.message_index, item.kind, item.tool_call_id)
    return (item.role, item.kind, item.text.digest)


def align(windows: Sequence[Sequence[ContextItem]], held: Sequence[bool] = ()) -> Aligned:
    """The windows item by item; `held` says of each whether system prompt and tools stand beside its items in every
    request (by default of none). Raises ValueError for fewer than one or more than four windows."""
    if not 1 <= len(windows) <= MOST_WINDOWS:
        raise ValueError(f"One to {MOST_WINDOWS} windows can be compared, not {len(windows)}.")
    found: dict[Hashable, list[tuple[int, ContextItem] | None]] = {}
    following: dict[Hashable, Hashable] = {}
    for number, window in enumerate(windows):
        before: Hashable = _HEAD
        for place, (key, item) in enumerate(_numbered(window)):
            cells = found.get(key)
            if cells is None:
                cells = found[key] = [None] * len(windows)
                # Between the item it follows here and what came after that one so far.
                following[key], following[before] = following.get(before, _HEAD), key
            cells[number] = (place, item)
            before = key
    holding = list(held) or [False] * len(windows)
    rows = []
    key = following.get(_HEAD, _HEAD)
    while key != _HEAD:
        rows.append(_row(found[key], holding))
        key = following[key]
    counts: list[dict[Mark, int]] = [{"kept": 0, "changed": 0, "only": 0, "missing": 0, "beside": 0} for _ in windows]
    for row in rows:
        for count, cell in zip(counts, row.cells, strict=True):
            count[cell.mark] += 1
    return Aligned(tuple(rows), tuple(counts))


def _numbered(window: Sequence[ContextItem]) -> Iterable[tuple[Hashable, ContextItem]]:
    """Each item with a key of its own in this window: what it is known by, and which of those it is."""
    seen: dict[Hashable, int] = {}
    for item in window:
        known = identity(item)
        number = seen.get(known, 0)
        seen[known] = number + 1
        yield (known, number), item


def _row(found: Sequence[tuple[int, ContextItem] | None], held: Sequence[bool]) -> AlignedItem:
    there = [one[1] for one in found if one is not None]
    whole = next((item for item in there if item.state == "verbatim"), there[0])
    beside = [one is None and is_held and whole.kind in HELD_BESIDE for one, is_held in zip(found, held, strict=True)]
    alone = len(there) == 1 < len(found) and not any(beside)
    cells = []
    for one, is_beside in zip(found, beside, strict=True):
        if one is None:
            cells.append(Cell("beside" if is_beside else "missing"))
            continue
        place, item = one
        same: Mark = "kept" if item.text.digest == whole.text.digest and item.state == whole.state else "changed"
        cells.append(Cell("only" if alone else same, place, item))
    return AlignedItem(whole, tuple(cells))


def near_differences(rows: Sequence[AlignedItem], *, beside: int) -> list[int]:
    """The rows that differ, with `beside` rows on either side of each, in order."""
    found: list[int] = []
    for place, row in enumerate(rows):
        if row.is_same:
            continue
        first = max(place - beside, found[-1] + 1 if found else 0)
        found.extend(range(first, min(place + beside + 1, len(rows))))
    return found


def without_long_stretches(rows: Sequence[AlignedItem], chosen: Sequence[int], *, most: int) -> list[int]:
    """Of the `chosen` rows those to show: where more than `most` on end differ in the same way, the first few of them
    and the last."""
    found: list[int] = []
    stretch: list[int] = []
    before: tuple[Mark, ...] = ()
    for place in chosen:
        marks = tuple(cell.mark for cell in rows[place].cells)
        if stretch and (marks != before or place != stretch[-1] + 1):
            found += _ends(stretch, most)
            stretch = []
        stretch.append(place)
        before = marks
    return [*found, *_ends(stretch, most)]


def _ends(stretch: list[int], most: int) -> list[int]:
    if len(stretch) <= most:
        return stretch
    head = (most + 1) // 2
    return [*stretch[:head], *stretch[len(stretch) - most + head :]]
