"""Token usage of model calls, each vendor's words translated once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import reduce
from operator import add, attrgetter

from contextviz.events.frozen import frozen


@frozen
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
        fresh, read, written = self.input_tokens, self.cache_read_tokens, self.cache_write_tokens
        if fresh is None and read is None and written is None:
            return None
        return (fresh or 0) + (read or 0) + (written or 0)

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
    summands = list(usages)
    columns = (map(attrgetter(field.name), summands) for field in fields(TokenUsage))
    known = ([value for value in column if value is not None] for column in columns)
    # One after the other, as money is added by hand: sum() rounds otherwise from Python 3.12 on.
    return TokenUsage(*(reduce(add, values) if values else None for values in known))
