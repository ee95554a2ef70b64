"""Token counts out of a client's usage object, in one way for all readers: what is none is unknown, and remembered."""

from __future__ import annotations

from typing import Any

from contextviz.events.usage import MOST_TOKENS, Doubt, DoubtedUsage, DoubtKind, TokenUsage
from contextviz.sources.values import as_int, shown


def as_tokens(value: Any) -> int | None:
    """A count of tokens of one call: a whole number from 0 to MOST_TOKENS, or its digits; None for anything else."""
    if isinstance(value, float) and not value.is_integer():
        return None
    found = as_int(value)
    return found if found is not None and found <= MOST_TOKENS else None


class Counts:
    """Takes the counts of one usage, then makes it: `apart` where the prompt's parts stand beside one another, `inside`
    where the prompt holds what was cached. A part of the prompt that is no count makes the whole prompt unknown."""

    __slots__ = ("_doubts",)

    def __init__(self) -> None:
        self._doubts: list[Doubt] = []

    @property
    def has_doubts(self) -> bool:
        """Whether something that was written is no count."""
        return bool(self._doubts)

    def prompt(self, value: Any, name: str) -> int | None:
        """A part of the prompt, or the prompt; `name` is what the source calls it."""
        return None if value is None else self._taken(value, name, "prompt")

    def answer(self, value: Any, name: str) -> int | None:
        """A part of the answer, or the answer."""
        return None if value is None else self._taken(value, name, "answer")

    def other(self, value: Any, name: str) -> int | None:
        """A count that is inside one of the others."""
        return None if value is None else self._taken(value, name, "count")

    def _taken(self, value: Any, name: str, kind: DoubtKind) -> int | None:
        if type(value) is int and 0 <= value <= MOST_TOKENS:  # nearly always
            return value
        found = as_tokens(value)
        if found is None:
            self._doubts.append(Doubt(name, shown(value), kind, is_number=not isinstance(value, dict | list)))
        return found

    def apart(
        self, input_tokens: int | None = None, cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None, output_tokens: int | None = None, reasoning_tokens: int | None = None,
        cache_write_5m_tokens: int | None = None, cache_write_1h_tokens: int | None = None,
        cost_usd: float | None = None,
    ) -> TokenUsage:  # fmt: skip
        """A usage whose input is without both kinds of cache."""
        if not self._doubts:
            return TokenUsage(
                input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
                cache_write_5m_tokens, cache_write_1h_tokens, cost_usd,
            )  # fmt: skip
        kinds = {one.kind for one in self._doubts}
        if "prompt" in kinds:
            input_tokens = cache_read_tokens = cache_write_tokens = None
            cache_write_5m_tokens = cache_write_1h_tokens = None
        if "answer" in kinds:
            output_tokens = None
        return DoubtedUsage(
            input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
            cache_write_5m_tokens, cache_write_1h_tokens, cost_usd, tuple(self._doubts),
        )  # fmt: skip

    def inside(
        self, prompt: int | None, cache_read_tokens: int | None = None, cache_write_tokens: int | None = None,
        output_tokens: int | None = None, reasoning_tokens: int | None = None, cost_usd: float | None = None,
    ) -> TokenUsage:  # fmt: skip
        """A usage whose prompt holds what was read from the cache and written to it. Where that is more than the
        prompt, the prompt stays as it is written, and how much of it was cached is unknown."""
        cached = (cache_read_tokens or 0) + (cache_write_tokens or 0)
        fresh = None if prompt is None else prompt - cached
        if prompt is not None and cached > prompt:
            self._doubts.append(Doubt("cached", shown(cached), "cached", prompt))
            fresh, cache_read_tokens, cache_write_tokens = prompt, None, None
        return self.apart(
            fresh, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, cost_usd=cost_usd
        )
