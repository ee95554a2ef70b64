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
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from contextviz.services import export as copies
from contextviz.services.accounts.audit import note
from contextviz.services.export import Decisions, ExportRefused, Report
from contextviz.services.export.kept import kept_report
from contextviz.services.export.looking import last_look, open_look
from contextviz.services.export.sizes import Size, size_of
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.access import session_read
from contextviz.web.answers import CHUNK_BYTES, see_other
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.export import decided, export_page
from contextviz.web.pages.jobs import job_view
from contextviz.web.pages.unmasked import of_place
from contextviz.web.queueing import enqueue_after_commit
from contextviz.web.views.sharing.unmask import show_unmasked

LOOKED_AT_ONCE = 1_000_000  # bytes of texts; more are looked through by a job
RECORDS_AT_ONCE = 5_000  # a look takes its time for each, however short
KEPT_REPORTS = 4
TYPES = {"json": "application/json", "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}
_reports: OrderedDict[tuple[int, int, datetime], Report] = OrderedDict()
_lock = Lock()


@require_http_methods(["GET", "HEAD", "POST"])
def export(request: HttpRequest, session_id: int) -> HttpResponseBase:
    """The review; a POST with the decisions downloads the copy, or says with 422 what is still to be decided."""
    row = session_read(request, session_id)
    size = size_of(row)
    report = _report(row, size)
    if request.method == "POST":
        return _download(request, row, size, report)
    return _review(request, row, report, Decisions(), size=size)


@require_POST
def export_look(request: HttpRequest, session_id: int) -> HttpResponse:
    """Open the job that looks a large session through."""
    row = session_read(request, session_id)
    with transaction.atomic():
        enqueue_after_commit(open_look(row.id, now=timezone.now()))
    return see_other(reverse("export", args=[row.id]))


@require_POST
def export_unmask(request: HttpRequest, session_id: int) -> HttpResponse:
    """The value of one place of the review, which is written down."""
    row = session_read(request, session_id)
    report = _report(row, size_of(row))
    place = report.places.get(request.POST.get("place", "")) if report else None
    if place is None:
        raise NotFound("There is no such place in this session any more. Open its export again.")
    return show_unmasked(request, of_place(row.id, place))


def _review(
    request: HttpRequest, row: SessionRow, report: Report | None, decisions: Decisions, *, size: Size, error: str = "",
    form: str = "json", status: int = 200,
) -> HttpResponse:  # fmt: skip
    job = last_look(row.id) if report is None else None
    shown = job_view(job, {}, now=timezone.now()) if job is not None else None
    page = export_page(row, report, decisions, size=size, error=error, form=form, job=shown)
    return page_or_fragment(request, "export/review.html", "export/_review.html", {"page": page}, status=status)


def _download(request: HttpRequest, row: SessionRow, size: Size, report: Report | None) -> HttpResponseBase:
    decisions = decided(request.POST)
    wanted = request.POST.get("form", "json")
    form = next((known for known in copies.FORMATS if known == wanted), None)
    stack = ExitStack()
    try:
        if report is None:
            raise ExportRefused("Nothing was exported: this session was not looked through yet, or has grown since.")
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
        report = _report(row, size)
        return _review(request, row, report, decisions, size=size, error=str(refused), form=wanted, status=422)
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


def _report(row: SessionRow, size: Size) -> Report | None:
    """What was found in this revision of the session, which is looked through here where it is small; None where it is
    large and no job has done so."""
    report = _held(row)
    if report is not None:
        return report
    if size.text <= LOOKED_AT_ONCE and size.records <= RECORDS_AT_ONCE:
        report = copies.look_through(row.id)
    else:
        report = kept_report(row.id, revision=row.revision, updated_at=row.updated_at)
    if report is None:
        return None
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


urlpatterns = [
    path("sessions/<int:session_id>/export/", export, name="export"),
    path("sessions/<int:session_id>/export/look/", export_look, name="export_look"),
    path("sessions/<int:session_id>/export/unmask/", export_unmask, name="export_unmask"),
]
