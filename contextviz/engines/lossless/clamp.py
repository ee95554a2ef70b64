"""The last clamp: what is given must also fit as the JSON that a provider is sent (7.5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextviz.engines.lossless.tokens import serialized
from contextviz.events.javascript import trim

SAFETY = 0.9


@dataclass(frozen=True, slots=True)
class Clamped:
    """What is kept, by index; tokens by `cp-serialized` before and after."""

    kept: tuple[int, ...]
    tokens: int
    before: int
    is_clamped: bool
    is_over: bool
    evicted: int = 0


def clamped(messages: Sequence[Mapping[str, Any]], budget: float, *, keeps_assistant_tail: bool = False) -> Clamped:
    """Clamp messages (role, content, …) to a budget; `keeps_assistant_tail` spares a last answer with a content."""
    sizes = [serialized(message) for message in messages]
    roles = [str(message.get("role")) for message in messages]
    return clamped_sizes(
        sizes, roles, budget, keeps=(lambda at: says_something(messages[at])) if keeps_assistant_tail else None
    )


def clamped_sizes(
    sizes: Sequence[int], roles: Sequence[str], budget: float, *, keeps: Callable[[int], bool] | None = None
) -> Clamped:
    """The same by sizes and roles; `keeps` says of a last answer whether it is spared."""
    total = sum(sizes)
    count = len(sizes)
    if total <= budget or not count:
        return Clamped(tuple(range(count)), total, total, False, total > max(1, math.floor(budget)))
    start = newest_fitting(sizes, target_of(budget))
    while start < count - 1 and _is_result(roles[start]):
        start += 1
    kept = list(range(start, count))
    if not any(_is_user(roles[at]) for at in kept):
        seat = next((at for at in range(start - 1, -1, -1) if _is_user(roles[at])), None)
        kept[:0] = [] if seat is None else [seat]
    short = list(kept)
    while short and roles[short[-1]] == "assistant" and not (keeps is not None and keeps(short[-1])):
        short.pop()
    if short or keeps is not None:
        kept = short
    tokens = sum(sizes[at] for at in kept)
    return Clamped(tuple(kept), tokens, total, True, tokens > budget, count - len(kept))


def target_of(budget: float) -> int:
    """Tokens that a clamped window may have: nine tenths of the budget."""
    return max(1, math.floor(SAFETY * budget))


def newest_fitting(sizes: Sequence[int], target: int) -> int:
    """The index of the first of the newest messages that together fit; at least the last."""
    start, tokens = len(sizes) - 1, sizes[-1]
    while start > 0 and tokens + sizes[start - 1] <= target:
        start -= 1
        tokens += sizes[start]
    return start


def says_something(message: Mapping[str, Any]) -> bool:
    """Whether an answer holds text or a tool call."""
    content = message.get("content")
    if isinstance(content, str):
        return bool(trim(content))
    blocks = content if isinstance(content, list) else []
    return any(
        isinstance(block, Mapping)
        and (bool(trim(str(block.get("text") or ""))) if block.get("type") == "text" else block.get("type") in _CALLS)
        for block in blocks
    )


_CALLS = frozenset({"toolCall", "toolUse", "tool_use", "tool-use", "functionCall", "function_call"})


def _is_result(role: str) -> bool:
    return role in ("toolResult", "tool")


def _is_user(role: str) -> bool:
    return role in ("user", "system")
