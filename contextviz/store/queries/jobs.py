"""Jobs and uploads."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from uuid import UUID

from contextviz.store.models import JobLogRecord, JobRecord, UploadRecord
from contextviz.store.values import JobLine, JobRow, NotFound, Page, UploadRow
from contextviz.store.viewing import seen_work

_COLUMNS = tuple(field.name for field in fields(JobRow))
_UPLOAD_COLUMNS = tuple(field.name for field in fields(UploadRow))


def jobs(
    *, page: int = 1, size: int = 50, kind: str = "", state: str = "", session_id: int | None = None
) -> Page[JobRow]:
    """One page of jobs, the newest first. Two queries."""
    found = JobRecord.objects.filter(seen_work())
    if kind:
        found = found.filter(kind=kind)
    if state:
        found = found.filter(state=state)
    if session_id is not None:
        found = found.filter(session_id=session_id)
    total = found.count()
    number = max(1, min(page, -(-total // size) or 1))
    start = (number - 1) * size
    listed = found.order_by("-created_at", "id").values(*_COLUMNS)[start : start + size]
    return Page([JobRow(**values) for values in listed], number, size, total)


def jobs_after(
    *, after: tuple[datetime, UUID] | None, limit: int, kind: str = "", state: str = "", session_id: int | None = None
) -> list[JobRow]:
    """Jobs in the same order, behind the place `after` (a job's creation and id). One query, however far in."""
    found = JobRecord.objects.filter(seen_work())
    if kind:
        found = found.filter(kind=kind)
    if state:
        found = found.filter(state=state)
    if session_id is not None:
        found = found.filter(session_id=session_id)
    if after is not None:
        at, key = after
        found = found.filter(created_at__lte=at).exclude(created_at=at, pk__lte=key)
    return [JobRow(**values) for values in found.order_by("-created_at", "id").values(*_COLUMNS)[:limit]]


def get_job(job_id: UUID | str) -> JobRow:
    """One job; raises NotFound."""
    try:
        key = UUID(str(job_id))
    except ValueError:
        key = UUID(int=0)
    values = JobRecord.objects.filter(seen_work(), pk=key).values(*_COLUMNS).first()
    if values is None:
        raise NotFound("There is no such job here.")
    return JobRow(**values)


def job_log(job_id: UUID | str, *, after: int = 0, limit: int = 500) -> list[JobLine]:
    """Lines of a job's log with a number above `after`, in order."""
    found = JobLogRecord.objects.filter(job_id=UUID(str(job_id)), pk__gt=after).order_by("pk")
    return [JobLine(*row) for row in found.values_list("pk", "at", "text")[:limit]]


def unfinished_jobs(limit: int = 50) -> list[JobRow]:
    """Jobs that wait or run, the oldest first. One query on a small index."""
    found = JobRecord.objects.filter(seen_work(), state__in=["queued", "running"]).order_by("created_at", "id")
    return [JobRow(**values) for values in found.values(*_COLUMNS)[:limit]]


def uploads_to_tell(limit: int = 50) -> list[UploadRow]:
    """Files whose upload was cut off, each with a sentence; until a person dismisses them."""
    found = UploadRecord.objects.filter(seen_work("batch__"), state="interrupted", is_dismissed=False).order_by(
        "-started_at", "id"
    )
    return [UploadRow(**values) for values in found.values(*_UPLOAD_COLUMNS)[:limit]]


def uploads_of(batch_id: UUID | str) -> list[UploadRow]:
    """The files of one batch, in the order they came."""
    found = UploadRecord.objects.filter(seen_work("batch__"), batch_id=UUID(str(batch_id))).order_by("started_at", "id")
    return [UploadRow(**values) for values in found.values(*_UPLOAD_COLUMNS)]
