"""Messages, and what could not be read."""

from __future__ import annotations

from operator import attrgetter

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contextviz.api.access import session_read
from contextviz.api.params import USUAL_ITEMS, Cursor, Index, Limit, SessionId, Unmasked, WithText, Words, reading
from contextviz.api.replies import Placed, one
from contextviz.api.schemas.messages import MOST_BLOCKS, Message, Problem, message_of, problem_of
from contextviz.api.shapes import PageOf
from contextviz.api.unmasking import bodies_of
from contextviz.store.queries import calls, messages

router = Router(tags=["messages"])
MAIN_CHAIN = "main"


@router.get("/sessions/{session_id}/messages", **reading(PageOf[Message]))
def list_messages(
    request: HttpRequest,
    session_id: SessionId,
    agent: Words = "",
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The session's messages, all branches, in the order they are shown. `agent` keeps those of one sub-agent by its
    id, or of the main chain (`main`)."""
    asked = Placed.asked("messages", limit, cursor)
    session_read(request, session_id)
    found = messages.messages(
        session_id,
        after=asked.start - 1,
        limit=limit + 1,
        agent=None if agent == MAIN_CHAIN else agent,
        only_agent=bool(agent),
    ).messages
    refs = (block.text for message in found[:limit] for block in message.blocks[:MOST_BLOCKS])
    what = f"session {session_id}, messages {asked.start + 1} to {asked.start + min(limit, len(found))}"
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    return asked.reply(found, lambda message: message_of(message, bodies), at=attrgetter("index"), bodies=bodies)


@router.get("/sessions/{session_id}/messages/{index}", **reading(Message))
def get_message(
    request: HttpRequest, session_id: SessionId, index: Index, text: WithText = False, unmasked: Unmasked = False
) -> HttpResponse:
    """One message by its index."""
    session_read(request, session_id)
    found = messages.get_message(session_id, index)
    refs = (block.text for block in found.blocks[:MOST_BLOCKS])
    what = f"session {session_id}, message {index + 1}"
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=what)
    return one(message_of(found, bodies), bodies=bodies)


@router.get("/sessions/{session_id}/problems", **reading(PageOf[Problem]))
def list_problems(
    request: HttpRequest, session_id: SessionId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """What could not be read as it stands, in the order found."""
    asked = Placed.asked("problems", limit, cursor)
    session_read(request, session_id)
    found = asked.numbered(calls.problems(session_id, limit=limit + 1, offset=asked.start))
    return asked.reply(found, lambda pair: problem_of(*pair))
