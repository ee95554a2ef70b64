"""Jobs: claimed once, seen while they run, never left running by the dead."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from contextviz.services import jobs
from contextviz.services.jobs import JobFailed, JobRun
from contextviz.services.owners import own_name
from contextviz.store.models import JobRecord
from contextviz.store.queries import jobs as queries
from contextviz.store.values import JobRow, NotFound
from tests.services.building import NOW

pytestmark = pytest.mark.django_db
DEAD = f"{socket.gethostname()[:100]}|999999999:1"
ELSEWHERE = "another-host|1:1"


def opened() -> UUID:
    return jobs.open_job("digest", now=NOW, params={"batch": "b"})


def left_by(owner: str, *, attempts: int = 1, silent: int = 0) -> UUID:
    job_id = opened()
    JobRecord.objects.filter(pk=job_id).update(
        state="running", owner=owner, attempts=attempts, heartbeat_at=NOW - timedelta(seconds=silent)
    )
    return job_id


def row(job_id: UUID) -> JobRow:
    return queries.get_job(job_id)


def test_a_job_runs_once_however_often_it_is_delivered() -> None:
    job_id = opened()
    ran = []

    for _ in range(3):
        jobs.perform(job_id, lambda run: ran.append(run.id) or "Done.")  # type: ignore[func-returns-value]

    assert ran == [job_id]
    assert (row(job_id).state, row(job_id).outcome, row(job_id).attempts) == ("done", "Done.", 1)


def test_a_message_for_a_job_that_runs_elsewhere_does_nothing() -> None:
    job_id = left_by(ELSEWHERE)
    assert jobs.claim(job_id, now=NOW + timedelta(seconds=60)) is None
    assert jobs.claim(left_by(own_name()), now=NOW) is not None, "left by an earlier try of this very process"


def test_a_job_is_not_claimed_twice_while_this_process_works_on_it() -> None:
    job_id = opened()
    assert jobs.perform(job_id, lambda run: str(jobs.perform(run.id, lambda _: "twice")))
    assert row(job_id).outcome == "False"


def test_an_unexpected_error_is_logged_once_and_said_with_the_job(caplog: pytest.LogCaptureFixture) -> None:
    job_id = opened()

    jobs.perform(job_id, lambda run: str(1 / 0))

    assert row(job_id).state == "failed"
    assert str(job_id) in row(job_id).outcome
    assert len([record for record in caplog.records if record.exc_info]) == 1
    assert row(job_id).may_retry


def test_a_failure_is_a_sentence_and_may_be_final() -> None:
    job_id = opened()

    def fail(_: JobRun) -> str:
        raise JobFailed("It cannot be read.", can_retry=False)

    jobs.perform(job_id, fail)

    assert (row(job_id).state, row(job_id).outcome, row(job_id).may_retry) == ("failed", "It cannot be read.", False)
    assert not jobs.retry(job_id)


def test_progress_is_written_at_most_once_a_second(django_assert_num_queries: Any) -> None:
    def work(run: JobRun) -> str:
        run.progress(1, 10)
        with django_assert_num_queries(0):
            for number in range(1000):
                run.progress(number)
        assert (row(run.id).progress, row(run.id).total) == (1, 10)
        return "Done."

    job_id = opened()
    jobs.perform(job_id, work)
    assert (row(job_id).outcome, row(job_id).progress) == ("Done.", 10)


def test_a_running_job_stops_at_its_next_step_when_cancelled() -> None:
    def work(run: JobRun) -> str:
        assert jobs.cancel(run.id, now=NOW)
        run.progress(1, force=True)
        return "not reached"

    job_id = opened()
    jobs.perform(job_id, work)

    assert row(job_id).state == "cancelled"
    assert jobs.retry(job_id)
    assert (row(job_id).state, row(job_id).attempts, row(job_id).is_cancel_asked) == ("queued", 0, False)


def test_a_waiting_job_is_cancelled_at_once_and_never_runs() -> None:
    job_id = opened()
    assert jobs.cancel(job_id, now=NOW)
    assert not jobs.perform(job_id, lambda _: "ran")
    assert row(job_id).state == "cancelled"
    assert not jobs.cancel(job_id, now=NOW)


def test_the_log_keeps_its_order_and_ends_after_500_lines() -> None:
    def work(run: JobRun) -> str:
        for number in range(510):
            run.log(f"line {number}\x00")
        return "Done."

    job_id = opened()
    jobs.perform(job_id, work)
    lines = queries.job_log(job_id, limit=1000)
    assert [line.text for line in lines] == [f"line {number}\ufffd" for number in range(500)]
    assert queries.job_log(job_id, after=lines[-2].number) == lines[-1:]


def test_what_a_dead_process_left_is_queued_again_at_once() -> None:
    job_id = left_by(DEAD)
    assert jobs.recover_stale(now=NOW, include_queued=False) == [job_id]
    assert row(job_id).state == "queued"
    assert jobs.perform(job_id, lambda _: "Done.")
    assert row(job_id).attempts == 2


def test_a_silent_process_of_another_host_is_given_90_seconds() -> None:
    job_id = left_by(ELSEWHERE, silent=60)
    assert jobs.recover_stale(now=NOW, include_queued=False) == []
    assert jobs.recover_stale(now=NOW + timedelta(seconds=60), include_queued=False) == [job_id]


def test_the_third_death_ends_a_job_with_a_retry() -> None:
    job_id = left_by(DEAD, attempts=3)

    assert jobs.recover_stale(now=NOW, include_queued=True) == []

    assert (row(job_id).state, row(job_id).may_retry) == ("failed", True)
    assert row(job_id).outcome.startswith("The worker was stopped 3 times")


def test_a_redelivered_message_takes_over_from_the_dead_or_ends_the_job() -> None:
    taken, ended, stopped = left_by(DEAD), left_by(DEAD, attempts=3), left_by(DEAD)
    JobRecord.objects.filter(pk=stopped).update(is_cancel_asked=True)

    assert jobs.perform(taken, lambda _: "Done.")
    assert not jobs.perform(ended, lambda _: "Done.")
    assert not jobs.perform(stopped, lambda _: "Done.")

    assert [row(job_id).state for job_id in (taken, ended, stopped)] == ["done", "failed", "cancelled"]


def test_waiting_jobs_are_enqueued_again_when_a_worker_starts() -> None:
    job_id = opened()
    assert jobs.recover_stale(now=NOW, include_queued=False) == []
    assert jobs.recover_stale(now=NOW, include_queued=True) == [job_id]


def test_a_process_whose_job_was_taken_over_does_not_end_it() -> None:
    def work(run: JobRun) -> str:
        JobRecord.objects.filter(pk=run.id).update(owner=ELSEWHERE)
        return "Done."

    job_id = opened()
    jobs.perform(job_id, work)
    assert row(job_id).state == "running"


def test_an_unknown_job_is_named() -> None:
    for unknown in (uuid4(), "nonsense"):
        with pytest.raises(NotFound):
            queries.get_job(unknown)
    assert not jobs.perform(uuid4(), lambda _: "ran")


def test_jobs_are_listed_newest_first() -> None:
    first = jobs.open_job("digest", now=NOW)
    second = jobs.open_job("expand_summary", now=NOW + timedelta(seconds=1))
    assert [one.id for one in queries.jobs().items] == [second, first]
    assert [one.id for one in queries.jobs(kind="digest").items] == [first]
    assert [one.id for one in queries.unfinished_jobs()] == [first, second]
