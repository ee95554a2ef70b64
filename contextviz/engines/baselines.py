"""The controls that always run beside an engine (metrics.md section 4): keep all, keep nothing, keep the tail.

The fourth, the oracle, knows what is needed later; it is in `engines.oracle`.
"""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly, CompactionMade, Part


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
    """The newest user message and what follows it: the floor."""

    spec = EngineSpec(
        "keep-nothing", "1", "Keep nothing", "Only the current turn: the newest user message and what came after it.",
        "metrics 4", qualities={"window": "exact"}, is_baseline=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        if message.role == "user":
            self._parts = []
        self._parts.append(Part(message.role, message, reason="the current turn"))

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The turn."""
        return Assembly(self._parts.copy())


class KeepTail(ReplayEngine):
    """A sliding window: the newest messages that fit, tool results with their calls."""

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
        self._total = 0

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self._parts.append(Part(message.role, message, reason="in the tail"))
        size = sum(self.host.count(piece.text) for piece in message.pieces if piece.text)
        self._sizes.append(size)
        self._total += size

    def assemble(self, request: AssembleRequest) -> Assembly:
        """What fits; at least the newest message, flagged where that alone is too much."""
        budget = self.whole("keepTokens") or request.budget
        before = self._start
        at_start = self._total
        last = len(self._parts) - 1
        while budget and self._total > budget and self._start < last:
            self._total -= self._sizes[self._start]
            self._start += 1
        while before < self._start < last and self._parts[self._start].role == "tool":
            # A result does not stay without its call.
            self._total -= self._sizes[self._start]
            self._start += 1
        if self._start > before:
            self.host.compacted(
                CompactionMade(
                    "trim",
                    "budget",
                    at_start,
                    self._total,
                    tuple(range(before, self._start)),
                    reason="the oldest messages did not fit any more",
                )
            )
        over = bool(budget and self._total > budget)
        return Assembly(self._parts[self._start :], self._total, is_over=over)
