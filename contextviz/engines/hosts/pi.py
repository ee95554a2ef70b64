"""pi's built-in compaction (engines document, section 11): a tail of keepRecentTokens stays, the rest is folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.engine import EngineSpec, Host
from contextviz.engines.hosts.folding import Folding, can_begin, tail_start
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value

KEEP = Setting(
    "keepRecentTokens", 20_000, "The newest messages that stay word for word.", least=0, most=10_000_000,
    unit="tokens", is_what_if=True,
)  # fmt: skip
RESERVE = Setting(
    "reserveTokens", 16_384, "What is kept free of the window; a call that leaves less is followed by a compaction.",
    least=0, most=10_000_000, unit="tokens",
)  # fmt: skip
ENABLED = Setting("enabled", True, "Whether it compacts by itself.", kind="bool")
_BEFORE = "The conversation history before this point was compacted into the following summary:"


def in_summary_tags(summary: str) -> str:
    """A summary as pi gives it to the model: the client's own sentence and tags around it."""
    return f"{_BEFORE}\n\n<summary>\n{summary}\n</summary>"


def cut(messages: Sequence[ReplayMessage], sizes: Sequence[int], keep: float) -> int:
    """How many of the first messages go: all before the first message of the user or the model at or after the point
    from which on there are `keep` tokens. 0: nothing goes."""
    start = tail_start(sizes, keep)
    if start is None:
        return 0
    return next((at for at in range(start, len(messages)) if can_begin(messages[at])), 0)


class Pi(Folding):
    """After a call whose prompt and output leave less than reserveTokens of the window, the oldest are folded."""

    spec = EngineSpec(
        "pi", "1.6.0", "pi", "A rolling summary and the newest messages that make up keepRecentTokens.", "11",
        (RESERVE, KEEP, ENABLED),
        qualities={"cut": "exact", "trigger": "derived", "summary": "simulated"},
        simulated="pi has its model write the summary; here the summariser stands in, in one call where pi may make"
        " two.",
        estimator="chars4-each", uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._was_full = False

    @property
    def limit(self) -> float:
        """What prompt and output of a call may be together, in tokens."""
        return self.host.window - self.number("reserveTokens")

    @property
    def keep(self) -> float:
        """How many tokens of the newest messages stay."""
        return self.number("keepRecentTokens")

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine; a call is over when its answer is there."""
        super().ingest(message)
        if message.role == "assistant" and self.flag("enabled") and self.host.window:
            self._was_full = self.current > self.limit

    def is_due(self) -> bool:
        """Whether the last call left too little."""
        return self._was_full

    def wrapped(self, summary: str) -> str:
        """See Folding."""
        return in_summary_tags(summary)

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """Before the next message of the user, so that this one is never what is cut at."""
        if self.is_due():
            self.fold("threshold")

    def leaving(self) -> Sequence[int]:
        """See Folding."""
        self._was_full = False
        return range(cut(self.messages, self.sizes, self.keep))
