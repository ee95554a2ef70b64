"""The palette's answers, and the steps from one session to the next."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from contextviz.store.queries import sessions
from contextviz.store.values import JobRow, NotFound, SessionRow
from contextviz.web.access import job_read, session_read
from contextviz.web.pages.guide.go import MOST_CHARS, palette
from contextviz.web.views.compaction import whole_number

# The pages of a session between which a step to its neighbour stays on the same kind.
KINDS = ("session", "compactions", "graph", "budget")


@require_safe
def go(request: HttpRequest) -> HttpResponse:
    """What `q` finds, with `session` the one being looked at: JSON for the palette, else a page of links, or the one
    thing that was named."""
    query = request.GET.get("q", "").replace("\x00", "")[:MOST_CHARS].strip()
    current = _current(request)
    found = palette(query, current=current, job=_job(request, query))
    if "application/json" in request.headers.get("Accept", ""):
        response: HttpResponse = JsonResponse({"query": query, "results": [asdict(one) for one in found]})
    else:
        exact = {one.url for one in found if one.is_exact and one.url}
        if query and len(exact) == 1:
            return redirect(exact.pop())
        links = [one for one in found if one.url]
        response = render(request, "go/go.html", {"query": query, "current": current, "results": links})
    patch_vary_headers(response, ["Accept"])
    return response


def _current(request: HttpRequest) -> SessionRow | None:
    number = whole_number(request.GET.get("session"), 0)
    if not number:
        return None
    try:
        return session_read(request, number)
    except NotFound:
        return None  # deleted meanwhile, or not for these eyes: the words are looked for everywhere


def _job(request: HttpRequest, query: str) -> JobRow | None:
    try:
        return job_read(request, UUID(query)) if len(query) == 36 else None
    except (ValueError, NotFound):
        return None


@require_safe
def session_newer(request: HttpRequest, session_id: int) -> HttpResponse:
    """The session above this one in the Library."""
    return _step(request, session_id, newer=True)


@require_safe
def session_older(request: HttpRequest, session_id: int) -> HttpResponse:
    """The session below this one in the Library."""
    return _step(request, session_id, newer=False)


def _step(request: HttpRequest, session_id: int, *, newer: bool) -> HttpResponse:
    row = session_read(request, session_id)
    found = sessions.neighbour(row.id, newer=newer)
    if found is None:
        messages.info(request, "This is the newest session." if newer else "This is the oldest session.")
        found = row
    kind = request.GET.get("page", "")
    if kind not in KINDS or not (found.call_count or found.compaction_count):
        kind = "session"
    return redirect(reverse(kind, args=[found.id]))


urlpatterns = [
    path("go/", go, name="go"),
    path("sessions/<int:session_id>/newer/", session_newer, name="session_newer"),
    path("sessions/<int:session_id>/older/", session_older, name="session_older"),
]
