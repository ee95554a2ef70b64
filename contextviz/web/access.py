"""The one door to every object that a page shows: the object, or a 404 with a sentence.

Queries have the viewer's eyes already (store.viewing), so a private session of somebody else is not there. What is
decided here is what may be changed.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest

from contextviz.services.accounts.privacy import may_decide
from contextviz.store.queries import jobs, sessions
from contextviz.store.values import JobRow, NotAllowed, SessionDetail, SessionRow

NOT_YOURS = "Only whoever brought this session, or an admin, may do this."


def session_read(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that this person may see; raises NotFound (shown as a 404)."""
    return sessions.get_session(session_id)


def session_detail_read(request: HttpRequest, session_id: int) -> SessionDetail:
    """A session with its detail; raises NotFound (shown as a 404)."""
    return sessions.session_detail(session_id)


def session_write(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that this person may work on; raises NotFound (shown as a 404)."""
    return sessions.get_session(session_id)


def session_decide(request: HttpRequest, session_id: int) -> SessionRow:
    """A session that this person may delete, hide or keep; raises NotFound (a 404), NotAllowed (a 403)."""
    row = sessions.get_session(session_id)
    if not may_decide(row):
        raise NotAllowed(NOT_YOURS)
    return row


def job_read(request: HttpRequest, job_id: UUID) -> JobRow:
    """A job that this person may see; raises NotFound (shown as a 404)."""
    return jobs.get_job(job_id)
