"""Summarisers that are a rule and nothing else: what engines are compared with, and tests run on.

Each takes the trimmed source. They shorten (or deliberately do not), so that every branch of an escalation is reached.
"""

from __future__ import annotations

from contextviz.engines.summaries import RuleSummariser, SummaryRequest
from contextviz.events.javascript import length16, slice16, trim


def _share(text: str, percent: int) -> str:
    return slice16(text, 0, length16(text) * percent // 100)


def _quarter(request: SummaryRequest) -> str:
    """The first quarter under a short label; the first 15 % where it is asked to be aggressive."""
    label = f"SC{request.depth}" if request.is_condensed else "SL"
    source = trim(request.text)
    if request.is_aggressive:
        return f"{label}a: {_share(source, 15)}"
    return f"{label}: {_share(source, 25)}"


def _echo_then_tenth(request: SummaryRequest) -> str:
    source = trim(request.text)
    return _share(source, 10) if request.is_aggressive else source


QUARTER = RuleSummariser("stub-quarter", _quarter)
ECHO_THEN_TENTH = RuleSummariser("stub-echo-then-tenth", _echo_then_tenth)
ECHO = RuleSummariser("stub-echo", lambda request: f"{trim(request.text)} (echo)")
EMPTY = RuleSummariser("stub-empty", lambda request: "   ")
TINY = RuleSummariser("stub-tiny", lambda request: "tiny fixed summary, thirty-odd chars")
BLOAT = RuleSummariser("stub-bloat", lambda request: _share(trim(request.text), 80))

# By the names that case files use for them.
STUBS: dict[str, RuleSummariser] = {
    "quarter": QUARTER,
    "echoThenTenth": ECHO_THEN_TENTH,
    "echo": ECHO,
    "empty": EMPTY,
    "tiny": TINY,
    "bloat": BLOAT,
}
