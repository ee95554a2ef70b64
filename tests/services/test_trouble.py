"""What keeps the store from taking something: told apart from faults, and said by a job."""

from __future__ import annotations

import errno
import sqlite3
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, InterfaceError, OperationalError
from django.utils import timezone
from psycopg_pool import PoolTimeout

from contextviz.services import jobs
from contextviz.services.doctor import left_waiting
from contextviz.services.jobs import JobRun
from contextviz.services.outages import trouble
from contextviz.services.outages.trouble import BUSY, FULL, Trouble, trouble_of
from contextviz.store.models import JobRecord
from tests.stores import full_disk, wrapped


def of_sqlite(code: int) -> OperationalError:
    fault = sqlite3.OperationalError("words")
    fault.sqlite_errorcode = code
    return wrapped(fault)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (of_sqlite(sqlite3.SQLITE_BUSY), BUSY),
        (of_sqlite(sqlite3.SQLITE_BUSY_SNAPSHOT), BUSY),
        (of_sqlite(sqlite3.SQLITE_LOCKED), BUSY),
        (of_sqlite(sqlite3.SQLITE_FULL), FULL),
        (of_sqlite(sqlite3.SQLITE_ERROR), None),
        (of_sqlite(sqlite3.SQLITE_IOERR_READ), None),
        (wrapped(psycopg.errors.DiskFull("no space")), FULL),
        (wrapped(psycopg.errors.DeadlockDetected("deadlock")), BUSY),
        (wrapped(psycopg.errors.AdminShutdown("ends")), BUSY),
        (wrapped(psycopg.OperationalError("connection refused")), BUSY),
        (wrapped(PoolTimeout("none left")), BUSY),
        (wrapped(psycopg.errors.UndefinedTable("no such table")), None),
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (FileNotFoundError(errno.ENOENT, "no such file"), None),
        (OperationalError("integer overflow"), None),
        (IntegrityError("not unique"), None),
        (ZeroDivisionError(), None),
        (None, None),
    ],
)
def test_busy_and_full_are_told_apart_from_faults(error: BaseException | None, expected: Trouble | None) -> None:
    assert trouble_of(error) is expected


def test_an_io_error_is_a_full_disk_where_nothing_is_free(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "LEAST_FREE", 2**62)

    assert trouble_of(of_sqlite(sqlite3.SQLITE_IOERR_SHMSIZE)) is FULL


def test_what_a_full_disk_left_locked_is_a_full_disk() -> None:
    error = of_sqlite(sqlite3.SQLITE_BUSY)
    error.__context__ = OSError(errno.ENOSPC, "No space left on device")  # that was being handled

    assert trouble_of(error) is FULL


@pytest.mark.django_db
def test_a_job_says_that_the_disk_was_full_and_is_tried_again() -> None:
    job_id = jobs.open_job("digest", now=timezone.now())

    def work(_: JobRun) -> str:
        raise full_disk()

    assert jobs.perform(job_id, work)

    ended = JobRecord.objects.get(pk=job_id)
    assert ended.state == "failed" and ended.can_retry
    assert ended.outcome.startswith("The disk is full:") and ended.outcome.endswith("press Retry.")


@pytest.mark.django_db
@pytest.mark.parametrize("failures", [2, None])
def test_the_end_of_a_job_is_written_as_soon_as_that_is_possible(
    failures: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "END_SECONDS", 60.0 if failures else 0.0)
    finish = JobRun.finish
    tries: list[str] = []

    def sometimes(run: JobRun, state: str, outcome: str, **named: Any) -> None:
        tries.append(state)
        if failures is None or len(tries) <= failures:
            raise full_disk()
        finish(run, state, outcome, **named)

    monkeypatch.setattr(JobRun, "finish", sometimes)
    job_id = jobs.open_job("digest", now=timezone.now())
    if failures is None:
        with pytest.raises(SystemExit):
            jobs.perform(job_id, lambda _: "Read.")
        return

    assert jobs.perform(job_id, lambda _: "Read.")
    assert tries == ["done"] * 3
    assert JobRecord.objects.get(pk=job_id).state == "done"


@pytest.mark.django_db
def test_a_connection_that_the_server_ended_is_left_before_the_end_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finish, left = JobRun.finish, list[str]()

    def over_the_next_one(run: JobRun, state: str, outcome: str, **named: Any) -> None:
        if not left:
            fault = InterfaceError("the connection is closed")
            raise fault from psycopg.InterfaceError("the connection is closed")
        finish(run, state, outcome, **named)

    ended = SimpleNamespace(
        vendor="sqlite", in_atomic_block=False, close_if_unusable_or_obsolete=lambda: left.append("left")
    )
    monkeypatch.setattr(jobs, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "connection", ended)
    monkeypatch.setattr(JobRun, "finish", over_the_next_one)
    job_id = jobs.open_job("digest", now=timezone.now())

    assert jobs.perform(job_id, lambda _: "Read.")
    assert left == ["left"]
    assert JobRecord.objects.get(pk=job_id).state == "done"


@pytest.mark.django_db
def test_jobs_beside_an_idle_worker_are_counted() -> None:
    now = timezone.now()
    old = now - timedelta(minutes=3)
    for kind in ("digest", "replay", "send_webhook"):  # a webhook waits until it is due
        jobs.open_job(kind, now=old)
    jobs.open_job("digest", now=now)
    assert left_waiting(now=now) == 2

    at_work = jobs.open_job("digest", now=old)
    JobRecord.objects.filter(pk=at_work).update(state="running", started_at=old, heartbeat_at=old)
    assert left_waiting(now=now) == 0

    JobRecord.objects.filter(pk=at_work).update(state="done", finished_at=old)
    assert left_waiting(now=now) == 2
