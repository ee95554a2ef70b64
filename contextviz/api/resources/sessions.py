"""Sessions: the list, one, what was recorded of it, its deletion."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router

from contextviz.api import cursors
from contextviz.api.access import session_decide, session_read
from contextviz.api.errors import Refused
from contextviz.api.params import (
    USUAL_ITEMS,
    Cursor,
    Limit,
    SessionId,
    Words,
    opening,
    operation,
    reading,
)
from contextviz.api.replies import job_opened, one, page
from contextviz.api.schemas.sessions import Run, Session, SessionDetail, detail_of, run_of, session_of
from contextviz.api.shapes import JobOpened, PageOf
from contextviz.services.delete import open_delete
from contextviz.store.queries import sessions
from contextviz.store.values import LibraryFilter

router = Router(tags=["sessions"])
KIND = "sessions"


@router.get("/sessions", **operation("read", reply=PageOf[Session], errors=(422,)))
def list_sessions(
    request: HttpRequest,
    search: Words = "",
    format: Words = "",
    agent: Words = "",
    has_compactions: bool = False,
    has_problems: bool = False,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """Sessions, the newest first and those without a time last. `search` looks in title, id, agent, model and folder;
    `since` and `until` at the end of a session (else its start, else when it was read); a time without zone is UTC."""
    after = cursors.read_session_place(KIND, cursor)
    chosen = LibraryFilter(
        search=search,
        format=format,
        agent=agent,
        has_compactions=has_compactions,
        has_problems=has_problems,
        since=_utc("since", since),
        until=_utc("until", until),
    )
    found = sessions.sessions_after(chosen, after=after, limit=limit + 1)
    return page(
        found,
        limit=limit,
        build=lambda pair: session_of(pair[0]),
        cursor=lambda pair: cursors.write(KIND, *pair[1]),
    )


def _utc(name: str, at: datetime | None) -> datetime | None:
    """The instant in UTC; a time without a zone is taken to be UTC."""
    try:
        return at if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        sentence = "this time is outside of what can be compared; leave it out"
        raise Refused(422, f"{name}: {sentence}", fields=((name, sentence),)) from None


@router.get("/sessions/{session_id}", **reading(SessionDetail))
def get_session(request: HttpRequest, session_id: SessionId) -> HttpResponse:
    """One session with the files that it is read from, and what its client's own total has beyond the calls."""
    row = session_read(request, session_id)
    return one(detail_of(row, sessions.sources(session_id), sessions.client_total(session_id)))


@router.delete("/sessions/{session_id}", **opening(JobOpened))
def delete_session(request: HttpRequest, session_id: SessionId) -> HttpResponse:
    """Delete a session with every text and file that only it uses, as a job. From now on nothing shows it."""
    session_decide(request, session_id)
    with transaction.atomic():
        return job_opened(open_delete(session_id, now=timezone.now()))


@router.get("/sessions/{session_id}/runs/0", **reading(Run))
def get_recorded_run(request: HttpRequest, session_id: SessionId) -> HttpResponse:
    """Run 0: what was recorded."""
    return one(run_of(session_read(request, session_id)))
