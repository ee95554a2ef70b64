"""OpenClaw's built-in engine (`legacy`), as far as its rule was found (engines document, section 11).

Five recorded compactions of two sessions are few: what is fitted to them says so in its setting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contextviz.engines.engine import AssembleRequest, EngineSpec, Host
from contextviz.engines.hosts.folding import can_begin
from contextviz.engines.hosts.pi import ENABLED, KEEP, Pi, cut
from contextviz.engines.hosts.pruning import SETTINGS, Pruning
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Setting, Value
from contextviz.engines.window import Assembly

TAIL_SHARE = 0.625
RESERVE_SHARE = 0.25


def openclaw_cut(messages: Sequence[ReplayMessage], sizes: Sequence[int], keep: float, share: float) -> int:
    """How many of the first messages go: where pi would cut, then further, to the oldest message of the user or the
    model from which on there are no more than `share` of `keep` tokens; at least the newest such message stays."""
    first = cut(messages, sizes, keep)
    if not first:
        return 0
    total, fits = 0, 0
    for at in range(len(messages) - 1, first - 1, -1):
        total += sizes[at]
        if fits and total > share * keep:
            break
        if can_begin(messages[at]):
            fits = at
    return fits


class OpenClaw(Pi):
    """pi's compaction with a tighter tail and its own reserve, and old tool results pruned."""

    spec = EngineSpec(
        "openclaw", "2026.9.6", "OpenClaw (built-in)",
        "A rolling summary, a short tail of newest messages, and old tool results pruned once the cache has run out.",
        "11",
        (
            KEEP,
            Setting("tailShare", TAIL_SHARE, "Share of keepRecentTokens that the tail may fill; fitted to five recorded"
                    " cuts, which any value from 0.62 to 0.63 gives.", kind="float", least=0.01, most=1,
                    is_what_if=True),
            Setting("reserveTokens", 20_000, "What is kept free of the window, but no more than reserveShare of it.",
                    least=0, most=10_000_000, unit="tokens"),
            Setting("reserveShare", RESERVE_SHARE, "The most of the window that is kept free; fitted to five recorded"
                    " compactions.", kind="float", least=0, most=0.9),
            ENABLED, *SETTINGS,
        ),
        qualities={"cut": "derived", "trigger": "derived", "pruning": "derived", "summary": "simulated"},
        simulated="The rule of OpenClaw's cut is fitted to five recorded ones, and the summariser stands in for the"
        " three or four calls that its model makes.",
        estimator="chars4-each", uses_summariser=True,
    )  # fmt: skip

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._pruning = Pruning(host, settings)

    @property
    def limit(self) -> float:
        """See Pi."""
        return self.host.window - min(self.number("reserveTokens"), self.number("reserveShare") * self.host.window)

    def leaving(self) -> Sequence[int]:
        """See Folding."""
        super().leaving()
        return range(openclaw_cut(self.messages, self.sizes, self.keep, self.number("tailShare")))

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The summary and the messages since, what is pruned in its shortened form."""
        if self.is_due():
            self.fold("threshold")
        if self._pruning.at_call(self.messages):
            shown = self._pruning.shown
            self.parts = [shown.get(one.seq, part) for one, part in zip(self.messages, self.parts, strict=True)]
        return self.window()
