"""The controls that always run beside an engine (metrics.md section 4): keep all, keep nothing, keep the tail.

The fourth, the oracle, knows what is needed later; it is in `engines.oracle`.
"""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly, CompactionMade, Part, without_results


class KeepAll(ReplayEngine):
    """Every message, whatever the window: the ceiling of recall and of size."""

    spec = EngineSpec(
        "keep-all", "1", "Keep all", "Every message so far, verbatim, even beyond the window.", "metrics 4",
        qualities={"window": "exact"}, is_baseline=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self._parts.append(Part(message.role, message))

    def assemble(self, request: AssembleRequest) -> Assembly:
        """All of it."""
        return Assembly(self._parts.copy())


class KeepNothing(ReplayEngine):
    """The newest user message and what follows it: the floor. A result whose call was in an earlier turn is not in."""

    spec = EngineSpec(
        "keep-nothing", "1", "Keep nothing", "Only the current turn: the newest user message and what came after it.",
        "metrics 4", qualities={"window": "exact"}, is_baseline=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []
        self._calls: list[str] = []
        self._gone: set[str] = set()

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        if message.role == "user":
            self._parts = []
            self._gone.update(self._calls)
            self._calls = []
        part = Part(message.role, message, reason="the current turn")
        if not self._gone.isdisjoint(message.answers):
            part = without_results(part, self._gone)
        self._calls += message.calls
        self._parts.append(part)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The turn."""
        return Assembly(self._parts.copy())


class KeepTail(ReplayEngine):
    """A sliding window: the newest messages that fit, tool results with their calls. A result whose call has gone goes
    too, wherever it stands; an answer of the model with the results that follow it is never taken apart."""

    spec = EngineSpec(
        "keep-tail", "1", "Keep the tail", "The newest messages that fit the budget; older ones are dropped.",
        "metrics 4",
        (Setting("keepTokens", 0, "Tokens to keep; 0 keeps what the budget allows.", least=0, most=10_000_000,
                 unit="tokens", is_what_if=True),),
        qualities={"window": "exact"}, is_baseline=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []
        self._sizes: list[int] = []
        self._start = 0
        self._newest = 0  # where the newest message begins, or the answer that it has a result of
        self._total = 0
        self._gone: set[str] = set()  # calls that left
        self._results: dict[str, int] = {}  # where the result of a call is
        self._emptied: set[int] = set()  # messages that left before their turn

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        at = len(self._parts)
        if message.role != "tool" or not at or self._parts[-1].role not in ("assistant", "tool"):
            self._newest = at
        self._parts.append(Part(message.role, message, reason="in the tail"))
        size = sum(self.host.count(piece.text) for piece in message.pieces if piece.text)
        self._sizes.append(size)
        self._total += size
        for name in message.answers:
            self._results[name] = at
        if not self._gone.isdisjoint(message.answers):
            self._strip(at)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """What fits; at least the newest message, flagged where that alone is too much."""
        budget = self.whole("keepTokens") or request.budget
        at_start, last = self._total, self._newest
        gone: list[int] = []
        while budget and self._total > budget and self._start < last:
            gone += self._drop()
        while gone and self._start < last and self._parts[self._start].role == "tool":
            # A result does not stay without its call.
            gone += self._drop()
        if gone:
            self.host.compacted(
                CompactionMade(
                    "trim",
                    "budget",
                    at_start,
                    self._total,
                    tuple(sorted(gone)),
                    reason="the oldest messages did not fit any more",
                )
            )
        over = bool(budget and self._total > budget)
        return Assembly(self._parts[self._start :], self._total, is_over=over)

    def _drop(self) -> list[int]:
        """The oldest message goes, and the results of its calls; which messages are in the window no more."""
        at, self._start = self._start, self._start + 1
        self._total -= self._sizes[at]
        message = self._parts[at].message
        gone = [] if at in self._emptied else [at]
        for name in message.calls if message is not None else ():
            self._gone.add(name)
            result = self._results.get(name, at)
            if result >= self._start and self._strip(result):
                gone.append(result)
        return gone

    def _strip(self, at: int) -> bool:
        """Take the results out of a message whose calls are gone; whether nothing else was in it."""
        part = self._parts[at] = without_results(self._parts[at], self._gone)
        size = sum(self.host.count(piece.text) for piece in part.pieces or () if piece.text)
        self._total -= self._sizes[at] - size
        self._sizes[at] = size
        if part.pieces or at in self._emptied:
            return False
        self._emptied.add(at)
        return True
