"""A summariser's endpoint that is broken, slow, dead or hostile, and what the run says of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.summaries import SummariserFailed, SummaryRequest
from contextviz.services import jobs, replay
from contextviz.services.jobs import JobCancelled
from contextviz.services.replay import endpoint, watched
from contextviz.services.replay.endpoint import EndpointSettings, EndpointSummariser, wait_of
from contextviz.services.replay.summarisers import Remembering
from contextviz.store.models import JobRecord
from contextviz.store.queries import jobs as job_rows
from contextviz.store.queries import runs
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import JobRow
from tests.services.building import NOW, claude_lines, upload
from tests.services.test_summariser_endpoint import StandIn, server

__all__ = ["server"]
REFUSED = "The summariser's endpoint refused the key."
BROKEN = "The summariser's endpoint answered with status 500."


def asked(text: str) -> SummaryRequest:
    return SummaryRequest(text)


def failure(made: EndpointSummariser, text: str) -> SummariserFailed:
    with pytest.raises(SummariserFailed) as caught:
        made(asked(text))
    return caught.value


@pytest.fixture
def made(server: StandIn) -> Iterator[EndpointSummariser]:
    one = EndpointSummariser(EndpointSettings(server.url, "m", retries=0))
    yield one
    one.close()


def test_half_a_character_and_a_nul_are_replaced(server: StandIn, made: EndpointSummariser) -> None:
    server.says("half \ud83d of it, \x00")  # sent as escapes, which JSON allows

    assert made(asked("x")) == "half \ufffd of it, \ufffd"


def test_json_that_is_too_deep_is_an_answer_that_cannot_be_read(server: StandIn, made: EndpointSummariser) -> None:
    server.body = b'{"choices":' + b"[" * 200_000

    assert "could not be read" in str(failure(made, "x"))


def test_after_a_refused_key_nothing_more_is_sent(server: StandIn, made: EndpointSummariser) -> None:
    server.status = 401
    found = [failure(made, str(number)) for number in range(4)]

    assert [(str(one), one.is_refused) for one in found] == [(REFUSED, True)] * 4
    assert len(server.asked) == made.calls == 1


def test_after_five_failures_in_a_row_nothing_more_is_sent(server: StandIn, made: EndpointSummariser) -> None:
    server.status = 500
    for number in range(4):
        failure(made, str(number))
    server.status = 200
    assert made(asked("well")) == "A summary."  # the row is broken
    server.status = 500

    found = [str(failure(made, f"again {number}")) for number in range(8)]

    assert found == [BROKEN] * 8
    assert len(server.asked) == 5 + 5


def test_what_does_not_end_is_left_when_its_time_is_over() -> None:
    """As an answer that comes byte by byte, whose own timeout, between two bytes, never comes."""
    released = threading.Event()

    def dripping() -> str:
        released.wait(5)
        return "late"

    began = time.monotonic()
    with pytest.raises(watched.OutOfTime):
        watched.watched(dripping, 0.1)
    assert time.monotonic() - began < 2
    released.set()


def test_a_look_while_it_waits_ends_it(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "LOOK_SECONDS", 0.02)
    server.wait = 3.0
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise JobCancelled

    made = EndpointSummariser(EndpointSettings(server.url, "m"), look)
    began = time.monotonic()
    with pytest.raises(JobCancelled):
        made(asked("x"))
    made.close()
    assert time.monotonic() - began < 2.5
    server.wait = 0.0


def test_the_time_of_a_run_is_bounded(server: StandIn) -> None:
    server.wait = 0.15
    made = EndpointSummariser(EndpointSettings(server.url, "m", retries=0, most_seconds=0.2))
    assert made(asked("one")) == "A summary."
    assert "did not answer within" in str(failure(made, "two")), "only what is left of the run's time"
    assert str(failure(made, "three")) == "The summariser's endpoint took 0.2 seconds, which is the most for one run."
    made.close()
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0.5), ("", 0.5), ("2", 2.0), ("3600", 5.0), ("inf", 5.0), ("nan", 0.5), ("-1", 0.0),
     ("Wed, 21 Oct 2099 07:28:00 GMT", 0.5)],
)  # fmt: skip
def test_retry_after_is_honoured_up_to_five_seconds(header: str | None, seconds: float) -> None:
    assert wait_of(header) == seconds


def test_a_request_that_is_wrong_is_not_sent_again(server: StandIn) -> None:
    server.status = 400
    made = EndpointSummariser(EndpointSettings(server.url, "m", retries=1))
    assert "status 400" in str(failure(made, "x"))
    made.close()
    assert len(server.asked) == 1


# ---- runs ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def session_id(data_dir: Path) -> int:
    found: int = upload(("a.jsonl", claude_lines(40))).result["sessions"][0]
    return found


@pytest.fixture
def site(server: StandIn, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The installation with the stand-in set."""
    monkeypatch.setattr(endpoint, "USUAL_WAIT", 0.0)
    settings.SUMMARISER_URL, settings.SUMMARISER_MODEL = server.url, "small"
    return settings


def started(session_id: int) -> replay.Started:
    """A replay by an engine that goes on by a rule of its own where a summary fails, in a window that is full."""
    return replay.start_run(
        session_id, "pi", {"keepRecentTokens": 20}, measure=replay.Measure(window=150, reserve=20, system_tokens=0),
        summariser="endpoint", now=NOW,
    )  # fmt: skip


def done(session_id: int) -> tuple[RunRow, JobRow]:
    one = started(session_id)
    assert one.job_id is not None
    assert replay.execute_run(one.job_id)
    return runs.get_run(one.run_id), job_rows.get_job(one.job_id)


@pytest.mark.django_db
def test_the_run_says_what_the_endpoint_was_asked(server: StandIn, site: Any, session_id: int) -> None:
    server.says("word " * 9_000, total=90)

    row, job = done(session_id)

    asked_for = len(server.asked)
    assert job.state == "done" and asked_for > 0
    assert row.notes[-1] == (
        f"Summaries by small: {asked_for} asked for now ({90 * asked_for:,} tokens), 0 kept from before,"
        f" {asked_for} longer than asked for and cut."
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("status", "sentence", "requests"), [(401, REFUSED, 1), (400, "answered with status 400", 5)])
def test_a_run_without_any_summary_fails(
    server: StandIn, site: Any, session_id: int, status: int, sentence: str, requests: int
) -> None:
    server.status = status

    row, job = done(session_id)

    assert (job.state, job.can_retry, row.is_done) == ("failed", True, False)
    assert sentence in job.outcome and "summaries could not be made" in job.outcome
    assert len(server.asked) == requests

    server.status = 200
    assert jobs.retry(job.id)
    replay.execute_run(job.id)
    assert runs.get_run(row.id).is_done


@pytest.mark.django_db
def test_a_run_that_lost_some_summaries_says_how_many_and_why(
    server: StandIn, site: Any, session_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Remembering.__call__
    count = 0

    def second_fails(self: Remembering, request: SummaryRequest) -> str:
        nonlocal count
        count += 1
        server.status = 400 if count == 2 else 200
        return real(self, request)

    monkeypatch.setattr(Remembering, "__call__", second_fails)
    row, job = done(session_id)

    assert job.state == "done"
    assert count > 2
    told = f"1 of {count} summaries could not be made: The summariser's endpoint answered with status 400."
    assert told in row.notes


@pytest.mark.django_db(transaction=True)
def test_a_run_is_cancelled_while_its_endpoint_is_waited_for(
    server: StandIn, site: Any, session_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(watched, "LOOK_SECONDS", 0.02)
    one = started(session_id)
    job_id = one.job_id
    assert job_id is not None
    real = endpoint.__dict__["_created"]

    def slow(*args: Any) -> Any:
        held.wait(10)
        return real(*args)

    held = threading.Event()
    monkeypatch.setattr(endpoint, "_created", slow)
    looks = watched.__dict__["watched"]

    def asked_to_stop(work: Any, seconds: float, look: Any) -> Any:
        look()
        JobRecord.objects.filter(pk=job_id).update(is_cancel_asked=True)
        return looks(work, seconds, look)

    monkeypatch.setattr(endpoint, "watched", asked_to_stop)
    began = time.monotonic()
    replay.execute_run(job_id)
    held.set()

    assert time.monotonic() - began < 8
    assert job_rows.get_job(job_id).state == "cancelled"
    assert server.asked == []
