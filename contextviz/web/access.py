"""The one door to every object that a page shows: the object, or a 404 with a sentence."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest

from contextviz.store.queries import jobs, sessions
from contextviz.store.values import JobRow, SessionDetail, SessionRow


def session_read(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that this person may see; raises NotFound (shown as a 404)."""
    return sessions.get_session(session_id)


def session_detail_read(request: HttpRequest, session_id: int) -> SessionDetail:
    """A session with its detail; raises NotFound (shown as a 404)."""
    return sessions.session_detail(session_id)


def session_write(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that this person may change or delete; raises NotFound (shown as a 404)."""
    return sessions.get_session(session_id)


def job_read(request: HttpRequest, job_id: UUID) -> JobRow:
    """A job that this person may see; raises NotFound (shown as a 404)."""
    return jobs.get_job(job_id)
