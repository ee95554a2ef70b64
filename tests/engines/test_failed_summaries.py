"""A run says how many of its summaries could not be made, whichever engine asked, also on the command line."""

from __future__ import annotations

import pytest

from contextviz.engines.hosts.pi import Pi
from contextviz.engines.recording import failures_of
from contextviz.engines.summaries import RuleSummariser, SummariserFailed, SummaryRequest
from contextviz.events.run import Run
from tests.engines.building import run, session
from tests.engines.short import turns


def replayed(sentences: dict[int, str]) -> Run:
    """Eight turns through a window that is too small; the summaries of these numbers fail with these sentences."""
    asked = 0

    def summary(request: SummaryRequest) -> str:
        nonlocal asked
        asked += 1
        if asked in sentences:
            raise SummariserFailed(sentences[asked])
        return f"summary {asked}"

    rule = RuleSummariser("rule", summary)
    return run(Pi, session(turns(8)), window=100, summarise=rule, reserveTokens=45, keepRecentTokens=20)


def told(made: Run) -> list[str]:
    return [note for note in made.notes if "could not be made" in note]


def test_failures_are_counted_by_their_reason() -> None:
    made = replayed({1: "It is busy.", 2: "It is down.", 3: "It is down."})

    assert made.failed_summaries == {"It is busy.": 1, "It is down.": 2}
    assert made.summariser_calls > 3
    assert told(made) == [f"3 of {made.summariser_calls} summaries could not be made: It is down. It is busy."]


def test_without_failures_nothing_is_said() -> None:
    made = replayed({})

    assert made.summariser_calls > 0
    assert (made.failed_summaries, failures_of(made), told(made)) == ({}, "", [])


@pytest.mark.parametrize("fails", [{}, {1: "It is down."}])
def test_the_windows_of_two_such_runs_agree(fails: dict[int, str]) -> None:
    assert replayed(fails).hash == replayed(fails).hash
