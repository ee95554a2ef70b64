"""What context engines did or decided in a session: by place, and how many of each type."""

from __future__ import annotations

from django.db.models import Count

from contextviz.events.engine_event import EngineEvent
from contextviz.store.models import EngineEventRecord
from contextviz.store.rows.engine_event import ENGINE_EVENTS


def engine_events(
    session_id: int, *, start: int = 0, stop: int | None = None, type: str | None = None
) -> list[EngineEvent]:
    """Events in the order of time, from place `start` up to but not `stop` (of those of one `type`, where one is
    named). One query."""
    found = EngineEventRecord.objects.filter(session_id=session_id).order_by("index")
    if type is not None:
        found = found.filter(type=type)[start:stop]
    else:
        found = found.filter(index__gte=start)
        if stop is not None:
            found = found.filter(index__lt=stop)
    return [ENGINE_EVENTS.to_event(row) for row in found.values_list(*ENGINE_EVENTS.columns)]


def placed(session_id: int, *, start: int, limit: int, type: str | None = None) -> list[tuple[int, EngineEvent]]:
    """The first `limit` events from place `start` on, with their places; of one `type` where one is named. One
    query."""
    found = EngineEventRecord.objects.filter(session_id=session_id, index__gte=start).order_by("index")
    if type is not None:
        found = found.filter(type=type)
    rows = found.values_list("index", *ENGINE_EVENTS.columns)[:limit]
    return [(row[0], ENGINE_EVENTS.to_event(row[1:])) for row in rows]


def counts_by_type(session_id: int) -> dict[str, int]:
    """How many events of each type a session has, the most frequent first. One query."""
    found = EngineEventRecord.objects.filter(session_id=session_id).values_list("type")
    return dict(found.annotate(many=Count("pk")).order_by("-many", "type"))


def artefacts(session_id: int, *, type: str | None = None, limit: int) -> list[EngineEvent]:
    """Events that were recognised in messages, in the order of time, of one `type` where one is named. One query."""
    found = EngineEventRecord.objects.filter(session_id=session_id, data__has_key="artefact").order_by("index")
    if type is not None:
        found = found.filter(type=type)
    return [ENGINE_EVENTS.to_event(row) for row in found.values_list(*ENGINE_EVENTS.columns)[:limit]]


def has_artefact(session_id: int, type: str) -> bool:
    """Whether an event of that type was recognised in a message. One query."""
    found = EngineEventRecord.objects.filter(session_id=session_id, type=type)
    return found.filter(data__has_key="artefact").exists()
