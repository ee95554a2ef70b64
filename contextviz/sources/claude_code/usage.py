"""Token usage of Claude Code's rows, to our words (formats.md B.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from contextviz.events.usage import DoubtedUsage, TokenUsage, doubts_of, sum_usage
from contextviz.sources.plain.usage import anthropic_usage
from contextviz.sources.values import as_dict, as_float, as_int, as_list

FIELDS = (
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
)


def usage_of(value: Any) -> TokenUsage | None:
    """The usage of one assistant row; None where there is none. The three prompt parts are disjoint."""
    usage = as_dict(value)
    if not usage:
        return None
    details = as_dict(usage.get("output_tokens_details"))
    return anthropic_usage(usage, thinking=details.get("thinking_tokens"))


def iterations_of(value: Any) -> int:
    """How many times the model was asked for one answer: its usage is then their sum (formats document, B.4)."""
    rounds = as_list(as_dict(value).get("iterations"))
    return sum(as_dict(one).get("type") == "message" for one in rounds)


def greatest(first: TokenUsage | None, second: TokenUsage | None) -> TokenUsage | None:
    """Field by field the greater one: each row of a call repeats its usage, and the output grows (trap 2)."""
    if first is None or second is None:
        return first or second
    merged: dict[str, int | None] = {}
    for name in FIELDS:
        one, other = getattr(first, name), getattr(second, name)
        merged[name] = max(one, other) if one is not None and other is not None else (other if one is None else one)
    doubts = tuple(dict.fromkeys((*doubts_of(first), *doubts_of(second))))
    return DoubtedUsage(**merged, doubts=doubts) if doubts else TokenUsage(**merged)


def cost_state_usage(value: dict[str, Any]) -> TokenUsage | None:
    """The running total of a cost-state row over all models: the whole bill, unlogged calls included. Its cost is None
    where the client says that it knows no price for some of it."""
    models = [as_dict(one) for one in as_dict(value.get("modelUsage")).values()]
    usages = [
        TokenUsage(
            input_tokens=as_int(one.get("inputTokens")),
            cache_read_tokens=as_int(one.get("cacheReadInputTokens")),
            cache_write_tokens=as_int(one.get("cacheCreationInputTokens")),
            output_tokens=as_int(one.get("outputTokens")),
        )
        for one in models
    ]
    cost = None if value.get("hasUnknownModelCost") else as_float(value.get("totalCostUSD"))
    return replace(sum_usage(usages), cost_usd=cost or None) if usages else None


def difference(whole: TokenUsage, part: TokenUsage) -> TokenUsage | None:
    """`whole` minus `part` in the four main fields; None where nothing is left or the whole is smaller."""
    left: dict[str, int] = {}
    for name in FIELDS[:4]:
        left[name] = (getattr(whole, name) or 0) - (getattr(part, name) or 0)
    if any(value < 0 for value in left.values()) or not any(left.values()):
        return None
    return TokenUsage(**left)
