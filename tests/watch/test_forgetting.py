"""Removing the jobs of followed files: all that are due, a few at a time, without what they say of their files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from weakref import ReferenceType, ref

import pytest
from django.db.models import Model
from django.db.models.signals import post_init
from django.utils import timezone

from contextviz import tasks
from contextviz.services.watching import forget_done, opening
from contextviz.store.models import JobRecord, UploadBatchRecord, UploadRecord

pytestmark = pytest.mark.django_db
JOBS, FILES = 25, 3
HEAVY = ("params", "result", "session_ids", "source_path")


@dataclass(slots=True)
class Seen:
    """Rows that became objects: which of their heavy columns came along, and how many were there at once."""

    heavy: set[str] = field(default_factory=set)
    alive: list[ReferenceType[Model]] = field(default_factory=list)
    most: int = 0

    def note(self, instance: Model, **_: Any) -> None:
        """A row became an object."""
        self.heavy.update(name for name in HEAVY if name in instance.__dict__)
        self.alive = [*(one for one in self.alive if one() is not None), ref(instance)]
        self.most = max(self.most, len(self.alive))


@contextmanager
def _rows_made() -> Iterator[Seen]:
    seen = Seen()
    for model in (JobRecord, UploadBatchRecord, UploadRecord):
        post_init.connect(seen.note, sender=model, weak=False)
    try:
        yield seen
    finally:
        for model in (JobRecord, UploadBatchRecord, UploadRecord):
            post_init.disconnect(seen.note, sender=model)


def _done_jobs(count: int) -> None:
    at = timezone.now() - timedelta(hours=1)
    names = [f"/w/{number}.jsonl" for number in range(FILES)]
    for _ in range(count):
        params, result = {"followed": True, "paths": names}, {"files": [{"path": name} for name in names]}
        job = JobRecord.objects.create(
            kind="digest", state="done", params=params, result=result, created_at=at, finished_at=at
        )
        batch = UploadBatchRecord.objects.create(job=job, created_at=at, finished_at=at, session_ids=[1, 2])
        for name in names:
            UploadRecord.objects.create(batch=batch, name=name, state="received", source_path=name, started_at=at)


def test_many_jobs_are_forgotten_without_being_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "IN_TRANSACTION", 10)
    _done_jobs(JOBS)
    with _rows_made() as seen:
        assert forget_done(now=timezone.now()) == JOBS

    for model in (JobRecord, UploadBatchRecord, UploadRecord):
        assert not model.objects.exists()
    assert 0 < seen.most <= 2 * opening.IN_TRANSACTION, "a transaction's jobs, and its batches before them"
    assert seen.heavy == set(), "what a job read and found is as large as its files are many"


def test_only_so_many_jobs_are_forgotten_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_AT_ONCE", 15)
    monkeypatch.setattr(opening, "IN_TRANSACTION", 10)
    _done_jobs(JOBS)

    assert [forget_done(now=timezone.now()) for _ in range(3)] == [15, 10, 0]


def test_what_removing_took_is_given_back_once_the_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    _done_jobs(2)
    done: list[str] = []
    monkeypatch.setattr("contextviz.tasks.connections.close_all", lambda: done.append("closed"))
    monkeypatch.setattr(tasks, "give_back", lambda: done.append(f"given back with {JobRecord.objects.count()} left"))

    tasks._remove_old_here()

    assert done == ["closed", "given back with 0 left"]
