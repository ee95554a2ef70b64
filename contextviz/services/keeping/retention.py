"""Removing what is old or too much: which sessions would go, and opening their deletion in batches."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from contextviz.services.cleaning import drop_unused_artifacts
from contextviz.services.delete import open_delete
from contextviz.services.digest.outcome import WAITING_DAYS
from contextviz.store.models import ArtifactRecord, JobRecord, SessionArtifactRecord, SessionRecord, WaitingLogRecord
from contextviz.store.values import NotFound

BATCH_SESSIONS = 25  # deletions that wait or run at a time, so that imports are not held up


@dataclass(frozen=True, slots=True)
class DueSession:
    """A session that would go. `size` is that of its raw files in bytes; `is_old`: by age, else by size."""

    id: int
    title: str
    ended_at: datetime
    size: int
    is_old: bool


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What the settings (`days`, `most_bytes`; 0: no limit) would remove, the oldest first; `total_bytes` of the raw
    files of all sessions now, each file once; `kept_count` sessions that are marked to be kept."""

    days: int
    most_bytes: int
    due: list[DueSession]
    total_bytes: int
    kept_count: int

    @property
    def freed_bytes(self) -> int:
        """The raw files of what would go; a file that another session needs as well stays."""
        return sum(one.size for one in self.due)


def plan(*, now: datetime) -> RetentionPlan:
    """What would go now. Two queries; sessions that are kept or that grow are passed by."""
    links = SessionArtifactRecord.objects.values_list("session_id", "artifact_id", "artifact__size")
    sizes: dict[int, int] = {}
    users: dict[int, set[int]] = defaultdict(set)
    files: dict[int, list[int]] = defaultdict(list)
    for session_id, artifact_id, size in links:
        sizes[artifact_id] = size
        users[artifact_id].add(session_id)
        files[session_id].append(artifact_id)
    total = left = sum(sizes.values())
    limit, days = settings.RETENTION_BYTES, settings.RETENTION_DAYS
    oldest = now - timedelta(days=days) if days else None
    due: list[DueSession] = []
    kept = 0
    rows = SessionRecord.objects.exclude(status="deleting").order_by("sorted_at", "id")
    columns = ("id", "title", "source_id", "sorted_at", "status", "is_kept")
    for number, title, source_id, at, status, is_kept in rows.values_list(*columns).iterator():
        kept += is_kept
        is_old = oldest is not None and at < oldest
        if is_kept or status == "growing" or not (is_old or (limit and left > limit)):
            continue
        freed = 0
        for artifact_id in files[number]:
            users[artifact_id].discard(number)
            freed += 0 if users[artifact_id] else sizes[artifact_id]
        left -= freed
        due.append(DueSession(number, title or source_id, at, freed, is_old))
    return RetentionPlan(days, limit, due, total, kept)


def forget_waiting_logs(*, now: datetime) -> int:
    """Remove logs that waited for their session for 30 days, or as long as sessions are kept where that is less; all of
    them where the files here are more than may be kept. How many files went."""
    waiting = WaitingLogRecord.objects.all()
    if not waiting.exists():
        return 0
    days = min(settings.RETENTION_DAYS or WAITING_DAYS, WAITING_DAYS)
    total = ArtifactRecord.objects.aggregate(size=Sum("size"))["size"] or 0
    if not (settings.RETENTION_BYTES and total > settings.RETENTION_BYTES):
        waiting = waiting.filter(since__lt=now - timedelta(days=days))
    removed, _ = waiting.delete()
    return drop_unused_artifacts() if removed else 0


def remove_due(*, now: datetime) -> list[UUID]:
    """Open the deletion of the oldest sessions that are due, a batch at a time; the jobs to enqueue."""
    if not (settings.RETENTION_DAYS or settings.RETENTION_BYTES):
        return []
    waiting = JobRecord.objects.filter(kind="delete_session", state__in=["queued", "running"]).count()
    opened = []
    for one in plan(now=now).due[: max(0, BATCH_SESSIONS - waiting)]:
        try:
            with transaction.atomic():
                opened.append(open_delete(one.id, now=now, reason="by retention"))
        except NotFound:
            continue  # another worker was quicker
    return opened
