"""How long each item stayed in the windows, in one walk over the differences between them (never over the windows)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.analysis.composition import Calibration, WindowSums, calibrations, item_tokens, window_sums
from contextviz.analysis.difference import item_key
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextSnapshot, SnapshotLog


@dataclass(slots=True)
class Stay:
    """One item: the first and last call (from 1) that held it, places × calls, and scaled tokens × calls."""

    since: int
    last: int
    calls: int = 0
    carry: float = 0.0
    places_now: int = 0


@dataclass(frozen=True, slots=True)
class Prefix:
    """What a call shares with the turn before it (`previous_call`): items, their estimated tokens, and the first items
    that differ, None where a window ends there (or, for `old`, where it is not known)."""

    call_index: int
    previous_call: int | None
    items: int
    is_whole: bool
    tokens: int
    new: int | None
    old: int | None


@dataclass(slots=True)
class Walk:
    """Everything that one walk finds. `stays` is by item position; `prefixes` and `rates` by call index.

    A rate is the calibration of that call's window.
    """

    stays: dict[int, Stay] = field(default_factory=dict)
    prefixes: dict[int, Prefix] = field(default_factory=dict)
    rates: dict[int, Calibration] = field(default_factory=dict)
    now: list[int] = field(default_factory=list)

    @property
    def last_rate(self) -> Calibration:
        """The calibration of the last window, which sizes are told in."""
        return self.rates[max(self.rates)] if self.rates else Calibration()


def walk(transcript: Transcript, sums: list[WindowSums] | None = None, agent: str | None = None) -> Walk:
    """Residency and shared prefixes of one agent's windows. Costs what the snapshots' tails hold."""
    sums = list(window_sums(transcript.log)) if sums is None else sums
    found = calibrations(transcript, sums)
    walker = _Walker(transcript.log)
    for position, snapshot in enumerate(transcript.log.snapshots):
        call = transcript.calls[snapshot.call_index]
        if call.agent != agent:
            continue
        window: WindowSums = sums[position]
        rate = found.get((call.agent, call.model, window.unlogged)) or Calibration()
        walker.step(position, snapshot, rate, is_turn=call.purpose == "turn")
    return walker.finish()


class _Walker:
    """One chain. `_counts` and `_scales` are running sums over the turns, so an item's stay costs two look-ups."""

    def __init__(self, log: SnapshotLog):
        self._log = log
        self._tokens = [item_tokens(item) for item in log.table.items]
        self._window: list[int] = []
        self._entered: list[int] = []
        self._running: list[int] = [0]
        self._tip: int | None = None
        # The last turn's call and window length, and how much of that window every window since has kept.
        self._turn: int | None = None
        self._turn_items = self._turn_kept = 0
        self._calls: list[int] = []
        self._counts: list[int] = [0]
        self._scales: list[float] = [0.0]
        self._walk = Walk()

    def step(self, position: int, snapshot: ContextSnapshot, rate: Calibration, *, is_turn: bool) -> None:
        keep, tail = snapshot.keep, snapshot.tail
        if snapshot.previous != self._tip:
            keep, tail = 0, tuple(self._log.positions(position))
        prefix = self._prefix(snapshot.call_index, keep, tail)
        if is_turn:
            self._walk.prefixes[snapshot.call_index] = prefix
            self._walk.rates[snapshot.call_index] = rate
        self._leave(keep)
        self._enter(tail, snapshot.call_index + 1)
        self._tip = position
        self._turn_kept = prefix.items
        if is_turn:
            self._turn, self._turn_items = snapshot.call_index, len(self._window)
            self._turn_kept = self._turn_items
        self._calls.append(snapshot.call_index + 1)
        self._counts.append(self._counts[-1] + is_turn)
        self._scales.append(self._scales[-1] + (rate.scale if is_turn else 0.0))

    def finish(self) -> Walk:
        self._walk.now = list(self._window)
        for number in self._window:
            self._walk.stays[number].places_now += 1
        self._leave(0)
        return self._walk

    def _prefix(self, call_index: int, keep: int, tail: Sequence[int]) -> Prefix:
        items, at = self._log.table.items, keep
        # The same words with another reason are the same prefix to a provider.
        for number in tail:
            if at >= len(self._window) or item_key(items[self._window[at]]) != item_key(items[number]):
                break
            at += 1
        # A summariser's own call between two turns is no turn: its window only bounds what they share.
        is_direct = self._turn_kept == len(self._window) == self._turn_items
        shared = min(at, self._turn_kept)
        new = self._window[shared] if shared < keep else tail[shared - keep] if shared - keep < len(tail) else None
        old = self._window[shared] if is_direct and shared < len(self._window) else None
        is_whole = shared == self._turn_items and self._turn is not None
        return Prefix(call_index, self._turn, shared, is_whole, self._running[shared], new, old)

    def _leave(self, keep: int) -> None:
        now = len(self._calls)
        for place in range(keep, len(self._window)):
            number, entered = self._window[place], self._entered[place]
            stay = self._walk.stays[number]
            stay.calls += self._counts[now] - self._counts[entered]
            stay.carry += self._tokens[number] * (self._scales[now] - self._scales[entered])
            stay.last = max(stay.last, self._calls[now - 1])
        del self._window[keep:], self._entered[keep:], self._running[keep + 1 :]

    def _enter(self, tail: Sequence[int], call: int) -> None:
        now = len(self._calls)
        for number in tail:
            if number not in self._walk.stays:
                self._walk.stays[number] = Stay(call, call)
            self._window.append(number)
            self._entered.append(now)
            self._running.append(self._running[-1] + self._tokens[number])
