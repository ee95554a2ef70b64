"""The sweep: leaves until nothing is left before the tail, then condensation under pressure; rounds of sweeps (7.4)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from contextviz.engines.lossless.condense import (
    candidate,
    condensed_of,
    condensed_source,
    summaries_outside_tail,
)
from contextviz.engines.lossless.escalation import Written, escalated
from contextviz.engines.lossless.items import Conversation, Level, Row, Summary
from contextviz.engines.lossless.leaf import leaf_chunk, leaf_source, previous_of, raw_outside_tail
from contextviz.engines.lossless.settings import Config
from contextviz.engines.summaries import Summariser, SummaryRequest
from contextviz.tokens.estimators import cp_weighted

PassKind = Literal["leaf", "condensed"]
Status = Literal["progress", "no-candidate", "depth-cap", "budget", "refused", "no-progress"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to compact. `current` is the greater of what is stored and what the host observed."""

    should: bool
    stored: int
    current: int
    threshold: int
    observed: int | None = None
    raw_outside_tail: int | None = None

    @property
    def reason(self) -> str:
        """`threshold` or `none`."""
        return "threshold" if self.should else "none"


def evaluate(
    conversation: Conversation, config: Config, budget: float, *, observed: float | None = None,
    threshold: float | None = None,
) -> Decision:  # fmt: skip
    """The decision for a budget; `threshold` is a share that takes the place of the configured one."""
    stored = conversation.stored
    live = math.floor(observed) if observed is not None and math.isfinite(observed) and observed > 0 else None
    current = max(stored, live or 0)
    limit = config.threshold(budget) if threshold is None else math.floor(threshold * budget)
    outside = raw_outside_tail(conversation, config) if live is not None else None
    return Decision(current > limit, stored, current, limit, live, outside)


@dataclass(frozen=True, slots=True)
class Pass:
    """One summary was made: tokens of the context before and after, and the items [start, last] that it replaced."""

    kind: PassKind
    summary: Summary
    before: int
    after: int
    start: int
    last: int


@dataclass(slots=True)
class SweepResult:
    """What a sweep did. `created` is the last summary made, `passes` how many."""

    action_taken: bool
    before: int
    after: int
    condensed: bool = False
    created: str | None = None
    level: Level | None = None
    refused: bool = False
    stopped_at_budget: bool = False
    passes: int = 0


@dataclass(slots=True)
class UntilUnder:
    """What rounds of sweeps towards a target did."""

    success: bool
    rounds: int
    final: int
    refused: bool = False


class Sweeper:
    """Sweeps one conversation. `passed` is told each pass, `log` each line as the plugin writes it (level, text);
    `clock` gives milliseconds for the deadlines (a replay's summaries take none). Ids follow from content and order,
    where the plugin mixes in a random number."""

    def __init__(
        self, conversation: Conversation, config: Config, summarise: Summariser, *,
        passed: Callable[[Pass], None] | None = None, log: Callable[[str, str], None] | None = None,
        clock: Callable[[], int] | None = None, salt: str = "",
    ) -> None:  # fmt: skip
        self.conversation = conversation
        self.config = config
        self._summarise = summarise
        self._passed = passed or (lambda made: None)
        self._log = log or (lambda level, text: None)
        self.clock = clock or (lambda: 0)
        self._salt = salt
        self._made = 0

    def sweep(
        self, budget: float, *, force: bool = False, is_hard: bool = False, stop_at: float | None = None,
        deadline: float = math.inf,
    ) -> SweepResult:  # fmt: skip
        """One sweep; `stop_at` is a number of tokens at which it may end, `deadline` of the operation it is part of."""
        stop = math.floor(stop_at) if stop_at is not None and math.isfinite(stop_at) and stop_at > 0 else None
        before = self.conversation.stored
        result = SweepResult(False, before, before)
        is_low = before <= self.config.threshold(budget) and (stop is None or before <= stop)
        if (is_low and not force) or not self.conversation.items:
            return result
        _Run(self, result, budget, force, stop, deadline).run(is_hard)
        return result

    def until_under(self, budget: float, target: float | None = None, *, current: float | None = None) -> UntilUnder:
        """Forced sweeps until the context is at most `target` tokens (else the budget); one at it is swept as well."""
        goal = math.floor(target) if target is not None and math.isfinite(target) and target > 0 else budget
        live = math.floor(current) if current is not None and math.isfinite(current) and current > 0 else 0
        tokens = max(self.conversation.stored, live)
        if tokens < goal:
            return UntilUnder(True, 0, tokens)
        deadline = self.clock() + self.config.until_under_deadline_ms
        for number in range(1, self.config.max_rounds + 1):
            if number > 1 and self.clock() >= deadline:
                return UntilUnder(tokens <= goal, number - 1, tokens)
            result = self.sweep(budget, force=True, deadline=deadline)
            if result.refused or result.after <= goal:
                return UntilUnder(not result.refused, number, result.after, result.refused)
            if not result.action_taken or result.after >= tokens:
                return UntilUnder(False, number, result.after)
            tokens = result.after
        return UntilUnder(tokens <= goal, self.config.max_rounds, tokens)

    # ---- one summary ----

    def leaf(self, start: int, last: int, previous: str | None) -> Summary | Literal["skipped"] | None:
        """A leaf in place of the rows [start, last]; `skipped` where they hold no text, None where it was refused."""
        rows = [item for item in self.conversation.items[start : last + 1] if isinstance(item, Row)]
        source = leaf_source(rows, self.config)
        if not source:
            return "skipped"
        seqs = tuple(row.seq for row in rows)
        request = SummaryRequest(source, previous=previous, target_tokens=self.config.leaf_target_tokens, covers=seqs)
        written = self._written(request)
        if written is None:
            return None
        times = [row.at for row in rows if row.at is not None]
        summary = Summary(
            self._id(written.text), "leaf", 0, written.text, cp_weighted(written.text), min(times, default=None),
            max(times, default=None), seqs, source_tokens=sum(row.size for row in rows), level=written.level,
        )  # fmt: skip
        self.conversation.replace(start, last, summary)
        return summary

    def condensed(self, start: int, last: int, depth: int) -> Summary | Literal["skipped"] | None:
        """A condensed node in place of the summaries [start, last] of one depth."""
        sources = [item for item in self.conversation.items[start : last + 1] if isinstance(item, Summary)]
        source = condensed_source(sources, self.config)
        if not source:
            return "skipped"
        previous = previous_of(self.conversation, start, depth=depth) if depth == 0 else None
        covers = tuple(seq for one in sources for seq in self.seqs_of(one))
        written = self._written(
            SummaryRequest(
                source, is_condensed=True, depth=depth + 1, previous=previous,
                target_tokens=self.config.condensed_target_tokens, covers=covers,
            )
        )  # fmt: skip
        if written is None:
            return None
        made = condensed_of(self._id(written.text), sources, depth, written.text, cp_weighted(written.text))
        made.level = written.level
        self.conversation.replace(start, last, made)
        return made

    def seqs_of(self, summary: Summary) -> tuple[int, ...]:
        """The messages under a summary, through all its sources."""
        if summary.kind == "leaf":
            return summary.seqs
        known = self.conversation.summaries
        return tuple(seq for source in summary.sources if source in known for seq in self.seqs_of(known[source]))

    def _written(self, request: SummaryRequest) -> Written | None:
        def ask(is_aggressive: bool) -> str:
            return self._summarise(
                SummaryRequest(
                    request.text, is_aggressive, request.is_condensed, request.depth, request.previous,
                    request.target_tokens, request.messages, request.covers, request.instructions,
                )
            )  # fmt: skip

        config = self.config
        written = escalated(
            request.text, ask, target=request.target_tokens, overage=config.summary_max_overage_factor,
            fallback_tokens=config.fallback_max_tokens,
        )  # fmt: skip
        if written is not None and written.warning:
            self._log("W", f"[lcm] {written.warning}")
        return written

    def _id(self, content: str) -> str:
        self._made += 1
        text = f"{content}\0{self._salt}\0{self._made}"
        return f"sum_{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"

    def told(self, made: Pass) -> None:
        """Pass a pass on, with the plugin's own line for it."""
        self._log(
            "I",
            f"[lcm] LCM compaction {made.kind} pass ({made.summary.level}): {made.before} -> {made.after}"
            f" conversation=1 summary={made.summary.id}",
        )
        self._passed(made)

    def warn(self, text: str) -> None:
        """A warning in the plugin's own words."""
        self._log("W", text)


class _Run:
    """One sweep under way."""

    def __init__(
        self, sweeper: Sweeper, result: SweepResult, budget: float, force: bool, stop: int | None, deadline: float
    ) -> None:
        self._sweeper = sweeper
        self._result = result
        self._budget = budget
        self._force = force
        self._stop = stop
        self._started = sweeper.clock()
        self._own_deadline = self._started + sweeper.config.sweep_deadline_ms
        self._deadline = min(self._own_deadline, deadline)
        self._iterations = 0
        self._lowest = result.before

    def run(self, is_hard: bool) -> None:
        """All phases."""
        self._leaves()
        status = self._condensations(is_hard=is_hard, keeps_depth=True)
        if status not in ("no-progress", "refused", "budget") and not self._result.refused:
            self._condensations(is_hard=True, keeps_depth=False)

    def _leaves(self) -> None:
        sweeper, result = self._sweeper, self._result
        previous: str | None = None
        after = -1
        while not self._is_spent("leaf"):
            start, last = leaf_chunk(sweeper.conversation, sweeper.config, after=after, is_forced=self._force)
            if last < start:
                return
            self._iterations += 1
            context = previous
            if context is None and after >= 0:
                context = previous_of(sweeper.conversation, start)
            made = sweeper.leaf(start, last, context)
            if made is None:
                result.refused = True
                return
            if made == "skipped":
                after = last
                continue
            previous = made.content
            tokens = self._take("leaf", made, start, last, made.source_tokens)
            if (self._stop is not None and tokens <= self._stop) or not self._has_fallen(tokens):
                return

    def _condensations(self, *, is_hard: bool, keeps_depth: bool) -> Status:
        status: Status = "progress"
        while status == "progress" and self._is_pressed():
            if self._is_spent("condensed"):
                return "budget"
            status = self._condensation(is_hard, keeps_depth)
        return status

    def _condensation(self, is_hard: bool, keeps_depth: bool) -> Status:
        sweeper, result = self._sweeper, self._result
        found = candidate(sweeper.conversation, sweeper.config, is_hard=is_hard)
        if found is None:
            return "no-candidate"
        if keeps_depth and found.depth >= sweeper.config.sweep_max_depth:
            return "depth-cap"
        self._iterations += 1
        removed = sum(item.tokens for item in sweeper.conversation.items[found.start : found.last + 1])
        made = sweeper.condensed(found.start, found.last, found.depth)
        if made is None:
            result.refused = True
            return "refused"
        if made == "skipped":
            return "no-progress"
        result.condensed = True
        tokens = self._take("condensed", made, found.start, found.last, removed)
        is_enough = (self._stop is not None and tokens <= self._stop) or (
            not self._force and tokens <= sweeper.config.threshold(self._budget)
        )
        if is_enough:
            self._lowest = tokens
            return "progress"
        return "progress" if self._has_fallen(tokens) else "no-progress"

    def _take(self, kind: PassKind, made: Summary, start: int, last: int, removed: int) -> int:
        result = self._result
        before = result.after
        after = max(0, before - removed + made.tokens)
        result.action_taken = True
        result.created, result.level, result.after = made.id, made.level, after
        result.passes += 1
        self._sweeper.told(Pass(kind, made, before, after, start, last))
        self._last_before = before
        return after

    def _has_fallen(self, tokens: int) -> bool:
        if tokens >= self._last_before or tokens >= self._lowest:
            return False
        self._lowest = tokens
        return True

    def _is_pressed(self) -> bool:
        if self._stop is not None and self._result.after > self._stop:
            return True
        config = self._sweeper.config
        return summaries_outside_tail(self._sweeper.conversation, config) > config.prefix_target(self._budget)

    def _is_spent(self, phase: PassKind) -> bool:
        if self._result.stopped_at_budget:
            return True
        config, now = self._sweeper.config, self._sweeper.clock()
        is_capped = self._iterations >= config.max_sweep_iterations
        if not is_capped and now < self._deadline:
            return False
        self._result.stopped_at_budget = True
        if is_capped:
            limit = f"iteration cap {config.max_sweep_iterations}"
        elif self._deadline < self._own_deadline:
            limit = "compactUntilUnder operation deadline"
        else:
            limit = f"wall-clock deadline {config.sweep_deadline_ms}ms"
        self._sweeper.warn(
            f"[lcm] compactFullSweep stopped at {limit} in {phase} phase: conversation=1 passes={self._iterations}"
            f" elapsedMs={now - self._started} tokensBefore={self._result.before} tokensSoFar={self._result.after}"
            " (returning partial result)"
        )
        return True
