"""The windows of a replay as differences: what each keeps of the one before it, from its front and from its middle.

A replayed window slides and is rewritten in front while its end stays, so a difference is `keep` leading items,
`insert` new ones, the items `[start, end)` of the window before, and `tail`. Every 32nd window is whole, so any is read
in 32 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.events.snapshot import ContextItem, ItemTable, common_prefix

KEY_EVERY = 32
_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class WindowEdit:
    """One window by the one before it; positions are of the table's items."""

    keep: int
    insert: tuple[int, ...] = ()
    start: int = 0
    end: int = 0
    tail: tuple[int, ...] = ()

    def applied(self, before: Sequence[int]) -> list[int]:
        """The window, given the one before it."""
        return [*before[: self.keep], *self.insert, *before[self.start : self.end], *self.tail]


@dataclass(slots=True)
class WindowLog:
    """The windows of a run, one a call. Every 32nd of `edits` keeps nothing: its `tail` is the whole window."""

    table: ItemTable = field(default_factory=ItemTable)
    edits: list[WindowEdit] = field(default_factory=list)

    def add(self, before: list[int], after: list[int], keep: int) -> None:
        """Record `after`, which shares its first `keep` items with `before`, the window recorded last."""
        if len(self.edits) % KEY_EVERY == 0:
            self.edits.append(WindowEdit(0, tail=tuple(after)))
        else:
            self.edits.append(edit_between(before, after, keep))

    def positions(self, index: int) -> list[int]:
        """The item positions of window `index`."""
        window: list[int] = []
        for edit in self.edits[index - index % KEY_EVERY : index + 1]:
            window = edit.applied(window)
        return window

    def window(self, index: int) -> list[ContextItem]:
        """The whole window `index`, in order."""
        return [self.table.items[number] for number in self.positions(index)]


def edit_between(before: list[int], after: list[int], keep: int | None = None) -> WindowEdit:
    """The difference between two windows; `keep` is how many leading items they share, where that is known."""
    if keep is None:
        keep = common_prefix(before, after)
    if keep == len(before):
        return WindowEdit(keep, tail=tuple(after[keep:]))
    place = _last_place(after, before[-1], keep)
    if place is None:
        return WindowEdit(keep, tail=tuple(after[keep:]))
    most = min(len(before) - keep, place + 1 - keep)
    same = _common_suffix(before, after[: place + 1], most)
    start = len(before) - same
    return WindowEdit(keep, tuple(after[keep : place + 1 - same]), start, len(before), tuple(after[place + 1 :]))


def _last_place(items: list[int], wanted: int, least: int) -> int | None:
    for start in range(len(items), least, -_AT_ONCE):
        first = max(least, start - _AT_ONCE)
        block = items[first:start]
        if wanted in block:
            return first + len(block) - 1 - block[::-1].index(wanted)
    return None


def _common_suffix(first: list[int], second: list[int], most: int) -> int:
    same = 0
    while same < most:
        step = min(_AT_ONCE, most - same)
        one = first[len(first) - same - step : len(first) - same]
        other = second[len(second) - same - step : len(second) - same]
        if one != other:
            return same + next(at for at in range(step) if one[-1 - at] != other[-1 - at])
        same += step
    return same
