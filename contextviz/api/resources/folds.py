"""Summary nodes, topics and their events."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Router

from contextviz.api import cursors
from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, NodeId, SessionId, Unmasked, WithText, opening, reading
from contextviz.api.replies import job_opened, one, page
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
    start = cursors.read_index("summaries", cursor)
    session_read(request, session_id)
    found = list(enumerate(summaries.nodes(session_id, start=start, stop=start + limit + 1), start=start))
    refs = (node.text for _, node in found[:limit])
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=f"session {session_id}, summaries")
    return page(
        found,
        limit=limit,
        build=lambda pair: summary_of(pair[1], bodies),
        cursor=lambda pair: cursors.write("summaries", pair[0]),
        bodies=bodies,
    )


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
    start = cursors.read_index("topics", cursor)
    session_read(request, session_id)
    found = list(enumerate(topics.topics(session_id, start=start, stop=start + limit + 1), start=start))
    notes = (note for _, topic in found[:limit] for note in (topic.thread, topic.status_note) if note)
    bodies = bodies_of(request, notes, text=text, unmasked=unmasked, what=f"session {session_id}, notes of topics")
    return page(
        found,
        limit=limit,
        build=lambda pair: topic_of(pair[1], bodies),
        cursor=lambda pair: cursors.write("topics", pair[0]),
        bodies=bodies,
    )


@router.get("/sessions/{session_id}/topic-events", tags=["topics"], **reading(PageOf[TopicEvent]))
def list_topic_events(
    request: HttpRequest, session_id: SessionId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """Switches of topic, sub-agents spawned and compactions of the conversation map, in its order."""
    start = cursors.read_index("topic events", cursor)
    session_read(request, session_id)
    found = list(enumerate(topics.topic_events(session_id, start=start, stop=start + limit + 1), start=start))
    return page(
        found,
        limit=limit,
        build=lambda pair: event_of(*pair),
        cursor=lambda pair: cursors.write("topic events", pair[0]),
    )
