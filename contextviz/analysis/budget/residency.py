"""How long each item stayed in the windows, in one walk over the differences between them (never over the windows)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextviz.analysis.composition import Calibration, Measures
from contextviz.analysis.difference import item_key
from contextviz.events.frozen import frozen
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextSnapshot, SnapshotLog


class Stays:
    """The items that windows held, by position in the item table: the first and last call (from 1) that held each,
    places × calls, scaled tokens × calls, and its places in the window now.

    Columns of numbers: a session has hundreds of thousands of items, and an object each would be its largest part.
    """

    def __init__(self, items: int):
        zeros, halves = bytes(8 * items), bytes(4 * items)
        self.since = array("i", halves)
        self.last = array("i", halves)
        self.calls = array("q", zeros)
        self.carry = array("d", zeros)
        self.places_now = array("i", halves)
        self._order = array("i")

    def enter(self, position: int, call: int) -> None:
        """Note that the window of `call` holds an item, for the first time or again."""
        if not self.since[position]:
            self.since[position] = self.last[position] = call
            self._order.append(position)

    def __iter__(self) -> Iterator[int]:
        """Positions, in the order in which they came in first."""
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)


@frozen
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


class Prefixes:
    """The prefixes of the turns by call index, in columns of numbers; -1 stands for None."""

    def __init__(self, calls: int):
        self._columns = [array("q", [-1]) * calls for _ in range(6)]

    def put(self, one: Prefix) -> None:
        """Keep the prefix of a call."""
        at = one.call_index
        previous, items, is_whole, tokens, new, old = self._columns
        items[at], is_whole[at], tokens[at] = one.items, one.is_whole, one.tokens
        if one.previous_call is not None:
            previous[at] = one.previous_call
        if one.new is not None:
            new[at] = one.new
        if one.old is not None:
            old[at] = one.old

    def get(self, call_index: int) -> Prefix | None:
        """The prefix of a call; None where it was no turn with a window."""
        previous, items, is_whole, tokens, new, old = (column[call_index] for column in self._columns)
        if items < 0:
            return None
        return Prefix(call_index, _known(previous), items, bool(is_whole), tokens, _known(new), _known(old))


def _known(number: int) -> int | None:
    return None if number < 0 else number


@dataclass(slots=True)
class Walk:
    """Everything that one walk finds. `prefixes` and `rates` are by call index.

    A rate is the calibration of that call's window.
    """

    stays: Stays
    prefixes: Prefixes
    rates: dict[int, Calibration] = field(default_factory=dict)

    @property
    def last_rate(self) -> Calibration:
        """The calibration of the last window, which sizes are told in."""
        return self.rates[next(reversed(self.rates))] if self.rates else Calibration()


def walk(transcript: Transcript, measures: Measures, agent: str | None = None) -> Walk:
    """Residency and shared prefixes of one agent's windows. Costs what the snapshots' tails hold."""
    walker = _Walker(transcript.log, len(transcript.calls), measures.tokens)
    for position, snapshot in enumerate(transcript.log.snapshots):
        call = transcript.calls[snapshot.call_index]
        if call.agent != agent:
            continue
        rate = measures.rate(call, measures.sums.unlogged(position))
        walker.step(position, snapshot, rate, is_turn=call.purpose == "turn")
    return walker.finish()


class _Walker:
    """One chain. `_counts` and `_scales` are running sums over the turns, so an item's stay costs two look-ups."""

    def __init__(self, log: SnapshotLog, calls: int, tokens: array[int]):
        self._log = log
        self._tokens = tokens
        self._window = array("q")
        self._entered = array("q")
        self._running = array("q", [0])
        self._tip: int | None = None
        # The last turn's call and window length, and how much of that window every window since has kept.
        self._turn: int | None = None
        self._turn_items = self._turn_kept = 0
        self._calls = array("q")
        self._counts = array("q", [0])
        self._scales = array("d", [0.0])
        self._walk = Walk(Stays(len(log.table.items)), Prefixes(calls))

    def step(self, position: int, snapshot: ContextSnapshot, rate: Calibration, *, is_turn: bool) -> None:
        keep, tail = snapshot.keep, snapshot.tail
        if snapshot.previous != self._tip:
            keep, tail = 0, tuple(self._log.positions(position))
        prefix = self._prefix(snapshot.call_index, keep, tail)
        if is_turn:
            self._walk.prefixes.put(prefix)
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
        for number in self._window:
            self._walk.stays.places_now[number] += 1
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
        now, stays = len(self._calls), self._walk.stays
        if keep == len(self._window):
            return
        for place in range(keep, len(self._window)):
            number, entered = self._window[place], self._entered[place]
            stays.calls[number] += self._counts[now] - self._counts[entered]
            stays.carry[number] += self._tokens[number] * (self._scales[now] - self._scales[entered])
            stays.last[number] = max(stays.last[number], self._calls[now - 1])
        del self._window[keep:], self._entered[keep:], self._running[keep + 1 :]

    def _enter(self, tail: Sequence[int], call: int) -> None:
        now = len(self._calls)
        for number in tail:
            self._walk.stays.enter(number, call)
            self._window.append(number)
            self._entered.append(now)
            self._running.append(self._running[-1] + self._tokens[number])
