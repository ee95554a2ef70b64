"""Summary nodes, topics and their events."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router

from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, NodeId, SessionId, Unmasked, WithText, opening, reading
from contextviz.api.replies import Placed, job_opened, one
from contextviz.api.schemas.folds import (
    Summary,
    SummaryDetail,
    Topic,
    TopicEvent,
    detail_of,
    event_of,
    summary_of,
    topic_of,
)
from contextviz.api.shapes import JobOpened, PageOf
from contextviz.api.unmasking import bodies_of
from contextviz.services.expand import open_expand
from contextviz.store.queries import summaries, topics

router = Router()


@router.get("/sessions/{session_id}/summaries", tags=["summaries"], **reading(PageOf[Summary]))
def list_summaries(
    request: HttpRequest,
    session_id: SessionId,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The summary nodes of the session's store, in the store's order."""
    asked = Placed.asked("summaries", limit, cursor)
    session_read(request, session_id)
    found = summaries.nodes(session_id, start=asked.start, stop=asked.stop)
    refs = (node.text for node in found[:limit])
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=f"session {session_id}, summaries")
    return asked.reply(found, lambda node: summary_of(node, bodies), bodies=bodies)


@router.get("/sessions/{session_id}/summaries/{node_id}", tags=["summaries"], **reading(SummaryDetail))
def get_summary(
    request: HttpRequest, session_id: SessionId, node_id: NodeId, text: WithText = False, unmasked: Unmasked = False
) -> HttpResponse:
    """One summary node with its edges."""
    session_read(request, session_id)
    node = summaries.get_node(session_id, node_id)
    what = f"session {session_id}, summary {node_id[:80]}"
    bodies = bodies_of(request, [node.text], text=text, unmasked=unmasked, what=what)
    return one(detail_of(node, bodies), bodies=bodies)


@router.post("/sessions/{session_id}/summaries/{node_id}/expand", tags=["summaries"], **opening(JobOpened))
def expand_summary(request: HttpRequest, session_id: SessionId, node_id: NodeId) -> HttpResponse:
    """Expand a summary to everything that it stands for, as a job; its result names the messages."""
    session_read(request, session_id)
    summaries.get_node(session_id, node_id)
    with transaction.atomic():
        return job_opened(open_expand(session_id, node_id, now=timezone.now()))


@router.get("/sessions/{session_id}/topics", tags=["topics"], **reading(PageOf[Topic]))
def list_topics(
    request: HttpRequest,
    session_id: SessionId,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The topics of the session's conversation map, in the map's order."""
    asked = Placed.asked("topics", limit, cursor)
    session_read(request, session_id)
    found = topics.topics(session_id, start=asked.start, stop=asked.stop)
    notes = (note for topic in found[:limit] for note in (topic.thread, topic.status_note) if note)
    bodies = bodies_of(request, notes, text=text, unmasked=unmasked, what=f"session {session_id}, notes of topics")
    return asked.reply(found, lambda topic: topic_of(topic, bodies), bodies=bodies)


@router.get("/sessions/{session_id}/topic-events", tags=["topics"], **reading(PageOf[TopicEvent]))
def list_topic_events(
    request: HttpRequest, session_id: SessionId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """Switches of topic, sub-agents spawned and compactions of the conversation map, in its order."""
    asked = Placed.asked("topic events", limit, cursor)
    session_read(request, session_id)
    found = asked.numbered(topics.topic_events(session_id, start=asked.start, stop=asked.stop))
    return asked.reply(found, lambda pair: event_of(*pair))
