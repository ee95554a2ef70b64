"""The Lab: the page, what changes under its play-head, and its figures."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from contextviz.charts import lab as lab_chart
from contextviz.charts import lab_scores
from contextviz.services import replay
from contextviz.store.queries import runs
from contextviz.store.values import NotFound
from contextviz.web.access import session_read
from contextviz.web.htmx import wants_fragment
from contextviz.web.pages.held import READER
from contextviz.web.pages.lab.at import at_call
from contextviz.web.pages.lab.cards import waiting_runs
from contextviz.web.pages.lab.columns import call_words, lane_of
from contextviz.web.pages.lab.forms import PREFIX, default_engines, find_spec, run_form
from contextviz.web.pages.lab.graphs import graph_figure
from contextviz.web.pages.lab.page import compared, lab_page, points, run_of
from contextviz.web.pages.lab.place import LabPlace, parse
from contextviz.web.pages.lab.what_if import what_if
from contextviz.web.pages.session.shown import beginning, shown
from contextviz.web.pages.tabs import session_tabs

WHOLE_CHARS = 200_000
WHOLE_BYTES = 900_000


@require_safe
def lab(request: HttpRequest, session_id: int) -> HttpResponse:
    """The page; for htmx what stands under the play-head."""
    row = session_read(request, session_id)
    found = compared(row, place_of(request, session_id))
    typed = typed_of(request.GET.dict())
    is_asked = request.GET.get("try") == "1"
    if wants_fragment(request):
        call = found.call
        at = None
        if call is not None:
            at = at_call(row, found.place, found.columns, found.specs, call, typed, is_asked=is_asked)
        response = render(request, "lab/_at.html", {"at": at, "columns": found.columns, "is_part": True})
    else:
        response = render(request, "lab/lab.html", {"page": lab_page(found, typed, is_asked=is_asked)})
    patch_vary_headers(response, ["HX-Request"])
    return response


def place_of(request: HttpRequest, session_id: int) -> LabPlace:
    """The place of a request; a form without a script names each run by itself."""
    query = request.GET.dict()
    ticked = request.GET.getlist("run")
    if ticked:
        query["runs"] = ",".join(ticked[:40])
    return parse(session_id, query)


def typed_of(query: Mapping[str, str]) -> dict[str, str]:
    """What of a query or a form is typed into the fields of a replay."""
    names = ("window", "reserve", "system_tokens", "estimator", "summariser", "scorer")
    return {name: value for name, value in query.items() if name in names or name.startswith(PREFIX)}


@require_safe
def form(request: HttpRequest, session_id: int) -> HttpResponse:
    """The fields of one engine, for the form that stands open; without a script the page does it."""
    row = session_read(request, session_id)
    specs = replay.catalogue()
    spec = find_spec(specs, request.GET.get("engine", "")[:80]) or next(iter(default_engines(specs)), specs[0])
    place = parse(session_id, request.GET.dict())
    return render(request, "lab/_settings.html", {"form": run_form(specs, spec, {}), "row_id": row.id, "place": place})


@require_safe
def tried(request: HttpRequest, session_id: int) -> HttpResponse:
    """What another budget or threshold would cut, while it is dragged."""
    row = session_read(request, session_id)
    found = compared(row, parse(session_id, request.GET.dict()))
    typed = typed_of(request.GET.dict())
    page = what_if(found.place, found.columns, found.specs, typed, found.call, is_asked=True)
    return render(request, "lab/_tried.html", {"w": page, "session_id": session_id})


@require_safe
def waiting(request: HttpRequest, session_id: int) -> HttpResponse:
    """The runs that are being made, asked for again while there are any; the page anew when the first is done."""
    session_read(request, session_id)
    text = request.GET.get("done", "")
    known = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None
    is_fresh = request.GET.get("fresh") == "1"
    found = waiting_runs(session_id, runs.runs_of(session_id), known=known, is_fresh=is_fresh)
    response = render(request, "lab/_waiting.html", {"w": found})
    if is_fresh and found.more and not found.poll_url:
        response["HX-Refresh"] = "true"
    return response


@require_safe
def fill_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """Window fill over the calls, a lane a run: at most 1,400 points and 2,000 boundaries each."""
    row = session_read(request, session_id)
    found = compared(row, parse(session_id, request.GET.dict()))
    return JsonResponse(lab_chart.fill([lane_of(column) for column in found.columns]))


@require_safe
def pareto_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """Far need recall against the mean window."""
    row = session_read(request, session_id)
    own, others = points(compared(row, parse(session_id, request.GET.dict())))
    return JsonResponse(lab_scores.pareto(own, others))


@require_safe
def run_graph_figure(request: HttpRequest, session_id: int) -> HttpResponse:
    """The summaries of the run in slot `slot` as a figure."""
    row = session_read(request, session_id)
    found = compared(row, parse(session_id, request.GET.dict()))
    slot = found.place.slot
    column = next((one for one in found.columns if one.slot == slot), None)
    if column is None or column.run is None:
        raise NotFound("No replay is compared in that place.")
    return JsonResponse(graph_figure(found.place, column.run))


@require_safe
def item(request: HttpRequest, session_id: int, run_id: str, number: int, place: int) -> HttpResponse:
    """One item of a replayed window with its text, up to 200,000 characters; a fragment for htmx. `number` in the
    address is the run's own, from 1, as addresses that people keep have it; the page says the session's."""
    row = session_read(request, session_id)
    run = run_of(parse(session_id, {}), run_id)
    window = runs.window(run, number - 1, place - 1, place) if place > 0 else None
    if window is None or not window.items:
        raise NotFound(f"The window of call {number} of this run has no item {place}.")
    one = window.items[0].item
    data = READER.raw([one.text]).get(one.text.digest, b"")
    text = shown(beginning(data, WHOLE_CHARS), chars=one.text.chars, limit=WHOLE_CHARS, most_bytes=WHOLE_BYTES)
    shown_number, called = call_words(run, number)
    context = {
        "item": one, "kind": one.kind.replace("_", " "), "text": text, "sha256": one.text.sha256, "run": run,
        "row": row, "title": row.title or row.source_id, "number": shown_number, "called": called, "place": place,
        "tabs": session_tabs(row, "lab"),
    }  # fmt: skip
    response = render(request, "lab/_item.html" if wants_fragment(request) else "lab/item.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


urlpatterns = [
    path("sessions/<int:session_id>/lab/", lab, name="lab"),
    path("sessions/<int:session_id>/lab/form/", form, name="lab_form"),
    path("sessions/<int:session_id>/lab/tried/", tried, name="lab_tried"),
    path("sessions/<int:session_id>/lab/waiting/", waiting, name="lab_waiting"),
    path("sessions/<int:session_id>/lab/<slug:run_id>/calls/<int:number>/items/<int:place>/", item, name="lab_item"),
    path("sessions/<int:session_id>/figures/lab-fill.json", fill_figure, name="lab_fill"),
    path("sessions/<int:session_id>/figures/lab-pareto.json", pareto_figure, name="lab_pareto"),
    path("sessions/<int:session_id>/figures/lab-graph.json", run_graph_figure, name="lab_graph"),
]
