"""How much of each window was the beginning of the one before: what prompt caching will pay (metrics.md section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from contextviz.events.run import RunCall


class Culprit(NamedTuple):
    """What broke the prefix: the reason of the first item that differs, how often, and the tokens written anew."""

    reason: str
    breaks: int
    rewritten: int


@dataclass(slots=True)
class Stability:
    """The prefix over a run, in tokens of the windows (the system prompt, the same for every engine, left out).

    `kept` of `windows` tokens were the shared prefix, over all calls but the first; `written` were new, the first
    window among them; `largest` is the largest window. `culprits` come with the most rewritten tokens first.
    """

    kept: int = 0
    windows: int = 0
    written: int = 0
    largest: int = 0
    breaks: int = 0
    culprits: list[Culprit] = field(default_factory=list)

    @property
    def prefix_share(self) -> float | None:
        """kept ÷ windows; None with fewer than two calls."""
        return self.kept / self.windows if self.windows else None

    @property
    def rewrite_factor(self) -> float | None:
        """Newly written tokens ÷ the largest window: 1 where nothing is ever written twice; None without windows."""
        return self.written / self.largest if self.largest else None


def stability(calls: Sequence[RunCall]) -> Stability:
    """The prefix of every window against the one before it."""
    made = Stability()
    made.written = sum(call.tokens - call.kept_tokens for call in calls)
    made.largest = max((call.tokens for call in calls), default=0)
    made.kept = sum(call.kept_tokens for call in calls[1:])
    made.windows = sum(call.tokens for call in calls[1:])
    breaks: Counter[str] = Counter()
    rewritten: Counter[str] = Counter()
    for reason, tokens in _breaks(calls):
        breaks[reason] += 1
        rewritten[reason] += tokens
    made.breaks = breaks.total()
    made.culprits = sorted(
        (Culprit(reason, count, rewritten[reason]) for reason, count in breaks.items()),
        key=lambda one: (-one.rewritten, -one.breaks, one.reason),
    )
    return made


def _breaks(calls: Sequence[RunCall]) -> Iterator[tuple[str, int]]:
    for before, call in pairwise(calls):
        if call.kept_items < before.items:
            yield call.broken_by or "not said", call.tokens - call.kept_tokens
