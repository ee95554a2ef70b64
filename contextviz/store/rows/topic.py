"""Topics and their events."""

from __future__ import annotations

from contextviz.events.topic import Topic, TopicEvent
from contextviz.store.models.topic import TopicEventRecord, TopicRecord
from contextviz.store.rows.table import Row, Table, pack_optional, unpack_optional

TOPIC_COLUMNS = (
    "slug", "name", "color", "status", "created_at", "last_active_at", "is_declared", "thread", "status_note",
)  # fmt: skip


def _topic_to_row(topic: Topic) -> Row:
    return (
        topic.slug, topic.name, topic.color, topic.status, topic.created_at, topic.last_active_at, topic.is_declared,
        pack_optional(topic.thread), pack_optional(topic.status_note),
    )  # fmt: skip


def _to_topic(row: Row) -> Topic:
    slug, name, color, status, created_at, last_active_at, is_declared, thread, note = row
    return Topic(
        slug, name, color or None, status or None, created_at, last_active_at, is_declared, unpack_optional(thread),
        unpack_optional(note),
    )  # fmt: skip


TOPICS = Table[Topic](TopicRecord, TOPIC_COLUMNS, _topic_to_row, _to_topic)

EVENT_COLUMNS = (
    "source_id", "kind", "topic", "at", "at_basis", "trigger", "summary", "parent", "model", "task", "duration_ms",
    "result", "artifacts", "active_topics", "source",
)  # fmt: skip


def _event_to_row(event: TopicEvent) -> Row:
    return (
        event.id, event.kind, event.topic, event.at, event.at_basis, event.trigger, event.summary, event.parent_id,
        event.model, event.task, event.duration_ms, event.result, list(event.artifacts), list(event.active_topics),
        event.source,
    )  # fmt: skip


def _to_event(row: Row) -> TopicEvent:
    (source_id, kind, topic, at, at_basis, trigger, summary, parent, model, task, duration, result, artifacts,
     active, source) = row  # fmt: skip
    return TopicEvent(
        source_id or None, kind, topic or None, at, at_basis, trigger or None, summary or None, parent or None,
        model or None, task or None, duration, result or None, artifacts, active, source,
    )  # fmt: skip


TOPIC_EVENTS = Table[TopicEvent](TopicEventRecord, EVENT_COLUMNS, _event_to_row, _to_event)
