"""How much of what each call needed was in the window that a run made for it (metrics.md section 4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from contextviz.analysis.compaction.loss import readable
from contextviz.analysis.replay.billing import is_windowless
from contextviz.analysis.replay.finding import Finder
from contextviz.analysis.replay.handles import Handles
from contextviz.analysis.replay.history import HistoryMessage
from contextviz.analysis.replay.intervals import Interval, intervals
from contextviz.analysis.replay.needs import BANDS, FIRST_FAR, CallNeeds, Need, Needs
from contextviz.analysis.replay.steps import steps
from contextviz.events.run import Run
from contextviz.events.text import TextPool

MOST_MISSED = 500


class Share(NamedTuple):
    """A pooled share: found ÷ needed, None where nothing was needed, or nothing is known of the windows; the interval
    is over calls."""

    found: int
    needed: int
    interval: Interval | None
    is_known: bool = True

    @property
    def value(self) -> float | None:
        """The share."""
        return self.found / self.needed if self.needed and self.is_known else None


class Missed(NamedTuple):
    """A need that neither the window nor anything behind its handles held: the recorded run used it at this call."""

    call: int
    need: Need


@dataclass(slots=True)
class Recall:
    """Needs met, by call (rows) and band of distance (columns, as BANDS). `calls` are the run's call indices.

    `found` needs stand verbatim in the window, `reached` ones there or behind a handle that stands there. `missed` are
    the first MOST_MISSED of those that were not reached; `total_missed` counts all of them. Not `is_known`: the run has
    no window at all, so that nothing is found and nothing missed.
    """

    calls: list[int]
    needed: np.ndarray
    found: np.ndarray
    reached: np.ndarray
    missed: list[Missed] = field(default_factory=list)
    total_missed: int = 0
    is_known: bool = True

    @property
    def bands(self) -> list[tuple[str, int, int, int]]:
        """By band: its name, needs, found, reached, over all calls."""
        sums = [array.sum(axis=0).tolist() for array in (self.needed, self.found, self.reached)]
        return list(zip(BANDS, *sums, strict=True))

    @property
    def near(self) -> Share:
        """Verbatim, of needs less than 10 k tokens back."""
        return self.shares()[0]

    @property
    def far(self) -> Share:
        """Verbatim, of needs 10 k tokens back or more: the headline."""
        return self.shares()[1]

    @property
    def far_reach(self) -> Share:
        """Verbatim or recoverable, of needs 10 k tokens back or more."""
        return self.shares()[2]

    def of_call(self, call: int) -> float | None:
        """recall(j): the share of one call's needs that stand in its window; None where it needed nothing."""
        row = bisect_left(self.calls, call)
        if row == len(self.calls) or self.calls[row] != call:
            return None
        return float(self.found[row].sum() / self.needed[row].sum()) if self.is_known else None

    def shares(self) -> tuple[Share, Share, Share]:
        """`near`, `far` and `far_reach` from one bootstrap."""
        near, far = slice(0, FIRST_FAR), slice(FIRST_FAR, None)
        found = np.stack([self.found[:, near].sum(1), self.found[:, far].sum(1), self.reached[:, far].sum(1)], axis=1)
        needed = np.stack([self.needed[:, part].sum(1) for part in (near, far, far)], axis=1)
        known = self.is_known
        made = [
            Share(int(found[:, column].sum()), int(needed[:, column].sum()), interval if known else None, known)
            for column, interval in enumerate(intervals(found, needed))
        ]
        return made[0], made[1], made[2]


def recall(run: Run, pool: TextPool, needs: Needs, *, history: Sequence[HistoryMessage] = ()) -> Recall:
    """Hold every call's needs against the run's window for it.

    A need stands in a window where one of its spellings stands in one of the window's texts by itself, not as a part
    of a longer word. Each item is read once, and windows are followed by their differences.
    """
    return _Windows(run, pool, needs, history).measured()


def negative_control(run: Run, pool: TextPool, foreign: Needs) -> Share:
    """The needs of *another* session held against this run's windows, whatever their distance: must be about 0.

    They are dealt out to the run's calls in order, from the front again where there are fewer.
    """
    if not foreign.calls:
        return Share(0, 0, None)
    dealt = [CallNeeds(call, foreign.calls[call % len(foreign.calls)].needs) for call in range(len(run.calls))]
    measured = recall(run, pool, Needs(dealt))
    found, needed = measured.found.sum(1, keepdims=True), measured.needed.sum(1, keepdims=True)
    return Share(int(found.sum()), int(needed.sum()), intervals(found, needed)[0])


class _Windows:
    """How often each spelling stands in the present window, and behind the handles in it."""

    def __init__(self, run: Run, pool: TextPool, needs: Needs, history: Sequence[HistoryMessage]):
        self._run = run
        self._pool = pool
        self._needs = needs
        spellings = needs.spellings()
        self._numbers = {text: number for number, text in enumerate(spellings)}
        self._finder = Finder(spellings)
        self._handles = Handles(run, pool, history)
        self._handle_finder = Finder(self._handles.names)
        self._originals = len(self._handles.names) - len(self._handles.summaries)
        self._behind: dict[int, tuple[int, ...]] = {}
        self._items: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._texts: dict[str, tuple[int, ...]] = {}
        self._here = [0] * len(spellings)
        self._reach = [0] * len(spellings)

    def measured(self) -> Recall:
        """Walk over the windows, call by call."""
        waiting = {one.call: one.needs for one in self._needs.calls}
        calls = [one.call for one in self._needs.calls if one.call < len(self._run.log.edits)]
        needed, found, reached = (np.zeros((len(calls), len(BANDS)), dtype=np.int64) for _ in range(3))
        made = Recall(calls, needed, found, reached, is_known=not is_windowless(self._run))
        row = 0
        for call, (gone, came) in enumerate(steps(self._run.log)):
            self._count(gone, -1)
            self._count(came, 1)
            if call in waiting:
                self._hold(made, row, call, waiting[call])
                row += 1
        return made

    def _count(self, positions: list[int], step: int) -> None:
        for position in positions:
            known = self._items.get(position)
            if known is None:
                known = self._items[position] = self._read(position)
            for number in known[0]:
                self._here[number] += step
            for number in known[1]:
                self._reach[number] += step

    def _hold(self, made: Recall, row: int, call: int, needs: Sequence[Need]) -> None:
        for need in needs:
            band = need.band
            numbers = [self._numbers[text] for text in need.spellings]
            made.needed[row, band] += 1
            if any(self._here[number] for number in numbers):
                made.found[row, band] += 1
                made.reached[row, band] += 1
            elif any(self._reach[number] for number in numbers):
                made.reached[row, band] += 1
            elif made.is_known:
                made.total_missed += 1
                if len(made.missed) < MOST_MISSED:
                    made.missed.append(Missed(call, need))

    def _read(self, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        item = self._run.log.table.items[position]
        if item.kind == "image":
            return (), ()
        text = readable(item, self._pool)
        seen: set[int] = set()
        for handle in self._handle_finder.found_in(text):
            # A summary's id may be a common word: it is a handle only in what the engine wrote.
            if handle < self._originals or item.state != "verbatim":
                seen.update(self._found_behind(handle))
        return self._found_in(text), tuple(seen)

    def _found_in(self, text: str) -> tuple[int, ...]:
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._finder.found_in(text)
        return known

    def _found_behind(self, handle: int) -> tuple[int, ...]:
        known = self._behind.get(handle)
        if known is None:
            texts = self._handles.texts(self._handles.names[handle])
            known = tuple({number for text in texts for number in self._found_in(text)})
            self._behind[handle] = known
        return known
