"""Events in: what an engine or agent tells of a session while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from ninja import P, PathEx, Router

from contextviz.api.auth import caller_of
from contextviz.api.errors import Refused
from contextviz.api.params import NO_NUL, operation
from contextviz.api.replies import one
from contextviz.api.schemas.events import EventsPosted, posted_of
from contextviz.services.inbox.events import MOST_BYTES, Post, receive_events
from contextviz.services.incoming.unzipping import BadBody, unpacked_chunks
from contextviz.services.outages.trouble import trouble_of
from contextviz.store.queries.preferences import preferences
from contextviz.tasks import enqueue

router = Router(tags=["events"])
READ_BYTES = 256 * 1024
NDJSON = "application/x-ndjson"
TYPES = frozenset({NDJSON, "application/ndjson", "application/jsonl", "application/json"})
NOT_LINES = f"Send one event a line, with the content type {NDJSON}."
TOO_LARGE = "A post may have 64 MiB after unpacking. What came before that is kept; send the rest in a further post."
CUT_OFF = "The connection ended before everything had arrived. Whole lines are kept; send it again."
WAITS = {
    "busy": "The store is busy; what came before is kept. Send it again in a moment.",
    "full": "The disk of contextviz's data is full; what came before is kept. Free some space, then send it again.",
}
EMPTY = "There is no line in the body. Send one event a line."
SessionKey = PathEx[
    str, P(min_length=1, max_length=200, pattern=NO_NUL, description="The session as its sender calls it")
]
_POST = operation("ingest", reply=EventsPosted, errors=(400, 413, 415, 422))
_POST["openapi_extra"]["requestBody"] = {
    "required": True,
    "content": {NDJSON: {"schema": {"type": "string", "description": "Events of docs/events.schema.json, one a line"}}},
}


@router.post("/sessions/{key}/events", **_POST)
def post_events(request: HttpRequest, key: SessionKey) -> HttpResponse:
    """Tell events of a session (docs/events.md), new ones or again: an event is known by its `seq`, else its `id`.
    Lines that are no events are listed with the reason; the others are kept. A session appears with its first event."""
    if (request.content_type or "").lower() not in TYPES:
        raise Refused(415, NOT_LINES)
    caller = caller_of(request)
    chunks = unpacked_chunks(
        _chunks(request), request.headers.get("Content-Encoding", ""), most=MOST_BYTES, too_large=TOO_LARGE
    )
    post = Post()
    try:
        receive_events(
            key, chunks, post, now=timezone.now(), person_id=caller.user.pk,
            is_private=preferences(caller.user.pk).is_private,
        )  # fmt: skip
    except BadBody as refused:
        raise Refused(refused.status, str(refused)) from None
    except UnreadablePostError:
        raise Refused(400, CUT_OFF) from None
    except DatabaseError as error:
        trouble = trouble_of(error)
        if trouble is None:
            raise
        raise Refused(trouble.status, WAITS[trouble.kind], trouble=trouble) from error
    finally:
        # Also of what was kept before the body turned out to be wrong.
        for job_id in post.jobs:
            transaction.on_commit(partial(enqueue, job_id), robust=True)
    if not post.new and not post.known and not post.refused:
        raise Refused(422, EMPTY)
    return one(posted_of(post))


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(READ_BYTES):
        yield chunk
