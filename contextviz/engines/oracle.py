"""The control that knows what is needed: the practical upper bound of need recall (metrics.md section 4)."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Mapping

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly, Part, is_result_of, without_results

# An identifier that stands nearly everywhere is satisfied by any of its newest units.
MOST_UNITS = 512


class Oracle(ReplayEngine):
    """For each call the units that satisfy most of its needs for the fewest tokens, then the newest that still fit.

    A unit is a message, or an answer of the model with the results of its tools: both stay or neither. The newest unit
    always stays; a result that came late is left out where its call is. Without needs in the material only the tail is
    left.
    """

    spec = EngineSpec(
        "oracle", "1", "Oracle", "Knows what each call needs and keeps that, within the budget: the upper bound.",
        "metrics 4",
        (Setting("keepTokens", 0, "Tokens to keep; 0 keeps what the budget allows.", least=0, most=10_000_000,
                 unit="tokens", is_what_if=True),),
        qualities={"window": "exact"}, is_baseline=True,
        simulated="No engine can know what is needed later: this one shows how much of it could fit.",
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []
        self._starts: list[int] = []  # by unit: its first message
        self._ends: list[int] = []  # by unit: tokens up to and including it
        self._units_with: dict[str, list[int]] = {}
        self._called: dict[str, int] = {}  # by call: the place of its message
        self._late: set[int] = set()  # places of results whose calls are in an earlier unit
        self._stripped: dict[tuple[int, frozenset[str]], Part] = {}

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        size = sum(self.host.count(piece.text) for piece in message.pieces if piece.text)
        if message.role == "tool" and self._parts and self._parts[-1].role in ("assistant", "tool"):
            self._ends[-1] += size
        else:
            self._starts.append(len(self._parts))
            self._ends.append(size + (self._ends[-1] if self._ends else 0))
        self._parts.append(Part(message.role, message, reason="kept by foreknowledge"))
        unit = len(self._starts) - 1
        at = len(self._parts) - 1
        self._called.update(dict.fromkeys(message.calls, at))
        if any(self._called.get(name, at) < self._starts[-1] for name in message.answers):
            self._late.add(at)
        for identifier in (self.host.material.holds or {}).get(message.seq, ()):
            places = self._units_with.setdefault(identifier, [])
            if not places or places[-1] != unit:
                places.append(unit)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """See the class."""
        budget = self.whole("keepTokens") or request.budget
        total = self._ends[-1] if self._ends else 0
        if not budget or total <= budget or len(self._starts) < 2:
            return Assembly(self._parts.copy(), total, is_over=bool(budget and total > budget))
        needs = self.host.material.needs
        need = needs[request.call] if needs is not None and request.call < len(needs) else frozenset()
        newest = len(self._starts) - 1
        chosen = self._chosen(need, budget - self._size(newest))
        first, kept = self._with_tail(chosen, budget)
        places = [at for unit in kept for at in range(self._starts[unit], self._starts[unit + 1])]
        parts = [self._parts[at] for at in places] + self._parts[self._starts[first] :]
        tokens = sum(map(self._size, kept)) + total - self._before(first)
        if self._late:
            tokens -= self._strip(parts, [*places, *range(self._starts[first], len(self._parts))])
        mode = None if needs is not None else "no needs given: the tail alone"
        return Assembly(parts, tokens, mode=mode, is_over=tokens > budget)

    def _strip(self, parts: list[Part], places: list[int]) -> int:
        """Take out results whose calls are not in the window; the tokens that go."""
        inside, saved = set(places), 0
        for number, at in enumerate(places):
            message = parts[number].message
            if at not in self._late or message is None:
                continue
            gone = frozenset(name for name in message.answers if self._called.get(name, at) not in inside)
            if gone:
                key = at, gone
                parts[number] = self._stripped.setdefault(key, without_results(parts[number], gone))
                saved += sum(self.host.count(piece.text) for piece in message.pieces if is_result_of(piece, gone))
        return saved

    def _before(self, unit: int) -> int:
        return self._ends[unit - 1] if unit else 0

    def _size(self, unit: int) -> int:
        return self._ends[unit] - self._before(unit)

    def _chosen(self, need: Iterable[str], room: int) -> list[int]:
        """Units by needs satisfied per token, best first; a gain is worked out again only when its turn comes."""
        newest = len(self._starts) - 1
        holds: dict[int, set[str]] = {}
        for identifier in need:
            places = self._units_with.get(identifier, ())
            if places and places[-1] != newest:
                for unit in places[-MOST_UNITS:]:
                    holds.setdefault(unit, set()).add(identifier)
        heap = [(-len(found) / max(1, self._size(unit)), -unit) for unit, found in holds.items()]
        heapq.heapify(heap)
        chosen: list[int] = []
        done: set[str] = set()
        while heap:
            _, unit = heapq.heappop(heap)
            size = self._size(-unit)
            left = holds[-unit] - done
            if not left or size > room:
                continue
            entry = (-len(left) / max(1, size), unit)
            if heap and entry > heap[0]:
                heapq.heappush(heap, entry)
                continue
            chosen.append(-unit)
            done |= left
            room -= size
        return chosen

    def _with_tail(self, chosen: list[int], budget: int) -> tuple[int, list[int]]:
        """The first unit of the tail that fits beside the chosen, and those of them that lie before it, in order."""
        total = self._ends[-1]
        newest = len(self._starts) - 1
        kept = sorted(chosen)
        first = newest
        while True:
            room = budget - sum(map(self._size, kept))
            again = min(first, bisect_left(self._ends, total - room) + 1)
            kept_again = [unit for unit in kept if unit < again]
            if again == first and kept_again == kept:
                return first, kept
            first, kept = again, kept_again
