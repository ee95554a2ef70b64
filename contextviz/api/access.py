"""The one door to every object of the API: the object, or a 404 with a sentence.

Queries have the caller's eyes already (store.viewing), so a private session of somebody else is not there.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest

from contextviz.services.accounts.privacy import may_decide
from contextviz.store.queries import jobs, runs, sessions
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import JobRow, NotAllowed, SessionRow

NOT_YOURS = "Only whoever brought this session, or an admin, may delete it."


def session_read(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that the caller may see; raises NotFound."""
    return sessions.get_session(session_id)


def session_decide(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that the caller may delete; raises NotFound, NotAllowed."""
    row = sessions.get_session(session_id)
    if not may_decide(row):
        raise NotAllowed(NOT_YOURS)
    return row


def run_read(request: HttpRequest, run_id: UUID) -> RunRow:
    """A replay that the caller may see; raises NotFound."""
    return runs.get_run(run_id)


def job_read(request: HttpRequest, job_id: UUID) -> JobRow:
    """A job that the caller may see; raises NotFound."""
    return jobs.get_job(job_id)


def job_write(request: HttpRequest, job_id: UUID) -> JobRow:
    """A job that the caller may try again or stop; raises NotFound."""
    return jobs.get_job(job_id)
