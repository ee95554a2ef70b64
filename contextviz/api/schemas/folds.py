"""Summary nodes, topics and their events."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema

from contextviz.api.replies import Bodies
from contextviz.api.shapes import Name, Text, Tokens, Words
from contextviz.events.compaction import SummaryNode
from contextviz.events.topic import Topic as TopicValue
from contextviz.events.topic import TopicEvent as TopicEventValue

MOST_IDS = 1_000
MOST_LISTED = 100


class Summary(Schema):
    """One summary node. `tokens` is the store's own number; the text has our estimate. `made_from` counts summaries
    condensed into it, `covers` the messages it was made from directly, `consumers` summaries made from it."""

    id: Name
    kind: str
    depth: int
    stored_depth: int | None
    tokens: Tokens
    text: Text
    in_context: bool
    model: Name | None
    earliest_at: datetime | None
    latest_at: datetime | None
    created_at: datetime | None
    conversation: Name | None
    made_from_count: int
    covers_count: int
    consumers_count: int


class SummaryDetail(Summary):
    """One node with its edges, the first 1,000 of each list; an expand job gives every message under it."""

    made_from: list[Name]
    covers: list[Name]
    consumers: list[Name]


class Topic(Schema):
    """One topic of a conversation map. `thread` and `status_note` are its THREAD.md and STATUS.md."""

    slug: Name
    name: Words
    color: Name | None
    status: Name | None
    created_at: datetime | None
    last_active_at: datetime | None
    is_declared: bool
    thread: Text | None
    status_note: Text | None


class TopicEvent(Schema):
    """One event of a conversation map: a switch, a sub-agent spawned, a compaction."""

    index: int
    id: Name | None
    kind: str
    topic: Name | None
    at: datetime | None
    at_basis: str
    trigger: Words | None
    summary: Words | None
    parent_id: Name | None
    model: Name | None
    task: Words | None
    duration_ms: int | None
    result: Words | None
    artifacts: list[Words]
    active_topics: list[Name]


def summary_of(node: SummaryNode, bodies: Bodies) -> Summary:
    """A node as lists show it."""
    return Summary(**_node(node, bodies))


def detail_of(node: SummaryNode, bodies: Bodies) -> SummaryDetail:
    """A node with its edges."""
    return SummaryDetail(
        **_node(node, bodies),
        made_from=node.made_from[:MOST_IDS],
        covers=node.covers[:MOST_IDS],
        consumers=node.consumers[:MOST_IDS],
    )


def topic_of(topic: TopicValue, bodies: Bodies) -> Topic:
    """A topic as the API shows it."""
    return Topic(
        slug=topic.slug,
        name=topic.name,
        color=topic.color,
        status=topic.status,
        created_at=topic.created_at,
        last_active_at=topic.last_active_at,
        is_declared=topic.is_declared,
        thread=bodies.find(topic.thread),
        status_note=bodies.find(topic.status_note),
    )


def event_of(index: int, event: TopicEventValue) -> TopicEvent:
    """A topic event as the API shows it."""
    return TopicEvent(
        index=index,
        id=event.id,
        kind=event.kind,
        topic=event.topic,
        at=event.at,
        at_basis=event.at_basis,
        trigger=event.trigger,
        summary=event.summary,
        parent_id=event.parent_id,
        model=event.model,
        task=event.task,
        duration_ms=event.duration_ms,
        result=event.result,
        artifacts=event.artifacts[:MOST_LISTED],
        active_topics=event.active_topics[:MOST_LISTED],
    )


def _node(node: SummaryNode, bodies: Bodies) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "depth": node.depth,
        "stored_depth": node.stored_depth,
        "tokens": Tokens.of(node.tokens, "reported"),
        "text": bodies.text(node.text),
        "in_context": node.in_context,
        "model": node.model,
        "earliest_at": node.earliest_at,
        "latest_at": node.latest_at,
        "created_at": node.created_at,
        "conversation": node.conversation,
        "made_from_count": len(node.made_from),
        "covers_count": len(node.covers),
        "consumers_count": len(node.consumers),
    }
