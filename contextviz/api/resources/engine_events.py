"""What context engines did or decided in a session."""

from __future__ import annotations

from operator import itemgetter

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx, Router

from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, SessionId, reading
from contextviz.api.replies import Placed
from contextviz.api.schemas.engine_events import EngineEvent, engine_event_of
from contextviz.api.shapes import PageOf
from contextviz.events.engine_event import EventType
from contextviz.store.queries import engine_events

router = Router(tags=["engine events"])
OfType = QueryEx[EventType | None, P(description="Only events of this type")]


@router.get("/sessions/{session_id}/engine-events", **reading(PageOf[EngineEvent]))
def list_engine_events(
    request: HttpRequest,
    session_id: SessionId,
    type: OfType = None,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """What context engines did or decided, in the order of time: evaluations, those too after which nothing happened,
    assemblies, retrievals, errors. `type` keeps those of one type."""
    asked = Placed.asked("engine-events", limit, cursor)
    session_read(request, session_id)
    found = engine_events.placed(session_id, start=asked.start, limit=limit + 1, type=type)
    return asked.reply(found, lambda pair: engine_event_of(*pair), at=itemgetter(0))
