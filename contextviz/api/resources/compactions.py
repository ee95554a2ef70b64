"""Compactions, and what each took away."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contextviz.analysis.composition import shares_of
from contextviz.analysis.difference import difference
from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, Number, SessionId, Unmasked, WithText, reading
from contextviz.api.replies import Placed, one
from contextviz.api.schemas.compactions import (
    FATES,
    ChangedItem,
    Compaction,
    CompactionDetail,
    Near,
    Told,
    changed_of,
    compaction_of,
    detail_of,
)
from contextviz.api.shapes import PageOf
from contextviz.api.unmasking import bodies_of
from contextviz.events.compaction import Compaction as CompactionEvent
from contextviz.services.figures import compositions_at
from contextviz.store.queries import calls, snapshots
from contextviz.store.values import NotFound, Window

router = Router(tags=["compactions"])


class FateName(StrEnum):
    """What became of an item."""

    DROPPED = "dropped"
    KEPT = "kept"
    NEW = "new"


@router.get("/sessions/{session_id}/compactions", **reading(PageOf[Compaction]))
def list_compactions(
    request: HttpRequest,
    session_id: SessionId,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The session's compactions in order, with their summaries' texts where asked for."""
    asked = Placed.asked("compactions", limit, cursor)
    session_read(request, session_id)
    found = calls.compactions(session_id, start=asked.start, stop=asked.stop)
    refs = (event.summary for event in found[:limit] if event.summary)
    what = f"session {session_id}, summaries of compactions"
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    near = _near(session_id, found[:limit])
    return asked.reply(found, lambda event: compaction_of(event, bodies, near), bodies=bodies)


@router.get("/sessions/{session_id}/compactions/{number}", **reading(CompactionDetail))
def get_compaction(
    request: HttpRequest, session_id: SessionId, number: Number, text: WithText = False, unmasked: Unmasked = False
) -> HttpResponse:
    """One compaction, and how much it dropped, kept and added by category."""
    session_read(request, session_id)
    event = calls.get_compaction(session_id, number)
    what = f"session {session_id}, summary of compaction {number}"
    refs = [event.summary] if event.summary else []
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    told = _difference(session_id, event)
    return one(detail_of(event, bodies, _near(session_id, [event]), told), bodies=bodies)


@router.get("/sessions/{session_id}/compactions/{number}/items", **reading(PageOf[ChangedItem]))
def list_compaction_items(
    request: HttpRequest,
    session_id: SessionId,
    number: Number,
    fate: FateName = FateName.DROPPED,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The items that a compaction dropped (or kept, or that are new after it), in their order."""
    asked = Placed.asked(f"compaction {fate.value}", limit, cursor)
    session_read(request, session_id)
    told = _difference(session_id, calls.get_compaction(session_id, number))
    if told.found is None:
        raise NotFound(told.note or "")
    chosen = [change for change in told.found.changes if FATES[change.kind] == fate.value][asked.start : asked.stop]
    refs = (change.item.text for change in chosen[:limit])
    what = f"session {session_id}, items of compaction {number}"
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    return asked.reply(chosen, lambda change: changed_of(change, bodies), bodies=bodies)


def _difference(session_id: int, event: CompactionEvent) -> Told:
    """What became of the window's items; else why that cannot be told. Eleven queries, however long it is."""
    before, after = _window(session_id, event.before_call), _window(session_id, event.after_call)
    if before is None:
        return Told(
            note=f"The window right before compaction {event.number} is not known, so what left cannot be told."
        )
    if after is None:
        return Told(
            note=f"The window right after compaction {event.number} is not known, so what stayed cannot be told."
        )
    made = compositions_at(session_id, [before.snapshot.call_index, after.snapshot.call_index])
    first, second = made[before.snapshot.call_index], made[after.snapshot.call_index]
    items = ([one.item for one in before.items], [one.item for one in after.items])
    tokens = (shares_of(items[0], first).by_place, shares_of(items[1], second).by_place)
    return Told(difference(*items, tokens=tokens), first, second)


def _window(session_id: int, call_index: int | None) -> Window | None:
    return None if call_index is None else snapshots.window_of_call(session_id, call_index)


def _near(session_id: int, events: Sequence[CompactionEvent]) -> Near:
    """The calls and snapshots on both sides of some compactions, by call index. Two queries."""
    indexes = {index for event in events for index in (event.before_call, event.after_call) if index is not None}
    return calls.calls_at(session_id, indexes), snapshots.snapshots_of_calls(session_id, indexes)
