"""Token usage of model calls, each vendor's words translated once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from functools import reduce
from operator import add, attrgetter
from typing import Literal

from contextviz.events.frozen import frozen

# More than any model is given or makes in one call: what a source says beyond it is no count. So sums over all the
# calls that a library can hold stay within 64 bits.
MOST_TOKENS = 10_000_000_000
# The same for what a client says of a whole session.
MOST_SESSION_TOKENS = 1000 * MOST_TOKENS
# In dollars, of one call and of one session.
MOST_COST = 1e9

DoubtKind = Literal["prompt", "answer", "count", "cached"]


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


@frozen
class Doubt:
    """Something that a source says of a call's tokens and that cannot be so. `value` is what it wrote, as text.

    `kind`: a part of the "prompt", of the "answer", or another "count", is no count of tokens; or more is "cached" than
    the prompt has that it is a part of, and `whole` is that prompt. `is_number` where a number was written, or text.
    """

    name: str
    value: str
    kind: DoubtKind
    whole: int | None = None
    is_number: bool = True


@frozen
class DoubtedUsage(TokenUsage):
    """A usage of which a part cannot be so: that part is None here, and `doubts` say what was written."""

    doubts: tuple[Doubt, ...] = ()

    @property
    def is_real(self) -> bool:
        """Whether a provider counted anything: it did where a number of the prompt or the answer is no count, too."""
        return bool(self.total_tokens) or any(one.is_number and one.kind in ("prompt", "answer") for one in self.doubts)


def doubts_of(usage: TokenUsage | None) -> tuple[Doubt, ...]:
    """What cannot be so in what a source says of a call's tokens; nearly always nothing."""
    return usage.doubts if isinstance(usage, DoubtedUsage) else ()


def sum_usage(usages: Iterable[TokenUsage]) -> TokenUsage:
    """Sum field by field; a field stays None when no summand knows it."""
    summands = list(usages)
    columns = (map(attrgetter(field.name), summands) for field in fields(TokenUsage))
    known = ([value for value in column if value is not None] for column in columns)
    # One after the other, as money is added by hand: sum() rounds otherwise from Python 3.12 on.
    return TokenUsage(*(reduce(add, values) if values else None for values in known))
