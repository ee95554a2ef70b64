"""Exporting a session: what looks like a secret is reviewed, decided, and only then downloaded."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import datetime
from threading import Lock
from typing import IO

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from contextviz.services import export as copies
from contextviz.services.accounts.audit import note
from contextviz.services.export import Decisions, ExportRefused, Report
from contextviz.services.export.sizes import text_bytes
from contextviz.store.values import SessionRow
from contextviz.web.access import session_read
from contextviz.web.answers import CHUNK_BYTES
from contextviz.web.pages.export import decided, export_page

LOOKED_AT_ONCE = 1_000_000  # bytes of texts; more are looked through when asked for
KEPT_REPORTS = 4
TYPES = {"json": "application/json", "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}
_reports: OrderedDict[tuple[int, int, datetime], Report] = OrderedDict()
_lock = Lock()


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest, session_id: int) -> HttpResponseBase:
    """The review; a POST with the decisions downloads the copy, or says with 422 what is still to be decided."""
    row = session_read(request, session_id)
    size = text_bytes(row.id)
    if request.method == "POST":
        return _download(request, row, size)
    wanted = request.GET.get("look") == "1" or size <= LOOKED_AT_ONCE
    report = _report(row) if wanted else _held(row)
    page = export_page(row, report, Decisions(), size=size)
    return render(request, "export/review.html", {"page": page})


def _download(request: HttpRequest, row: SessionRow, size: int) -> HttpResponseBase:
    report, decisions = _report(row), decided(request.POST)
    wanted = request.POST.get("form", "json")
    form = next((known for known in copies.FORMATS if known == wanted), None)
    stack = ExitStack()
    try:
        if form is None:
            raise ExportRefused("Nothing was exported: choose JSON, Markdown or HTML.")
        lacking = [place for place, one in decisions.by_place.items() if one.action == "keep" and not one.reason]
        if lacking:
            raise ExportRefused("Nothing was exported: say why, for each value that you keep.")
        stream = stack.enter_context(copies.copied(report, form, decisions, now=timezone.now()))
    except ExportRefused as refused:
        if not refused.places:
            _forget(row)  # it changed meanwhile
            row = session_read(request, row.id)
        page = export_page(row, _report(row), decisions, size=size, error=str(refused), form=wanted)
        return render(request, "export/review.html", {"page": page}, status=422)
    kept = report.kept(decisions)
    if kept:
        note("secret_unmasked", target=f"export of session {row.id}: {len(kept)} kept")
    return _attached(request, stack, stream, f"session-{row.id}.{form}", TYPES[form])


def _attached(
    request: HttpRequest, stack: ExitStack, stream: IO[bytes], name: str, content_type: str
) -> StreamingHttpResponse:
    chunks = _AsyncChunks(stack, stream) if isinstance(request, ASGIRequest) else _Chunks(stack, stream)
    response = StreamingHttpResponse(chunks, content_type=content_type)
    response["Content-Length"] = str(stream.seek(0, 2))
    stream.seek(0)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


class _Chunks:
    """The finished copy in parts; Django calls `close` however the download ends."""

    def __init__(self, stack: ExitStack, stream: IO[bytes]) -> None:
        self._stack = stack
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._stream.read(CHUNK_BYTES):
            yield chunk

    def close(self) -> None:
        """Let go of the file; it has no name, so it is gone."""
        self._stack.close()


class _AsyncChunks:
    """The same under ASGI, reading in a thread."""

    def __init__(self, stack: ExitStack, stream: IO[bytes]) -> None:
        self._stack = stack
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await asyncio.to_thread(self._stream.read, CHUNK_BYTES):
            yield chunk

    def close(self) -> None:
        """Let go of the file; it has no name, so it is gone."""
        self._stack.close()


def _report(row: SessionRow) -> Report:
    """What was found in this revision of the session, looked through again where that is not held."""
    found = _held(row)
    if found is not None:
        return found
    report = copies.look_through(row.id)
    with _lock:
        _reports[(row.id, report.revision, row.updated_at)] = report
        while len(_reports) > KEPT_REPORTS:
            _reports.popitem(last=False)
    return report


def _held(row: SessionRow) -> Report | None:
    with _lock:
        return _reports.get((row.id, row.revision, row.updated_at))


def _forget(row: SessionRow) -> None:
    with _lock:
        _reports.pop((row.id, row.revision, row.updated_at), None)


urlpatterns = [path("sessions/<int:session_id>/export/", export, name="export")]
