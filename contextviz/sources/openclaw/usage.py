"""Token usage of assistant rows (formats.md A.4): `input` excludes both cache kinds."""

from __future__ import annotations

from typing import Any

from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_float, as_text

INTERNAL_PROVIDER = "openclaw"
INTERNAL_MODELS = frozenset({"delivery-mirror", "gateway-injected"})
FAILED = frozenset({"error", "aborted"})


def usage_of(value: Any) -> TokenUsage:
    """A usage object as TokenUsage; every field None where nothing is written."""
    found = as_dict(value)
    if "prompt_tokens" in found and "input" not in found:
        return _openai(found)
    counts = Counts()
    return counts.apart(
        counts.prompt(found.get("input"), "input"),
        counts.prompt(found.get("cacheRead"), "cacheRead"),
        counts.prompt(found.get("cacheWrite"), "cacheWrite"),
        counts.answer(found.get("output"), "output"),
        counts.other(found.get("reasoning"), "reasoning"),
        cache_write_1h_tokens=counts.other(found.get("cacheWrite1h"), "cacheWrite1h"),
        cost_usd=_cost(found),
    )


def _cost(found: dict[str, Any]) -> float | None:
    # A client without a price writes 0 everywhere: the cost is then unknown, not free.
    return as_float(as_dict(found.get("cost")).get("total")) or None


def _openai(found: dict[str, Any]) -> TokenUsage:
    counts = Counts()
    return counts.inside(
        counts.prompt(found.get("prompt_tokens"), "prompt_tokens"),
        counts.prompt(as_dict(found.get("prompt_tokens_details")).get("cached_tokens"), "cached_tokens"),
        output_tokens=counts.answer(found.get("completion_tokens"), "completion_tokens"),
    )


def is_internal(message: dict[str, Any]) -> bool:
    """Whether an assistant row is the client's own echo: neither a call nor in the context (trap 9)."""
    return message.get("provider") == INTERNAL_PROVIDER or as_text(message.get("model")) in INTERNAL_MODELS


def is_failed(message: dict[str, Any]) -> bool:
    """Whether an assistant row is an error or an aborted answer."""
    return as_text(message.get("stopReason")) in FAILED
