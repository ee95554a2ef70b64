"""What a run would be billed: each window's kept prefix read from the cache, the rest written (metrics.md 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from contextviz.events.run import Run, RunCall
from contextviz.events.usage import TokenUsage
from contextviz.tokens.prices import PriceTable, priced

BilledBasis = Literal["derived", "estimated", "unknown"]


class CallOutput(NamedTuple):
    """What the recorded call answered: its tokens (None: not known), whether the provider reported them, its model."""

    tokens: int | None
    is_reported: bool
    model: str | None


@dataclass(slots=True)
class Bill:
    """Tokens over a run and what they cost in US dollars; None where something needed for them is not known.

    `cached` were read from the cache, `written` were not there, `output` are the recorded answers'. A summariser's own
    calls are not in it, and no cache expires. `basis` is "derived" where every answer's tokens were reported, else
    "estimated".
    """

    cached: int
    written: int
    output: int | None
    cost: float | None
    basis: BilledBasis
    unpriced: int = 0

    @property
    def tokens(self) -> int | None:
        """All of it, each token of a prompt and of an answer once."""
        return None if self.output is None else self.cached + self.written + self.output


def bill(run: Run, outputs: Sequence[CallOutput], prices: PriceTable | None) -> Bill:
    """The bill of a run; `outputs` are the recorded answers by the run's calls.

    The system prompt is part of every prompt and of every kept prefix. `unpriced` calls have no price.
    """
    made = Bill(0, 0, None, None, "unknown")
    costs: list[float | None] = []
    answers: list[CallOutput] = []
    for number, call in enumerate(run.calls):
        answer = outputs[number] if number < len(outputs) else CallOutput(None, False, None)
        cached, written = _prompt(call, run.measured.system_tokens)
        made.cached += cached
        made.written += written
        answers.append(answer)
        costs.append(_cost(cached, written, answer, prices))
    made.unpriced = costs.count(None)
    known = [answer.tokens for answer in answers if answer.tokens is not None]
    if answers and len(known) == len(answers):
        made.output = sum(known)
        made.basis = "derived" if all(answer.is_reported for answer in answers) else "estimated"
        if not made.unpriced:
            made.cost = sum(amount for amount in costs if amount is not None)
    return made


def _prompt(call: RunCall, system: int) -> tuple[int, int]:
    """Tokens read from the cache and tokens that were not in it; the first call finds none."""
    if call.index == 0:
        return 0, system + call.tokens
    return system + call.kept_tokens, call.tokens - call.kept_tokens


def _cost(cached: int, written: int, answer: CallOutput, prices: PriceTable | None) -> float | None:
    price = prices.of(answer.model) if prices is not None else None
    if price is None or prices is None or answer.tokens is None:
        return None
    # A model without a price for reading or writing a cache bills such tokens as plain input.
    plain = (cached if price.cache_read is None else 0) + (written if price.cache_write_5m is None else 0)
    usage = TokenUsage(
        input_tokens=plain, cache_read_tokens=cached if price.cache_read is not None else 0,
        cache_write_tokens=written if price.cache_write_5m is not None else 0, output_tokens=answer.tokens,
    )  # fmt: skip
    return priced(usage, answer.model, prices).usd
