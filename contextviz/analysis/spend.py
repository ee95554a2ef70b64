"""Billed tokens: sums over model calls, in the words of inspect.md."""

from __future__ import annotations

from collections.abc import Iterable
from zoneinfo import ZoneInfo

from contextviz.events.call import ModelCall
from contextviz.events.usage import TokenUsage, sum_usage

# Formats whose own input number holds the cached tokens; their readers declare it (a test holds the two together).
CACHED_IS_INPUT = frozenset(
    {"atif", "codex", "copilot-cli", "gemini-api", "gemini-cli", "openai-chat", "openai-responses"}
)
Json = dict[str, object]


def spend_json(usage: TokenUsage, *, format_name: str) -> Json:
    """Spend as inspect.md has it. `total` is null when nothing was counted."""
    spend: Json = {
        "input_uncached": usage.input_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "cache_write_5m": usage.cache_write_5m_tokens,
        "cache_write_1h": usage.cache_write_1h_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "total": usage.total_tokens,
    }
    if format_name in CACHED_IS_INPUT:
        spend["input_total"] = usage.prompt_tokens
        spend["cached_input"] = usage.cache_read_tokens
    return spend


def part(calls: Iterable[ModelCall], *, format_name: str) -> Json:
    """`{api_calls, spend}` of some calls: one of the parts that add up to a session's spend."""
    chosen = list(calls)
    return {"api_calls": len(chosen), "spend": spend_json(total_of(chosen), format_name=format_name)}


def total_of(calls: Iterable[ModelCall]) -> TokenUsage:
    """Summed usage of calls; all fields 0-free: None where no call knows it, 0 only where counted as 0."""
    return sum_usage(call.usage for call in calls)


def per_day(calls: Iterable[ModelCall], zone: ZoneInfo) -> dict[str, int]:
    """Total billed tokens by day in `zone`; calls without a time under "none". A day of which no call's tokens are
    known is not among them."""
    days: dict[str, int] = {}
    for call in calls:
        tokens = call.usage.total_tokens
        if tokens is None:
            continue
        day = call.at.astimezone(zone).date().isoformat() if call.at else "none"
        days[day] = days.get(day, 0) + tokens
    return dict(sorted(days.items()))
