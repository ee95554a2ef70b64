"""Messages to workers: sent once the row is committed, found again when they are lost."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from contextviz import tasks
from contextviz.services import ingest, jobs, retrieve
from contextviz.store.models import JobRecord
from contextviz.store.models.job import JOB_KINDS
from contextviz.store.queries import jobs as queries
from tests.services.building import NOW, chunked, claude_lines

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    for kind, task in tasks.TASKS.items():
        monkeypatch.setattr(task, "delay", lambda kind=kind, **_: names.append(kind))
    return names


def test_every_kind_of_job_has_a_task() -> None:
    assert set(tasks.TASKS) == set(JOB_KINDS)


def test_an_upload_is_read_by_the_task_that_is_enqueued_on_commit(
    data_dir: Path, django_capture_on_commit_callbacks: Any
) -> None:
    batch = ingest.open_batch(now=NOW)
    ingest.receive(chunked(claude_lines(2).encode()), "a.jsonl", batch_id=batch, now=NOW)
    with django_capture_on_commit_callbacks(execute=True):
        job_id = ingest.finish_batch(batch, now=NOW)
        assert job_id is not None
        transaction.on_commit(partial(tasks.enqueue, job_id))

    assert queries.get_job(job_id).state == "done"


def test_an_unknown_argument_does_not_break_a_task() -> None:
    job_id = retrieve.open_retrieve("f" * 24, now=NOW)
    tasks.run_retrieve_original(job_id=str(job_id), added_by_a_later_version=True)
    assert queries.get_job(job_id).state == "done"


def test_a_starting_worker_enqueues_what_waits_and_what_the_dead_left(sent: list[str]) -> None:
    waiting = jobs.open_job("expand_summary", now=NOW)
    left = jobs.open_job("delete_session", now=NOW + timedelta(seconds=1))
    _leave(left)

    tasks.recover(include_queued=True)

    assert sent == ["expand_summary", "delete_session"]
    assert {queries.get_job(one).state for one in (waiting, left)} == {"queued"}


def test_the_regular_look_leaves_what_only_waits(sent: list[str]) -> None:
    jobs.open_job("expand_summary", now=timezone.now())
    tasks.recover()
    assert sent == []


def test_the_regular_look_tells_again_of_what_waits_for_long(sent: list[str]) -> None:
    for _ in range(jobs.MOST_LATE + 5):
        jobs.open_job("expand_summary", now=NOW)
    jobs.open_job("send_webhook", now=NOW)  # waits until it is due
    tasks.recover()
    assert sent == ["expand_summary"] * jobs.MOST_LATE


def _leave(job_id: UUID) -> None:
    JobRecord.objects.filter(pk=job_id).update(state="running", owner="", heartbeat_at=NOW, attempts=1)
