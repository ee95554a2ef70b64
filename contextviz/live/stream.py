"""Server-sent events for pages that follow a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from contextviz.live.hub import CLOSED, GONE, hub, read_revisions
from contextviz.store.queries import sessions

HEARTBEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 2_000


async def session_live(request: HttpRequest, session_id: int) -> HttpResponseBase:
    """A stream of the session's revisions; raises NotFound. The event's id is the revision, so a client that comes
    back with Last-Event-ID (or ?after=) is told at once when it missed something."""
    await sync_to_async(sessions.get_session)(session_id)
    seen = _number(request.headers.get("Last-Event-ID") or request.GET.get("after", ""))
    response = StreamingHttpResponse(_events(session_id, seen), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # a compressing proxy would hold the events back
    return response


async def _events(session_id: int, seen: int | None) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    async with hub().listen(session_id) as queue:
        now = (await read_revisions([session_id])).get(session_id, GONE)
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
