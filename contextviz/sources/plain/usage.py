"""Vendors' usage objects to TokenUsage (formats.md D, H and trap 16)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.counts import Counts
from contextviz.sources.values import as_dict, as_float


def usage_of(value: Any) -> TokenUsage | None:
    """The usage of a reply body of OpenAI (Chat, Responses), Anthropic or Gemini; None where it is none of theirs."""
    usage = as_dict(value)
    if "promptTokenCount" in usage or "candidatesTokenCount" in usage:
        return gemini_usage(usage)
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        return chat_usage(usage)
    if "input_tokens" in usage or "output_tokens" in usage:
        is_responses = "input_tokens_details" in usage or "output_tokens_details" in usage
        return responses_usage(usage) if is_responses else anthropic_usage(usage)
    return None


def chat_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """OpenAI Chat: cached tokens are part of the prompt, reasoning is part of the completion."""
    details, output = as_dict(usage.get("prompt_tokens_details")), as_dict(usage.get("completion_tokens_details"))
    counts = Counts()
    cached = counts.prompt(details.get("cached_tokens"), "cached_tokens")
    if cached is None:
        cached = counts.prompt(usage.get("prompt_cache_hit_tokens"), "prompt_cache_hit_tokens")
    return counts.inside(
        counts.prompt(usage.get("prompt_tokens"), "prompt_tokens"),
        cached,
        output_tokens=counts.answer(usage.get("completion_tokens"), "completion_tokens"),
        reasoning_tokens=counts.other(output.get("reasoning_tokens"), "reasoning_tokens"),
        cost_usd=as_float(usage.get("cost")) or None,
    )


def responses_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """OpenAI Responses: the same subsets under other names."""
    details, output = as_dict(usage.get("input_tokens_details")), as_dict(usage.get("output_tokens_details"))
    counts = Counts()
    return counts.inside(
        counts.prompt(usage.get("input_tokens"), "input_tokens"),
        counts.prompt(details.get("cached_tokens"), "cached_tokens"),
        output_tokens=counts.answer(usage.get("output_tokens"), "output_tokens"),
        reasoning_tokens=counts.other(output.get("reasoning_tokens"), "reasoning_tokens"),
    )


def anthropic_usage(usage: Mapping[str, Any], *, thinking: Any = None) -> TokenUsage:
    """Anthropic: input, cache reads and cache writes are three separate parts of the prompt. `thinking` is what a
    client writes down of the answer's thinking tokens."""
    made = as_dict(usage.get("cache_creation"))
    counts = Counts()
    return counts.apart(
        counts.prompt(usage.get("input_tokens"), "input_tokens"),
        counts.prompt(usage.get("cache_read_input_tokens"), "cache_read_input_tokens"),
        counts.prompt(usage.get("cache_creation_input_tokens"), "cache_creation_input_tokens"),
        counts.answer(usage.get("output_tokens"), "output_tokens"),
        counts.other(thinking, "thinking_tokens"),
        cache_write_5m_tokens=counts.other(made.get("ephemeral_5m_input_tokens"), "ephemeral_5m_input_tokens"),
        cache_write_1h_tokens=counts.other(made.get("ephemeral_1h_input_tokens"), "ephemeral_1h_input_tokens"),
    )


def gemini_usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Gemini: cached is part of the prompt, tool-use prompts are beside it, thoughts are beside the candidates."""
    counts = Counts()
    prompt = counts.prompt(usage.get("promptTokenCount"), "promptTokenCount")
    tools = counts.prompt(usage.get("toolUsePromptTokenCount"), "toolUsePromptTokenCount")
    thoughts = counts.answer(usage.get("thoughtsTokenCount"), "thoughtsTokenCount")
    return counts.inside(
        plus(prompt, tools),
        counts.prompt(usage.get("cachedContentTokenCount"), "cachedContentTokenCount"),
        output_tokens=plus(counts.answer(usage.get("candidatesTokenCount"), "candidatesTokenCount"), thoughts),
        reasoning_tokens=thoughts,
    )


def less(whole: int | None, part: int | None) -> int | None:
    """`whole` without the `part` that is inside it, never below 0; None where the whole is not known."""
    return None if whole is None else max(0, whole - (part or 0))


def plus(first: int | None, second: int | None) -> int | None:
    """The sum of what is known; None where neither is."""
    return None if first is None and second is None else (first or 0) + (second or 0)
