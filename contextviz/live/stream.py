"""Server-sent events for pages that follow a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from contextviz.live.hub import GONE, hub
from contextviz.live.watcher import CLOSED
from contextviz.store.queries import sessions
from contextviz.store.viewing import Viewer, current_viewer, viewing

HEARTBEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 2_000
FULL = "Too many pages follow sessions at once. Close some of them, then reload this one."


async def session_live(request: HttpRequest, session_id: int) -> HttpResponseBase:
    """A stream of the session's revisions; raises NotFound. The event's id is the revision, so a client that comes
    back with Last-Event-ID (or ?after=) is told at once when it missed something."""
    viewer = await _seen_by(session_id)
    if hub().is_full:
        return HttpResponse(FULL, status=503, content_type="text/plain", headers={"Retry-After": "30"})
    seen = _number(request.headers.get("Last-Event-ID") or request.GET.get("after", ""))
    response = StreamingHttpResponse(_events(session_id, seen, viewer), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # a compressing proxy would hold the events back
    return response


@sync_to_async
def _seen_by(session_id: int) -> Viewer:
    """Who asks for the stream; raises NotFound where that person does not see the session."""
    sessions.get_session(session_id)
    return current_viewer()


@sync_to_async
def _revision(session_id: int, viewer: Viewer) -> int:
    """The session's revision as this person sees it: GONE once it is private to somebody else."""
    try:
        with viewing(viewer):
            return sessions.revision(session_id)
    finally:
        connection.close()


async def _events(session_id: int, seen: int | None, viewer: Viewer) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    async with hub().listen(session_id) as queue:
        now = await _revision(session_id, viewer)
        if now != seen:
            yield _event(now)
        while True:
            try:
                revision = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if revision == CLOSED:
                return
            # The hub watches for everybody; what this person may see is asked again.
            revision = await _revision(session_id, viewer)
            if revision != now:
                now = revision
                yield _event(revision)
            if revision == GONE:
                return


def _event(revision: int) -> bytes:
    name = "gone" if revision == GONE else "revision"
    return f"id: {revision}\nevent: {name}\ndata: {revision}\n\n".encode()


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None
