"""Which usage events of a rollout are model calls (formats.md C.4 and I, traps 13, 14, 16, 17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_id, as_int

Totals = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one call: its tokens, the provider's response id and the window where written."""

    tokens: TokenUsage
    response_id: str | None = None
    window: int | None = None


@dataclass(slots=True)
class UsageMeter:
    """Counts each call once from two overlapping kinds of events.

    `token_usage_record` is one per call; `token_count` repeats. Both carry the thread's running total, so a
    total already seen is a repeat, whichever event told it first. `gap` sums what totals moved beyond the call.
    """

    total: Totals | None = None
    last: Totals | None = None
    token_count_events: int = 0
    null_info_events: int = 0
    records: int = 0
    gap: int = 0
    after_compaction: int | None = None

    def record(self, payload: dict[str, Any]) -> Usage | None:
        """The call of a token_usage_record, or None where a token_count told it already."""
        self.records += 1
        usage = as_dict(payload.get("usage"))
        total = _totals(payload.get("thread_token_usage"))
        is_known = total is not None and total == self.total
        self.total, self.last = total, _totals(usage)
        if is_known or self.last is None:
            return None
        return Usage(tokens_of(usage), as_id(payload.get("response_id")))

    def count(self, payload: dict[str, Any]) -> Usage | None:
        """The call of a token_count event, or None: no info, a repeat, or the estimate after a compaction."""
        self.token_count_events += 1
        info = as_dict(payload.get("info"))
        if not info:
            self.null_info_events += 1
            return None
        last = as_dict(info.get("last_token_usage"))
        total, mine = _totals(info.get("total_token_usage")), _totals(last)
        if mine is not None and not any(mine):
            self.after_compaction = as_int(last.get("total_tokens")) or None
        before = self.total
        if total is None or total == before:
            return None
        self.total = total
        # A record without its own running total has told this call already.
        if before is None and self.records and mine == self.last:
            return None
        self.last = mine
        if mine is None or not any(mine):
            return None
        if before is not None and _moved(before, total) < 0 and total != mine:
            return None
        if before is not None and total != mine:
            self.gap += max(0, _moved(before, total) - mine[0] - mine[2])
        return Usage(tokens_of(last), None, as_int(info.get("model_context_window")) or None)

    def replayed(self, payload: dict[str, Any], *, is_record: bool) -> None:
        """Take a replayed event's running total as the baseline; its call is the parent's."""
        value = (
            payload.get("thread_token_usage") if is_record else as_dict(payload.get("info")).get("total_token_usage")
        )
        self.total = _totals(value) or self.total


def tokens_of(usage: dict[str, Any]) -> TokenUsage:
    """OpenAI's words as ours: cached input and cache writes are parts of input, reasoning is part of output."""
    counts = Counts()
    return counts.inside(
        counts.prompt(usage.get("input_tokens"), "input_tokens"),
        counts.prompt(usage.get("cached_input_tokens"), "cached_input_tokens"),
        counts.prompt(usage.get("cache_write_input_tokens"), "cache_write_input_tokens"),
        counts.answer(usage.get("output_tokens"), "output_tokens"),
        counts.other(usage.get("reasoning_output_tokens"), "reasoning_output_tokens"),
    )


def _totals(value: Any) -> Totals | None:
    usage = as_dict(value)
    if not usage:
        return None
    names = ("input_tokens", "cached_input_tokens", "output_tokens")
    prompt, cached, output = (as_int(usage.get(name)) or 0 for name in names)
    return prompt, cached, output


def _moved(before: Totals, after: Totals) -> int:
    return after[0] + after[2] - before[0] - before[2]
