"""lossless-claw as a replay engine: an evaluation after each turn, sweeps, and windows of summaries and a tail (7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from contextviz.engines.engine import AssembleRequest, CompactRequest, EngineSpec, Host, ReplayEngine
from contextviz.engines.lossless.items import Conversation
from contextviz.engines.lossless.replaying.rows import row_of
from contextviz.engines.lossless.replaying.windows import Windows
from contextviz.engines.lossless.settings import SETTINGS, config_of
from contextviz.engines.lossless.sweep import Decision, Pass, Sweeper, SweepResult, evaluate
from contextviz.engines.material import ReplayMessage
from contextviz.engines.settings import Value
from contextviz.engines.summaries import SummaryRequest
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade
from contextviz.events.engine_event import Quality

_QUALITIES: dict[str, Quality] = {
    "trigger": "exact", "leaf chunks": "exact", "condensation": "exact", "assembly": "exact", "escalation": "exact",
    "clamp": "exact", "summary": "simulated", "summary ids": "simulated", "timing": "simulated",
}  # fmt: skip
_SIMULATED = (
    "The text of summaries comes from the chosen summariser, and their ids follow from text and order where the plugin"
    " mixes in a random number. Summaries take no time, so no deadline is reached."
)


def _spec(version: str, summary: str) -> EngineSpec:
    return EngineSpec(
        "lossless", version, "lossless-claw", summary, "7", SETTINGS, _QUALITIES, _SIMULATED, estimator="cp-weighted",
        uses_summariser=True,
    )  # fmt: skip


class Lossless(ReplayEngine):
    """lossless-claw 0.15.3: a leaf stops before the message that would exceed its size."""

    spec: ClassVar[EngineSpec] = _spec(
        "0.15.3", "Old messages become leaves, leaves become deeper summaries, and the newest messages stay."
    )
    takes_reaching: ClassVar[bool] = False

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        super().__init__(host, settings)
        self._config = config_of(self.settings, takes_reaching=self.takes_reaching)
        self._conversation = Conversation()
        self._messages: dict[int, ReplayMessage] = {}
        self._windows = Windows(self._conversation, self._messages)
        self._sweeper = Sweeper(
            self._conversation, self._config, _Counting(self), passed=self._passed, salt=host.session_id
        )
        self._passes: list[Pass] = []
        self._told_lost: set[int] = set()
        self._is_owed = False
        self._calls = 0

    # ---- the host's calls ----

    def bootstrap(self) -> None:
        """See Engine."""
        self.host.told("session.bootstrap", {"reason": "replay"}, "exact")

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""
        self._messages[message.seq] = message
        self._windows.arrived(message)
        self._conversation.append(row_of(message))

    def after_turn(self, messages: object) -> None:
        """Evaluate, and sweep at once (inline) or owe it (deferred)."""
        budget = self._budget(self.host.budget)
        if not budget:
            return
        decision = evaluate(self._conversation, self._config, budget)
        self._told_decision(decision, budget, "ratio")
        if not decision.should:
            return
        if self.settings["proactiveThresholdCompactionMode"] == "inline":
            self._sweep(budget, "threshold")
            return
        if not self._is_owed:
            self.host.told(
                "maintenance.debt",
                {"pending": True, "running": False, "reason": "threshold", "retryAttempts": 0},
                "exact",
            )
        self._is_owed = True

    def assemble(self, request: AssembleRequest) -> Assembly:
        """What is owed is done first; then the window."""
        budget = self._budget(request.budget)
        if self._is_owed and budget:
            self._is_owed = False
            self._sweep(budget, "deferred")
        config = self._config
        window = self._windows.window(
            request.budget, tail_count=config.fresh_tail_count, tail_most=config.fresh_tail_max_tokens,
            prompt=request.prompt, is_prompt_aware=self.flag("promptAwareEviction"),
        )  # fmt: skip
        self._tell_lost()
        chosen = window.selection
        evicted = len(self._conversation.items) - len(chosen.chosen)
        self.host.told(
            "context.assembled",
            {"budget": request.budget, "total": window.tokens, "mode": chosen.mode, "tailTokens": chosen.tail_tokens,
             "remainingBudget": chosen.remaining, "evictableTotalTokens": chosen.evictable, "evicted": evicted,
             "serializedClamped": window.is_clamped},
            "exact",
        )  # fmt: skip
        return Assembly(window.parts, window.tokens, mode=chosen.mode, is_over=window.is_over)

    def _tell_lost(self) -> None:
        """Tell of each result that a window leaves out for want of its call, once."""
        for seq in self._windows.lost:
            if seq in self._told_lost:
                continue
            self._told_lost.add(seq)
            self.host.told(
                "message.trimmed",
                {"msg": seq, "action": "drop", "tokensSaved": row_of(self._messages[seq]).tokens,
                 "reason": "no call of this result stands before it in the window: it is dropped, as upstream does"},
                "exact",
            )  # fmt: skip

    def compact(self, request: CompactRequest) -> CompactResult:
        """A sweep at the host's request, then further ones until its target is met."""
        budget = self._budget(request.budget)
        before = self._conversation.stored
        if not budget:
            return CompactResult(False, "no token budget is known", before, before)
        decision = evaluate(self._conversation, self._config, budget, observed=request.current_tokens)
        self._told_decision(decision, budget, "force" if request.is_forced else "host")
        if not (decision.should or request.is_forced):
            return CompactResult(False, "below threshold", before, before)
        target = budget if request.target == "budget" else decision.threshold
        # What the host counts beyond the stored context is there whatever a sweep does.
        goal = max(1, target - max(0, decision.current - decision.stored))
        self._is_owed = False
        result = self._sweep(budget, "host", force=request.is_forced, goal=goal)
        if result.refused:
            return CompactResult(False, "the summariser's credentials were refused", before, result.after)
        if not result.action_taken:
            return CompactResult(False, "nothing to compact before the fresh tail", before, result.after)
        return CompactResult(True, "compacted", before, self._conversation.stored)

    def dispose(self) -> None:
        """See Engine."""
        self.host.told("session.dispose", {"reason": "the session ended"}, "exact")

    # ---- sweeps ----

    def _sweep(self, budget: int, trigger: str, *, force: bool = False, goal: int | None = None) -> SweepResult:
        self._passes.clear()
        self._calls = 0
        before = self._conversation.stored
        self.host.told("compaction.started", {"strategy": "sweep", "trigger": trigger, "tokensBefore": before}, "exact")
        result = self._sweeper.sweep(budget, force=force, stop_at=goal)
        rounds = 0
        if goal is not None and result.action_taken and not result.refused and self._conversation.stored > goal:
            rounds = self._sweeper.until_under(budget, goal).rounds
        if self._passes:
            self._told_boundary(trigger, before, result, rounds)
        else:
            self.host.told(
                "compaction.finished",
                {"strategy": "sweep", "trigger": trigger, "tokensBefore": before, "tokensAfter": before,
                 "compacted": False, "reason": "refused" if result.refused else "nothing to compact"},
                "exact",
            )  # fmt: skip
        return result

    def _passed(self, made: Pass) -> None:
        self._passes.append(made)
        summary = made.summary
        self.host.node(
            NodeMade(
                summary.id, summary.depth, summary.content, summary.tokens, summary.kind, summary.sources,
                summary.seqs, summary.level, "exact" if summary.level == "fallback" else "simulated",
            )
        )  # fmt: skip

    def _told_boundary(self, trigger: str, before: int, result: SweepResult, rounds: int) -> None:
        leaves = [made.summary for made in self._passes if made.kind == "leaf"]
        dropped = tuple(sorted(seq for leaf in leaves for seq in leaf.seqs))
        consumed = {source for made in self._passes for source in made.summary.sources}
        nodes = [made.summary for made in self._passes if made.summary.id not in consumed]
        condensed = len(self._passes) - len(leaves)
        self.host.compacted(
            CompactionMade(
                "summary", trigger, before, self._conversation.stored, dropped, tuple(node.id for node in nodes),
                nodes[-1].content if nodes else None, f"a sweep made {_counted(len(leaves), 'leaf', 'leaves')} and"
                f" {_counted(condensed, 'condensed summary', 'condensed summaries')}", self._calls,
                {"passes": len(self._passes), "level": self._passes[-1].summary.level, "rounds": rounds,
                 "stoppedAtBudget": result.stopped_at_budget},
            )
        )  # fmt: skip

    def _told_decision(self, decision: Decision, budget: int, trigger: str) -> None:
        self.host.told(
            "compaction.evaluated",
            {"current": decision.current, "threshold": decision.threshold, "budget": budget, "should": decision.should,
             "trigger": trigger, "storedTokens": decision.stored, "observedTokens": decision.observed,
             "rawOutsideTail": decision.raw_outside_tail},
            "exact",
        )  # fmt: skip

    def _budget(self, budget: int) -> int:
        return budget or self.whole("tokenBudgetWhenUnknown")

    def asked(self, request: SummaryRequest) -> str:
        """The host's summariser, with its calls counted."""
        self._calls += 1
        return self.host.summarise(request)


class LosslessBeta(Lossless):
    """lossless-claw 1.0.0-beta.4: a leaf takes in the message that reaches its size; what is short of it waits."""

    spec = _spec(
        "1.0.0-beta.4", "As 0.15.3, with leaves that take in the message that reaches their size; what is short waits."
    )
    takes_reaching = True


class _Counting:
    """The engine's summariser for its sweeps."""

    def __init__(self, engine: Lossless) -> None:
        self._engine = engine

    @property
    def id(self) -> str:
        """See Summariser."""
        return self._engine.host.summarise.id

    @property
    def settings(self) -> dict[str, Value]:
        """See Summariser."""
        return self._engine.host.summarise.settings

    def __call__(self, request: SummaryRequest) -> str:
        """See Summariser."""
        return self._engine.asked(request)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
