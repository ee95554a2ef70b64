"""What lossless-claw lets people set, and how it reads what it is given (7.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextviz.engines.settings import Setting

FALLBACK_LEAST, FALLBACK_TOKENS = 64, 512
_MANY = 10_000_000

SETTINGS: tuple[Setting, ...] = (
    Setting("contextThreshold", 0.75, "Share of the budget beyond which a turn is followed by a sweep.", "float",
            0.01, 1, unit="of the budget", is_what_if=True),
    Setting("proactiveThresholdCompactionMode", "deferred", "deferred: the sweep is owed and done before the next"
            " window; inline: at the end of the turn.", "choice", choices=("deferred", "inline")),
    Setting("freshTailCount", 64, "Newest messages that stay as they are; 0 protects none.", "int", 0, 100_000,
            unit="messages", is_what_if=True),
    Setting("freshTailMaxTokens", -1, "Most tokens of the protected tail; -1: no limit.", "int", -1, _MANY,
            unit="tokens"),
    Setting("leafChunkTokens", 20_000, "Messages that go into one leaf, and most tokens of sources of a condensation.",
            "int", 1, _MANY, unit="tokens", is_what_if=True),
    Setting("leafTargetTokens", 2_400, "Length asked of a leaf.", "int", 1, _MANY, unit="tokens"),
    Setting("condensedTargetTokens", 2_000, "Length asked of a condensed summary.", "int", 1, _MANY, unit="tokens"),
    Setting("summaryPrefixTargetTokens", 0, "Summaries before the tail beyond which they are condensed; 0: derived from"
            " the threshold.", "int", 0, _MANY, unit="tokens"),
    Setting("leafMinFanout", 8, "Fewest leaves that are condensed.", "int", 1, 1000, unit="leaves"),
    Setting("condensedMinFanout", 4, "Fewest deeper summaries that are condensed.", "int", 1, 1000,
            unit="summaries"),
    Setting("condensedMinFanoutHard", 2, "The same under pressure.", "int", 1, 1000, unit="summaries"),
    Setting("sweepMaxDepth", 1, "Deepest sources of ordinary condensation plus one; 0: none, -1: no limit.", "int", -1,
            1000),
    Setting("maxSweepIterations", 12, "Most passes of one sweep.", "int", 1, 100_000, unit="passes"),
    Setting("maxRounds", 10, "Most sweeps for one request of the host.", "int", 1, 1000, unit="sweeps"),
    Setting("summaryMaxOverageFactor", 3, "A summary longer than this many times its target is cut.", "float", 1, 1000),
    Setting("fallbackMaxTokens", FALLBACK_TOKENS, "Length of what stands in for a summary that failed; below 64: 512.",
            "int", 0, _MANY, unit="tokens"),
    Setting("promptAwareEviction", False, "Where not all fits, keep what shares words with the prompt instead of the"
            " newest.", "bool"),
    Setting("tokenBudgetWhenUnknown", 0, "Budget to compact against where no window is known; 0: none, nothing is"
            " compacted. The plugin itself takes 128,000.", "int", 0, _MANY, unit="tokens"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of sweeps, read as upstream reads them: what is not a usable number is the default."""

    context_threshold: float = 0.75
    fresh_tail_count: int = 64
    fresh_tail_max_tokens: int | None = None
    leaf_chunk_tokens: int = 20_000
    leaf_target_tokens: int = 2_400
    condensed_target_tokens: int = 2_000
    leaf_min_fanout: int = 8
    condensed_min_fanout: int = 4
    condensed_min_fanout_hard: int = 2
    sweep_max_depth: float = 1
    max_sweep_iterations: int = 12
    sweep_deadline_ms: int = 120_000
    until_under_deadline_ms: int = 300_000
    max_rounds: int = 10
    summary_max_overage_factor: float = 3
    fallback_max_tokens: int = FALLBACK_TOKENS
    summary_prefix_target_tokens: int | None = None
    timezone: str = "UTC"
    strip_tags: tuple[str, ...] = ()
    # 1.0.0-beta.4: a leaf takes the message that reaches its size in, and what does not reach it waits.
    takes_reaching: bool = False
    is_waiting: bool = False

    def threshold(self, budget: float) -> int:
        """Tokens beyond which the context is compacted."""
        return math.floor(self.context_threshold * budget)

    def fanout(self, depth: int, *, is_hard: bool) -> int:
        """Fewest summaries of a depth that are condensed."""
        if is_hard:
            return self.condensed_min_fanout_hard
        return self.condensed_min_fanout if depth else self.leaf_min_fanout

    def prefix_target(self, budget: float) -> int:
        """Tokens of summaries before the tail beyond which they are condensed."""
        if self.summary_prefix_target_tokens is not None:
            return self.summary_prefix_target_tokens
        half = math.floor(0.5 * max(1, self.threshold(budget)))
        return max(self.condensed_target_tokens, min(self.leaf_chunk_tokens, half))

    @property
    def condensed_min_input(self) -> int:
        """Fewest tokens of sources that are condensed."""
        return max(self.condensed_target_tokens, math.floor(0.1 * self.leaf_chunk_tokens))


def config_of(given: Mapping[str, Any], *, takes_reaching: bool = False) -> Config:
    """A configuration in the plugin's own words (contextThreshold, freshTailCount, …) as a Config."""
    plain = Config()
    depth = _number(given.get("sweepMaxDepth"))
    if depth is None:
        depth = _number(given.get("incrementalMaxDepth"))
    depth = plain.sweep_max_depth if depth is None else depth
    cap = _number(given.get("freshTailMaxTokens"))
    fallback = _number(given.get("fallbackMaxTokens")) or 0
    zone = given.get("timezone")
    return Config(
        context_threshold=_number(given.get("contextThreshold")) or plain.context_threshold,
        fresh_tail_count=_whole(given, "freshTailCount", plain.fresh_tail_count, 0),
        fresh_tail_max_tokens=math.floor(cap) if cap is not None and cap >= 0 else None,
        leaf_chunk_tokens=_positive(given, "leafChunkTokens", plain.leaf_chunk_tokens),
        leaf_target_tokens=_positive(given, "leafTargetTokens", plain.leaf_target_tokens),
        condensed_target_tokens=_positive(given, "condensedTargetTokens", plain.condensed_target_tokens),
        leaf_min_fanout=_positive(given, "leafMinFanout", plain.leaf_min_fanout),
        condensed_min_fanout=_positive(given, "condensedMinFanout", plain.condensed_min_fanout),
        condensed_min_fanout_hard=_positive(given, "condensedMinFanoutHard", plain.condensed_min_fanout_hard),
        sweep_max_depth=math.inf if depth < 0 else math.floor(depth),
        max_sweep_iterations=_positive(given, "maxSweepIterations", plain.max_sweep_iterations),
        sweep_deadline_ms=_positive(given, "sweepDeadlineMs", plain.sweep_deadline_ms),
        until_under_deadline_ms=_positive(given, "compactUntilUnderDeadlineMs", plain.until_under_deadline_ms),
        max_rounds=_positive(given, "maxRounds", plain.max_rounds),
        summary_max_overage_factor=_number(given.get("summaryMaxOverageFactor")) or plain.summary_max_overage_factor,
        fallback_max_tokens=math.floor(fallback) if fallback >= FALLBACK_LEAST else FALLBACK_TOKENS,
        summary_prefix_target_tokens=_positive(given, "summaryPrefixTargetTokens", 0) or None,
        timezone=zone if isinstance(zone, str) and zone else "UTC",
        strip_tags=tuple(map(str, given.get("stripInjectedContextTags") or ())),
        takes_reaching=takes_reaching,
        is_waiting=takes_reaching,
    )  # fmt: skip


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _whole(given: Mapping[str, Any], key: str, default: int, least: int) -> int:
    if key not in given or given[key] is None:
        return default
    number = _number(given[key])
    return max(least, math.floor(number)) if number is not None else least


def _positive(given: Mapping[str, Any], key: str, default: int) -> int:
    number = _number(given.get(key))
    return math.floor(number) if number is not None and number >= 1 else default
