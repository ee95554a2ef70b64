"""Token usage of model calls, each vendor's words translated once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one model call as its provider reported them; None where it said nothing.

    `input_tokens` excludes both cache kinds, so the prompt is the sum of the first three. `reasoning_tokens`
    is part of `output_tokens`; the 5 m and 1 h writes are parts of `cache_write_tokens`.
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def prompt_tokens(self) -> int | None:
        """Everything the model was given: full-rate input, cache reads and cache writes."""
        parts = [self.input_tokens, self.cache_read_tokens, self.cache_write_tokens]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None

    @property
    def total_tokens(self) -> int | None:
        """Prompt and output together: what this call adds to the spend."""
        prompt = self.prompt_tokens
        if prompt is None and self.output_tokens is None:
            return None
        return (prompt or 0) + (self.output_tokens or 0)

    @property
    def is_real(self) -> bool:
        """Whether a provider counted anything at all; all-zero and absent usage is not a call's."""
        return bool(self.total_tokens)


def sum_usage(usages: Iterable[TokenUsage]) -> TokenUsage:
    """Sum field by field; a field stays None when no summand knows it."""
    totals: dict[str, int | float | None] = {field.name: None for field in fields(TokenUsage)}
    for usage in usages:
        for name, total in totals.items():
            value = getattr(usage, name)
            if value is not None:
                totals[name] = value if total is None else total + value
    return TokenUsage(**totals)  # type: ignore[arg-type]
