"""Copilot CLI's tokens: of one call, of a compaction, and of a whole run of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_int

FIELDS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


def usage_of(value: Mapping[str, Any]) -> TokenUsage:
    """An object of the client's words: its input holds what was read from and written to the cache (seen in runs whose
    totals are written both ways), reasoning is part of the output. Early versions named three of them shorter."""
    counts = Counts()
    prompt, read = _named(value, "inputTokens", "input"), _named(value, "cacheReadTokens", "cachedInput")
    return counts.inside(
        counts.prompt(value.get(prompt), prompt),
        counts.prompt(value.get(read), read),
        counts.prompt(value.get("cacheWriteTokens"), "cacheWriteTokens"),
        counts.answer(value.get(answer := _named(value, "outputTokens", "output")), answer),
        counts.other(value.get("reasoningTokens"), "reasoningTokens"),
    )


def _named(value: Mapping[str, Any], name: str, shorter: str) -> str:
    return shorter if value.get(name) is None else name


def run_usage(shutdown: Mapping[str, Any]) -> TokenUsage | None:
    """What a run of the program used, by its last event: the models' metrics, else the tokens by kind (which are
    disjoint); None where it says neither."""
    metrics = as_dict(shutdown.get("modelMetrics"))
    models = [usage_of(as_dict(as_dict(one).get("usage"))) for one in metrics.values()]
    told = [one for one in models if one.is_real]
    if told:
        return sum_usage(told)
    kinds = {key: as_int(as_dict(one).get("tokenCount")) for key, one in as_dict(shutdown.get("tokenDetails")).items()}
    found = TokenUsage(kinds.get("input"), kinds.get("cache_read"), kinds.get("cache_write"), kinds.get("output"))
    return found if found.is_real else None


def requests_of(shutdown: Mapping[str, Any]) -> int:
    """How many requests a run of the program made; 0 where that is not written."""
    metrics = as_dict(shutdown.get("modelMetrics")).values()
    return sum(as_int(as_dict(as_dict(one).get("requests")).get("count")) or 0 for one in metrics)


def beyond(whole: TokenUsage, parts: Iterable[TokenUsage]) -> tuple[TokenUsage | None, bool]:
    """What `whole` has beyond its parts, field by field, None where that is nothing; and whether the parts have more
    than the whole somewhere (then that field has nothing left)."""
    known = sum_usage(parts)
    left: dict[str, int] = {}
    is_over = False
    for name in FIELDS:
        have, had = getattr(whole, name), getattr(known, name) or 0
        if have is None:
            continue
        is_over = is_over or had > have
        left[name] = max(0, have - had)
    rest = TokenUsage(**left)
    return (rest if rest.is_real else None), is_over
