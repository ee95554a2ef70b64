"""One session: the page, its inspector, its strip, its messages, its problems."""

from __future__ import annotations

from dataclasses import asdict, replace

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from contextviz.analysis.strip import reduce
from contextviz.charts import strip as strip_chart
from contextviz.services import figures
from contextviz.store.queries import calls
from contextviz.web.access import session_read
from contextviz.web.answers import leave
from contextviz.web.htmx import wants_fragment
from contextviz.web.pages.session.facts import problem_row
from contextviz.web.pages.session.fresh import fresh
from contextviz.web.pages.session.inspector import inspector, settled
from contextviz.web.pages.session.message import block_text, message_page
from contextviz.web.pages.session.page import Readout, readout_of, session_page, transcript_part
from contextviz.web.pages.session.place import parse
from contextviz.web.pages.tabs import session_tabs

PROBLEMS_PAGE = 300


@require_safe
def session(request: HttpRequest, session_id: int) -> HttpResponse:
    """The session page; with `part=transcript` one page of its transcript alone, for who reads on."""
    session_read(request, session_id)
    place = parse(session_id, request.GET)
    if request.GET.get("part") == "transcript":
        part = transcript_part(session_id, place)
        url = reverse("compactions", args=[session_id])
        return render(request, "session/transcript.html", {"transcript": part, "compactions_url": url})
    page = session_page(session_id, place)
    context = {"page": page, "readout": readout_html(page.readout)}
    return render(request, "session/session.html", context)


@require_safe
def session_inspector(request: HttpRequest, session_id: int) -> HttpResponse:
    """The inspector alone, with the readout beside it: what a moved play-head asks for."""
    row = session_read(request, session_id)
    place = parse(session_id, request.GET)
    table = figures.strip_of(session_id, place.agent)
    a, b, _ = settled(place, table)
    stand = replace(place, a=a, b=b)
    known = calls.compactions(session_id, with_lists=False)
    readout = readout_of(stand, table, known, row.window_basis) if table.calls else None
    context = {"inspector": inspector(stand, table), "readout": readout_html(readout), "is_part": True}
    return render(request, "session/inspector_part.html", context)


@require_safe
def session_fresh(request: HttpRequest, session_id: int) -> HttpResponse:
    """What came since the page was drawn (parameters after, agent, a, b, follow)."""
    session_read(request, session_id)
    found = fresh(session_id, parse(session_id, request.GET), is_following=request.GET.get("follow") == "1")
    context = {"fresh": found, "readout": readout_html(found.readout)}
    return render(request, "session/fresh.html", context)


@require_safe
def strip_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """The context strip's figure, at most 1,400 points."""
    session_read(request, session_id)
    table = figures.strip_of(session_id, parse(session_id, request.GET).agent)
    return JsonResponse(strip_chart.figure(reduce(table)))


@require_safe
def message(request: HttpRequest, session_id: int, index: int) -> HttpResponse:
    """One message with the whole of its texts; one block of it for htmx."""
    row = session_read(request, session_id)
    only = request.GET.get("block", "")
    page = message_page(session_id, index, int(only) if only.isdecimal() and len(only) < 9 else None)
    context = {"page": page, "title": row.title or row.source_id, "tabs": session_tabs(row, "")}
    template = "session/block.html" if wants_fragment(request) and only else "session/message.html"
    response = render(request, template, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def block_download(request: HttpRequest, session_id: int, index: int, block: int) -> HttpResponse:
    """The whole text of a block as a file."""
    session_read(request, session_id)
    data = block_text(session_id, index, block)
    leave(data, f"session {session_id}, message {index + 1}, block {block + 1}")
    response = HttpResponse(data, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="session-{session_id}-message-{index + 1}-{block + 1}.txt"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def problems(request: HttpRequest, session_id: int) -> HttpResponse:
    """Everything that could not be read as it stands."""
    row = session_read(request, session_id)
    text = request.GET.get("from", "0")
    start = int(text) if text.isdecimal() and len(text) < 10 else 0
    found = calls.problems(session_id, limit=PROBLEMS_PAGE, offset=start)
    end = start + len(found)
    context = {
        "title": row.title or row.source_id, "session_id": session_id, "total": row.problem_count,
        "tabs": session_tabs(row, ""), "rows": [asdict(problem_row(one)) for one in found], "start": start + 1,
        "end": end, "next": f"?from={end}" if end < row.problem_count else "",
        "previous": f"?from={max(start - PROBLEMS_PAGE, 0)}" if start else "",
    }  # fmt: skip
    return render(request, "session/problems.html", context)


def readout_html(readout: Readout | None) -> str:
    """The line over the strip as HTML, "" without a strip."""
    return render_to_string("session/readout.html", {"readout": readout}) if readout else ""


urlpatterns = [
    path("sessions/<int:session_id>/", session, name="session"),
    path("sessions/<int:session_id>/inspector/", session_inspector, name="session_inspector"),
    path("sessions/<int:session_id>/fresh/", session_fresh, name="session_fresh"),
    path("sessions/<int:session_id>/figures/strip.json", strip_figure, name="strip_figure"),
    path("sessions/<int:session_id>/messages/<int:index>/", message, name="message"),
    path(
        "sessions/<int:session_id>/messages/<int:index>/blocks/<int:block>/download",
        block_download,
        name="block_download",
    ),
    path("sessions/<int:session_id>/problems/", problems, name="problems"),
]
