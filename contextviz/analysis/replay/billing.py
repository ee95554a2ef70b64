"""What a run would be billed: each window's kept prefix read from the cache, the rest written (metrics.md 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contextviz.events.run import Run, RunCall
from contextviz.events.usage import TokenUsage
from contextviz.tokens.prices import LONG_PROMPT, PriceTable, priced

BilledBasis = Literal["estimated", "unknown"]
WhyNot = Literal["answer", "nameless", "model", "long", "part"]


class CallOutput(NamedTuple):
    """What the recorded call answered: its tokens (None: not known), whether the provider reported them, its model."""

    tokens: int | None
    is_reported: bool
    model: str | None


@dataclass(frozen=True, slots=True)
class SummaryCalls:
    """How often the recorded session asked a summariser (None: nothing says it), and where that is known from."""

    count: int | None
    note: str


@dataclass(slots=True)
class Bill:
    """Tokens over a run and what they cost in US dollars; None where something needed for them is not known.

    `cached` were read from the cache, `written` were not there, `output` are the recorded answers'. A summariser's own
    calls are not in it, and no cache expires. The windows are counted by an estimator, so `basis` is "estimated"
    wherever there are tokens; `are_answers_reported` where the provider counted every answer. `unpriced` are calls
    without a cost, by what is missing.
    """

    cached: int | None
    written: int | None
    output: int | None
    cost: float | None
    basis: BilledBasis
    unpriced: Counter[WhyNot] = field(default_factory=Counter)
    are_answers_reported: bool = False

    @property
    def tokens(self) -> int | None:
        """All of it, each token of a prompt and of an answer once."""
        if self.cached is None or self.written is None or self.output is None:
            return None
        return self.cached + self.written + self.output

    @property
    def why_no_cost(self) -> str:
        """What a cost is wanting for, in sentences; "" where every call has one."""
        return " ".join(_WHY[why](f"{self.unpriced[why]:,}") for why in _WHY if self.unpriced[why])


_WHY: dict[WhyNot, Callable[[str], str]] = {
    "answer": "The recorded answer's tokens are not known for calls: {}.".format,
    "nameless": "No model is named for calls: {}.".format,
    "model": "The model is not in the price list for calls: {}.".format,
    "long": f"The price list has no price for prompts above {LONG_PROMPT:,} tokens, which calls have: {{}}.".format,
    "part": "A part of the price is missing for calls: {}.".format,
}


def bill(run: Run, outputs: Sequence[CallOutput], prices: PriceTable | None) -> Bill:
    """The bill of a run; `outputs` are the recorded answers by the run's calls.

    The system prompt is part of every prompt and of every kept prefix. Nothing is known of a run without any window.
    """
    if is_windowless(run):
        return Bill(None, None, None, None, "unknown")
    cached_sum = written_sum = 0
    costs: list[float] = []
    unpriced: Counter[WhyNot] = Counter()
    answers: list[CallOutput] = []
    for number, call in enumerate(run.calls):
        answer = outputs[number] if number < len(outputs) else CallOutput(None, False, None)
        cached, written = _prompt(call, run.measured.system_tokens)
        cached_sum += cached
        written_sum += written
        answers.append(answer)
        found = _cost(cached, written, answer, prices)
        if isinstance(found, str):
            unpriced[found] += 1
        else:
            costs.append(found)
    made = Bill(cached_sum, written_sum, None, None, "unknown", unpriced)
    known = [answer.tokens for answer in answers if answer.tokens is not None]
    if answers and len(known) == len(answers):
        made.output = sum(known)
        made.basis = "estimated"
        made.are_answers_reported = all(answer.is_reported for answer in answers)
        if not unpriced:
            made.cost = sum(costs)
    return made


def is_windowless(run: Run) -> bool:
    """Whether calls were made and not one of their windows is known: each is empty, as where a source holds none."""
    return bool(run.calls) and not any(call.items for call in run.calls)


def _prompt(call: RunCall, system: int) -> tuple[int, int]:
    """Tokens read from the cache and tokens that were not in it; the first call finds none."""
    if call.index == 0:
        return 0, system + call.tokens
    return system + call.kept_tokens, call.tokens - call.kept_tokens


def _cost(cached: int, written: int, answer: CallOutput, prices: PriceTable | None) -> float | WhyNot:
    if answer.tokens is None:
        return "answer"
    if not answer.model:
        return "nameless"
    price = prices.of(answer.model) if prices is not None else None
    if price is None or prices is None:
        return "model"
    if cached + written > LONG_PROMPT and price.up_to_prompt_tokens is not None:
        return "long"
    # A model without a price for reading or writing a cache bills such tokens as plain input.
    plain = (cached if price.cache_read is None else 0) + (written if price.cache_write_5m is None else 0)
    usage = TokenUsage(
        input_tokens=plain, cache_read_tokens=cached if price.cache_read is not None else 0,
        cache_write_tokens=written if price.cache_write_5m is not None else 0, output_tokens=answer.tokens,
    )  # fmt: skip
    found = priced(usage, answer.model, prices).usd
    return "part" if found is None else found
