"""`/live/stream`: the feed as server-sent events. The id of each is its place in the feed, so a browser that comes back
is given exactly what it missed, or told to load the page again where that is too much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import orjson
from asgiref.sync import sync_to_async
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse

from contextviz.live.bus import bus
from contextviz.live.sharing import Shared
from contextviz.live.stream import FULL, HEARTBEAT_SECONDS, RETRY_MILLISECONDS
from contextviz.live.watcher import CLOSED
from contextviz.services.live.news import NEWS_KINDS
from contextviz.services.live.shown import quiet_event
from contextviz.store.queries.live import LiveEvent, LiveFilter, live_after, live_bounds
from contextviz.store.viewing import Viewer, current_viewer, viewing

AT_ONCE = 200
# A page that missed more than this is loaded again rather than filled line by line.
MOST_MISSED = 2_000
# Bursts are told together: a browser draws once for what came within this time.
TICK_SECONDS = 0.25
BIGGEST = 2**63 - 2
_shared: Shared[tuple[int, bytes]] = Shared()


async def live_stream(request: HttpRequest) -> HttpResponseBase:
    """A stream of the feed's rows behind Last-Event-ID (or `?after=`; without either, those to come). Each message is a
    list of rows: `ready` first, then `news`; `quiet` where none of the new ones is wanted, and every 15 seconds, so
    that a page notices a dead line; `resync` once where rows were missed that are gone or too many."""
    chosen = filter_of(request)
    viewer = await _viewer()
    if bus().is_full:
        return HttpResponse(FULL, status=503, content_type="text/plain", headers={"Retry-After": "30"})
    after = number_of(request.headers.get("Last-Event-ID") or request.GET.get("after", ""))
    response = StreamingHttpResponse(_messages(after, chosen, viewer), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # a compressing proxy would hold the events back
    return response


def live_feed(request: HttpRequest) -> HttpResponse:
    """The same as one answer, for pages that cannot hold a stream: rows behind `?after=`, and where to go on."""
    after = number_of(request.GET.get("after", ""))
    first, last = live_bounds()
    if after is None:
        return JsonResponse({"events": [], "last": last, "resync": False})
    if is_lost(after, first, last):
        return JsonResponse({"events": [], "last": last, "resync": True})
    rows = live_after(after, filter_of(request), most=AT_ONCE)
    newest = reached(rows, max(last, after))
    response = HttpResponse(
        orjson.dumps({"events": [quiet_event(row) for row in rows], "last": newest, "resync": False}),
        content_type="application/json",
    )
    response["Cache-Control"] = "no-store"
    return response


def filter_of(request: HttpRequest) -> LiveFilter:
    """What the query string asks for; what it does not know is left out."""
    kinds = tuple(kind for kind in request.GET.getlist("kind") if kind in NEWS_KINDS)
    return LiveFilter(number_of(request.GET.get("session", "")), kinds, request.GET.get("agent", "")[:200])


def number_of(text: str) -> int | None:
    """A number of the query string, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def is_lost(after: int, first: int, last: int) -> bool:
    """Whether rows behind `after` are gone, or it is from another database: the page must be loaded again."""
    return after > last or (first > after + 1 and last > after) or last - after > MOST_MISSED


def reached(rows: list[LiveEvent], newest: int) -> int:
    """Up to which number all is told: rows may have come after `newest` was read; a full answer ends where it does."""
    if not rows:
        return newest
    return rows[-1].id if len(rows) == AT_ONCE else max(rows[-1].id, newest)


@sync_to_async
def _viewer() -> Viewer:
    return current_viewer()


@sync_to_async
def _bounds() -> tuple[int, int]:
    try:
        return live_bounds()
    finally:
        connection.close()


@sync_to_async
def _rows(after: int, chosen: LiveFilter, viewer: Viewer) -> list[LiveEvent]:
    try:
        with viewing(viewer):
            return live_after(after, chosen, most=AT_ONCE)
    finally:
        connection.close()


async def _messages(after: int | None, chosen: LiveFilter, viewer: Viewer) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
    async with bus().listen() as queue:
        first, last = await _bounds()
        at = last if after is None else after
        if after is not None and is_lost(after, first, last):
            at = last
            yield _message("resync", at, [])
        else:
            yield _message("ready", at, [])
        newest = last
        while True:
            while at < newest:
                # Open pages ask for the same rows at the same moment: read, masked and written out once for all.
                asked = (at, newest, chosen, viewer)
                at, told_now = await _shared.ask(asked, partial(_next, *asked))
                yield told_now
            try:
                told = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                yield _message("quiet", at, [])
                continue
            if told == CLOSED:
                return
            await asyncio.sleep(TICK_SECONDS)
            newest = max(newest, told)


async def _next(after: int, newest: int, chosen: LiveFilter, viewer: Viewer) -> tuple[int, bytes]:
    """The rows behind `after` as a message, and up to which number it tells."""
    rows = await _rows(after, chosen, viewer)
    at = reached(rows, newest)
    # Also where nothing of it is wanted: the browser comes back from here, and cards are drawn anew.
    return at, _message("news" if rows else "quiet", at, rows)


def _message(name: str, number: int, rows: list[LiveEvent]) -> bytes:
    data = orjson.dumps([quiet_event(row) for row in rows])
    return f"id: {number}\nevent: {name}\n".encode() + b"data: " + data + b"\n\n"
