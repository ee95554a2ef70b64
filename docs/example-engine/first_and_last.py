"""A small context engine: the first message of the user, which says what is wanted, and the newest messages."""

from __future__ import annotations

from collections.abc import Mapping

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly, CompactionMade, Part, without_results


class FirstAndLast(ReplayEngine):
    """Everything between the first message of the user and the newest messages is left out."""

    spec = EngineSpec(
        id="first-and-last", version="1", label="First and last",
        summary="The first message of the user and the newest messages; what is between is left out.",
        section="README",
        settings=(
            Setting("newest", 20, "How many of the newest messages stay.", least=1, most=10_000, unit="messages",
                    is_what_if=True),
        ),
        qualities={"window": "exact"},
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._parts: list[Part] = []  # made once: the same object in two windows is the same bytes
        self._sizes: list[int] = []
        self._first: int | None = None
        self._start = 0
        self._gone: set[str] = set()  # tool calls that left

    def ingest(self, message: ReplayMessage) -> None:
        """A message came."""
        is_first = message.role == "user" and self._first is None
        if is_first:
            self._first = len(self._parts)
        reason = "the first message of the user" if is_first else "among the newest messages"
        self._parts.append(Part(message.role, message, reason=reason))
        self._sizes.append(sum(self.host.count(piece.text) for piece in message.pieces))

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The window for a call. Whether it fits is for the host to see: this rule counts messages, not tokens."""
        start = max(self._start, len(self._parts) - self.whole("newest"))
        if start > self._start:
            self._left(start)
        first = [] if self._first is None or self._first >= start else [self._parts[self._first]]
        newest = self._parts[start:]
        if self._gone:
            # No provider takes a tool's result without the call that it is of.
            newest = [without_results(one, self._gone) if self._is_alone(one) else one for one in newest]
        return Assembly([*first, *newest])

    def _is_alone(self, part: Part) -> bool:
        return part.message is not None and not self._gone.isdisjoint(part.message.answers)

    def _left(self, start: int) -> None:
        """Say which messages left the window: nothing is dropped in silence."""
        gone = [at for at in range(self._start, start) if at != self._first]
        before = sum(self._sizes[self._start :])
        for part in self._parts[self._start : start]:
            self._gone.update(part.message.calls if part.message is not None else ())
        self._start = start
        if gone:
            reason = f"all but the newest {self.whole('newest'):,} messages are left out"
            after = sum(self._sizes[start:])
            self.host.compacted(CompactionMade("trim", "newest", before, after, tuple(gone), reason=reason))
