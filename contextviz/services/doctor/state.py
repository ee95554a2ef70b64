"""Jobs that do not end, uploads that did not arrive, workers that are silent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q

from contextviz.services.owners import is_gone
from contextviz.store.models import ArtifactRecord, JobRecord, SessionRecord, TextPackRecord, UploadRecord, WorkerRecord

LONG_WAIT = timedelta(minutes=10)
IDLE_WAIT = timedelta(minutes=2)  # a worker is told of every job within that, whatever became of its message
SILENT = timedelta(seconds=60)
LISTED = 20


@dataclass(frozen=True, slots=True)
class StuckJob:
    """A job that nobody works on although it should be: `why` in words."""

    id: UUID
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class State:
    """Counts and findings. `artifacts` are raw files, those `in_place` among them are read where they lie and not kept
    in the data folder. `left_waiting`: see the function of that name. `last_beat` is the newest sign of life of any
    worker, None where there never was one."""

    sessions: int
    artifacts: int
    artifacts_in_place: int
    failed_jobs: int
    waiting_jobs: int
    left_waiting: int
    stuck: list[StuckJob]
    interrupted_uploads: int
    unindexed_packs: int
    living_workers: int
    last_beat: datetime | None


def state(*, now: datetime) -> State:
    """The state of things; raises DatabaseError where the tables cannot be read. A dozen small queries."""
    workers = list(WorkerRecord.objects.values_list("name", "heartbeat_at"))
    alive = [name for name, beat in workers if now - beat < SILENT and not is_gone(name, heartbeat_at=beat, now=now)]
    return State(
        sessions=SessionRecord.objects.count(),
        artifacts=ArtifactRecord.objects.count(),
        artifacts_in_place=ArtifactRecord.objects.exclude(path="").count(),
        failed_jobs=JobRecord.objects.filter(state="failed").count(),
        waiting_jobs=JobRecord.objects.filter(state="queued").count(),
        left_waiting=left_waiting(now=now),
        stuck=_stuck(now),
        interrupted_uploads=UploadRecord.objects.filter(state="interrupted", is_dismissed=False).count(),
        unindexed_packs=TextPackRecord.objects.filter(is_indexed=False).count(),
        living_workers=len(alive),
        last_beat=max((beat for _, beat in workers), default=None),
    )


def left_waiting(*, now: datetime) -> int:
    """How many jobs have waited for two minutes while nothing was done at all: no worker takes them. Webhooks wait on
    purpose, until they are due. One query."""
    before = now - IDLE_WAIT
    waiting = Q(state="queued", created_at__lt=before) & ~Q(kind="send_webhook")
    at_work = Q(state="running") | Q(started_at__gt=before) | Q(finished_at__gt=before)
    found = JobRecord.objects.aggregate(waiting=Count("pk", filter=waiting), at_work=Count("pk", filter=at_work))
    return 0 if found["at_work"] else int(found["waiting"])


def _stuck(now: datetime) -> list[StuckJob]:
    found = []
    for job in JobRecord.objects.filter(state__in=["queued", "running"]).order_by("created_at", "id"):
        if job.state == "running" and is_gone(job.owner, heartbeat_at=job.heartbeat_at, now=now):
            found.append(StuckJob(job.pk, job.kind, "the process that did it is gone"))
        elif job.state == "queued" and now - job.created_at > LONG_WAIT:
            minutes = int((now - job.created_at).total_seconds() // 60)
            found.append(StuckJob(job.pk, job.kind, f"it has waited for {minutes:,} minutes"))
        if len(found) == LISTED:
            break
    return found
