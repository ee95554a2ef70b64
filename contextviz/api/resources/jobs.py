"""Jobs: the list, one with its log and result, try again, stop."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, get_args

import orjson
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import P, QueryEx, Router

from contextviz.api import cursors
from contextviz.api.access import job_read, job_write
from contextviz.api.errors import Refused
from contextviz.api.params import BIGGEST, USUAL_ITEMS, Cursor, JobId, Limit, opening, operation, reading
from contextviz.api.replies import job_opened, one, page
from contextviz.api.schemas.work import Job, JobDetail, LogLine, job_detail_of, job_of, line_of
from contextviz.api.shapes import JobOpened, PageOf
from contextviz.events.masking import without_secrets
from contextviz.services import jobs as service
from contextviz.store.queries import jobs
from contextviz.store.values import JobKind

router = Router(tags=["jobs"])
KINDS = get_args(JobKind)
ANY_SCOPE = ("read", "ingest", "operate")
SessionFilter = QueryEx[int | None, P(ge=1, le=BIGGEST, description="Jobs of this session alone")]


class JobState(StrEnum):
    """How far a job is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@router.get("/jobs", **operation("read", "operate", reply=PageOf[Job], errors=(422,)))
def list_jobs(
    request: HttpRequest,
    kind: str = "",
    state: JobState | None = None,
    session: SessionFilter = None,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """Jobs, the newest first."""
    after = cursors.read_time_and_id("jobs", cursor)
    chosen = "" if state is None else state.value
    found = jobs.jobs_after(after=after, limit=limit + 1, kind=_kind(kind), state=chosen, session_id=session)
    return page(found, limit=limit, build=job_of, cursor=lambda row: cursors.write("jobs", row.created_at, row.id))


def _kind(name: str) -> str:
    if name and name not in KINDS:
        sentence = f"there is no such kind of job; there are {', '.join(KINDS)}"
        raise Refused(422, f"kind: {sentence}", fields=(("kind", sentence),))
    return name


@router.get("/jobs/{job_id}", **reading(JobDetail, scopes=ANY_SCOPE))
def get_job(request: HttpRequest, job_id: JobId) -> HttpResponse:
    """One job with what came of it."""
    return one(job_detail_of(job_read(request, job_id)))


_RESULT = reading(None, scopes=("read", "operate"))
_RESULT["openapi_extra"]["responses"] = {
    200: {"description": "The result as a download", "content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get("/jobs/{job_id}/result", **_RESULT)
def download_job_result(request: HttpRequest, job_id: JobId) -> HttpResponse:
    """Everything that came of a job, as a download of any size; values that look like secrets are masked."""
    row = job_read(request, job_id)
    response = HttpResponse(orjson.dumps(_masked(row.result)), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{row.id}.json"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, dict):
        return {without_secrets(str(name)): _masked(one) for name, one in value.items()}
    return [_masked(one) for one in value] if isinstance(value, list) else value


@router.get("/jobs/{job_id}/log", **reading(PageOf[LogLine], scopes=ANY_SCOPE))
def list_job_log(
    request: HttpRequest, job_id: JobId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """The lines of a job's log in order. To follow a running job ask again with the last cursor you had."""
    after = cursors.read_number("log", cursor)
    job_read(request, job_id)
    found = jobs.job_log(job_id, after=after, limit=limit + 1)
    return page(found, limit=limit, build=line_of, cursor=lambda line: cursors.write("log", line.number))


@router.post("/jobs/{job_id}/retry", **opening(JobOpened, errors=(409,)))
def retry_job(request: HttpRequest, job_id: JobId) -> HttpResponse:
    """Queue a failed or cancelled job again."""
    row = job_write(request, job_id)
    with transaction.atomic():
        if not service.retry(job_id):
            reason = "another try would end the same way" if row.state in ("failed", "cancelled") else "it cannot"
            raise Refused(409, f"This job is {row.state}: {reason}. Only a failed or cancelled one is tried again.")
        return job_opened(job_id)


@router.post("/jobs/{job_id}/cancel", **opening(Job, errors=(409,)))
def cancel_job(request: HttpRequest, job_id: JobId) -> HttpResponse:
    """Ask a job to stop: at once where it waits, at its next step where it runs."""
    row = job_write(request, job_id)
    if not service.cancel(job_id, now=timezone.now()):
        raise Refused(409, f"This job is {row.state} already; there is nothing to stop.")
    return one(job_of(job_read(request, job_id)), status=202)
