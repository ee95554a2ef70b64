"""What a client's own total has beyond the calls that are written down, in words for pages."""

from __future__ import annotations

from dataclasses import dataclass

from contextviz.charts import words
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.store.values import ClientTotal, SessionRow

BASIS = "reported by the client's own total, not by call"


@dataclass(frozen=True, slots=True)
class Beyond:
    """The remainder of a session's spend, which no call tells of; calls and remainder together are the total."""

    # What the calls have, what the client's total has beyond them, and both
    calls: TokenUsage
    rest: TokenUsage
    whole: TokenUsage
    # Dollars of both, None unless the calls' cost and the rest's are both as recorded
    cost: float | None

    # Who says so
    basis: str = BASIS

    @property
    def parts(self) -> str:
        """What the remainder is made of: "input 6,000, cache reads 1,000, output 870"."""
        named = (("input", self.rest.input_tokens), ("cache reads", self.rest.cache_read_tokens),
                 ("cache writes", self.rest.cache_write_tokens), ("output", self.rest.output_tokens))  # fmt: skip
        return ", ".join(f"{name} {words.tokens(tokens)}" for name, tokens in named if tokens)


def beyond(row: SessionRow, total: ClientTotal) -> Beyond | None:
    """The remainder of a session; None where the client tells of nothing beyond the calls."""
    rest = total.beyond
    if rest is None or not rest.is_real:
        return None
    calls = TokenUsage(
        row.spend_input_tokens, row.spend_cache_read_tokens, row.spend_cache_write_tokens, row.spend_output_tokens
    )
    is_known = not row.call_count or (row.cost_basis == "reported" and not row.cost_unpriced_calls)
    cost = (row.cost_usd or 0.0) + rest.cost_usd if is_known and rest.cost_usd is not None else None
    return Beyond(calls, rest, sum_usage((calls, rest)), cost)
