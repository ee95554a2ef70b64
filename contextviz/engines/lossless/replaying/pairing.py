"""Tool calls and their results: what a window changes so that each call has its result behind it (7.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.engines.lossless.items import Item, Row

MISSING = (
    "[lossless-claw] missing tool result in session history; inserted synthetic error result for transcript repair."
)


@dataclass(frozen=True, slots=True)
class Change:
    """What stands at an item's place: nothing of it (`is_dropped`; it `is_moved` where it stands behind its call
    instead) or it without the calls `stripped`; behind it the results of the items `moved` and a made-up error for each
    of the calls `missing`."""

    is_dropped: bool = False
    is_moved: bool = False
    stripped: tuple[str, ...] = ()
    moved: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class Pairs:
    """Which calls of a context have which results. `odd` are the items out of order: calls that wait, results that
    came late or have no call."""

    callers: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    first_caller: list[int] = field(default_factory=list)  # by item: its own call's item; -1: no result in it
    waiting: dict[str, int] = field(default_factory=dict)
    odd: set[int] = field(default_factory=set)
    _group: int = -1

    def add(self, item: Item) -> None:
        """One more item at the end of the context."""
        at = len(self.first_caller)
        results = item.results if isinstance(item, Row) and item.role == "tool" else ()
        self.first_caller.append(self._answered(at, results) if results else -1)
        if results:
            return
        self._group = -1
        if isinstance(item, Row) and item.calls and item.runtime_role == "assistant":
            self._group = at
            for call in item.calls:
                self.callers[call] = at
                self.answers.pop(call, None)
                self.waiting[call] = at

    def _answered(self, at: int, results: tuple[str, ...]) -> int:
        caller = at
        for result in results:
            asked = self.waiting.pop(result, None)
            if asked is None:
                self.odd.add(at)
                continue
            self.answers[result] = at
            if asked != self._group:
                self.odd |= {asked, at}
            caller = min(caller, asked)
        return caller

    def changes(self, items: Sequence[Item], chosen: Sequence[int], tail: float) -> dict[int, Change]:
        """The changes to the items of a window, by index; most windows have none. `chosen` are its items, in order."""
        is_suffix = isinstance(chosen, range)
        inside: Sequence[int] | set[int] = chosen if is_suffix else set(chosen)
        suspects = set(self.odd) | set(self.waiting.values()) if is_suffix else set(chosen)
        at = chosen[0] if chosen else len(items)
        while at < len(items) and self.first_caller[at] >= 0:
            # Results at the edge, whose calls may be outside.
            suspects.add(at)
            at += 1
        found: dict[int, Change] = {}
        for at in sorted(suspects):
            item = items[at]
            if at not in inside or not isinstance(item, Row):
                continue
            if self.first_caller[at] >= 0:
                if not any(self._is_answering(at, result, inside) for result in item.results):
                    found[at] = Change(is_dropped=True)
            elif item.calls:
                change = self._of_calls(item, at, inside, tail, found)
                if change is not None:
                    found[at] = change
        return found

    def _is_answering(self, at: int, result: str, inside: Sequence[int] | set[int]) -> bool:
        return self.answers.get(result) == at and self.callers.get(result) in inside

    def _of_calls(
        self, item: Row, at: int, inside: Sequence[int] | set[int], tail: float, found: dict[int, Change]
    ) -> Change | None:
        stripped, missing, moved = [], [], []
        for call in item.calls:
            answer = self.answers.get(call) if self.callers.get(call) == at else None
            if answer is not None and answer in inside:
                if answer > at + 1 and any(self.first_caller[between] < 0 for between in range(at + 1, answer)):
                    moved.append(answer)
            elif at < tail or answer is not None:
                stripped.append(call)
            else:
                missing.append(call)
        for answer in moved:
            found[answer] = Change(is_dropped=True, is_moved=True)
        if not (stripped or missing or moved):
            return None
        return Change(False, False, tuple(stripped), tuple(dict.fromkeys(moved)), tuple(missing))
