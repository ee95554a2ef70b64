"""Model calls and what each was given."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, Number, SessionId, Unmasked, WithText, reading
from contextviz.api.replies import Placed, one
from contextviz.api.schemas.calls import Call, CallSnapshot, Item, Snapshot, call_of, item_of, snapshot_of, window_of
from contextviz.api.shapes import PageOf
from contextviz.api.unmasking import bodies_of
from contextviz.services.budget.prices import price_table
from contextviz.services.figures import composition_of
from contextviz.store.queries import calls, snapshots
from contextviz.store.values import NotFound

router = Router(tags=["calls"])


@router.get("/sessions/{session_id}/calls", **reading(PageOf[Call]))
def list_calls(
    request: HttpRequest, session_id: SessionId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """The session's model calls, sub-agents' included, in the order they were made."""
    asked = Placed.asked("calls", limit, cursor)
    session_read(request, session_id)
    found = calls.calls(session_id, start=asked.start, stop=asked.stop)
    return asked.reply(found, partial(call_of, prices=price_table()), at=attrgetter("index"))


@router.get("/sessions/{session_id}/calls/{number}", **reading(Call))
def get_call(request: HttpRequest, session_id: SessionId, number: Number) -> HttpResponse:
    """One call by the number that the pages show."""
    session_read(request, session_id)
    return one(call_of(calls.get_call(session_id, number - 1), prices=price_table()))


@router.get("/sessions/{session_id}/calls/{number}/snapshot", **reading(CallSnapshot))
def get_call_snapshot(request: HttpRequest, session_id: SessionId, number: Number) -> HttpResponse:
    """What a call's window was made of: tokens by category, and the signed rest to the reported prompt."""
    session_read(request, session_id)
    composition = composition_of(session_id, number - 1)
    return one(window_of(composition, snapshots.find_of_call(session_id, number - 1)))


@router.get("/sessions/{session_id}/calls/{number}/snapshot/items", **reading(PageOf[Item]))
def list_call_items(
    request: HttpRequest,
    session_id: SessionId,
    number: Number,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """Exactly what a call was given, item by item, in order."""
    asked = Placed.asked("items", limit, cursor)
    session_read(request, session_id)
    window = snapshots.window_of_call(session_id, number - 1, start=asked.start, stop=asked.stop)
    if window is None:
        raise NotFound(f"The window of call {number} of session {session_id} is not known, or there is no such call.")
    refs = (one.item.text for one in window.items[:limit])
    what = f"session {session_id}, items of call {number}"
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    return asked.reply(window.items, lambda item: item_of(item, bodies), at=attrgetter("place"), bodies=bodies)


@router.get("/sessions/{session_id}/snapshots", **reading(PageOf[Snapshot]))
def list_snapshots(
    request: HttpRequest, session_id: SessionId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """The windows of the session's calls without their items, in order."""
    asked = Placed.asked("snapshots", limit, cursor)
    session_read(request, session_id)
    found = snapshots.snapshots(session_id, start=asked.start, stop=asked.stop)
    return asked.reply(found, snapshot_of, at=attrgetter("index"))
