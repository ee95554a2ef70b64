"""Topics and their events, of one session's conversation map or of all."""

from __future__ import annotations

from contextviz.events.topic import Topic, TopicEvent
from contextviz.store.models import SessionRecord, TopicEventRecord, TopicRecord
from contextviz.store.rows.topic import TOPIC_EVENTS, TOPICS
from contextviz.store.viewing import seen_sessions


def topics(session_id: int, *, start: int = 0, stop: int | None = None) -> list[Topic]:
    """The topics of a session, in the map's order, from place `start` up to but not `stop`. One query."""
    found = TopicRecord.objects.filter(session_id=session_id, index__gte=start).order_by("index")
    if stop is not None:
        found = found.filter(index__lt=stop)
    return [TOPICS.to_event(row) for row in found.values_list(*TOPICS.columns)]


def topic_events(session_id: int, *, start: int = 0, stop: int | None = None) -> list[TopicEvent]:
    """Switches, spawns and compactions, in the map's order, from place `start` up to but not `stop`. One query."""
    found = TopicEventRecord.objects.filter(session_id=session_id, index__gte=start).order_by("index")
    if stop is not None:
        found = found.filter(index__lt=stop)
    return [TOPIC_EVENTS.to_event(row) for row in found.values_list(*TOPIC_EVENTS.columns)]


def sessions_with_topics() -> list[int]:
    """The ids of sessions that have a conversation map, the newest first."""
    found = SessionRecord.objects.filter(seen_sessions(), topic_count__gt=0).exclude(status="deleting")
    return list(found.order_by("-sorted_at", "-id").values_list("pk", flat=True)[:200])
