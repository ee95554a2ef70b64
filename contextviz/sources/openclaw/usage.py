"""Token usage of assistant rows (formats.md A.4): `input` excludes both cache kinds."""

from __future__ import annotations

from typing import Any

from contextviz.events.usage import TokenUsage
from contextviz.sources.values import as_dict, as_float, as_int, as_text

INTERNAL_PROVIDER = "openclaw"
INTERNAL_MODELS = frozenset({"delivery-mirror", "gateway-injected"})
FAILED = frozenset({"error", "aborted"})


def usage_of(value: Any) -> TokenUsage:
    """A usage object as TokenUsage; every field None where nothing is written."""
    found = as_dict(value)
    if "prompt_tokens" in found and "input" not in found:
        return _openai(found)
    return TokenUsage(
        input_tokens=as_int(found.get("input")),
        cache_read_tokens=as_int(found.get("cacheRead")),
        cache_write_tokens=as_int(found.get("cacheWrite")),
        output_tokens=as_int(found.get("output")),
        reasoning_tokens=as_int(found.get("reasoning")),
        cache_write_1h_tokens=as_int(found.get("cacheWrite1h")),
        cost_usd=_cost(found),
    )


def _cost(found: dict[str, Any]) -> float | None:
    # A client without a price writes 0 everywhere: the cost is then unknown, not free.
    return as_float(as_dict(found.get("cost")).get("total")) or None


def _openai(found: dict[str, Any]) -> TokenUsage:
    prompt = as_int(found.get("prompt_tokens"))
    cached = as_int(as_dict(found.get("prompt_tokens_details")).get("cached_tokens"))
    fresh = None if prompt is None else max(0, prompt - (cached or 0))
    return TokenUsage(
        input_tokens=fresh, cache_read_tokens=cached, output_tokens=as_int(found.get("completion_tokens"))
    )


def is_internal(message: dict[str, Any]) -> bool:
    """Whether an assistant row is the client's own echo: neither a call nor in the context (trap 9)."""
    return message.get("provider") == INTERNAL_PROVIDER or as_text(message.get("model")) in INTERNAL_MODELS


def is_failed(message: dict[str, Any]) -> bool:
    """Whether an assistant row is an error or an aborted answer."""
    return as_text(message.get("stopReason")) in FAILED
