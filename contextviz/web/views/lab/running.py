"""Starting and deleting replays from the Lab."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from contextviz.charts import words
from contextviz.services import replay
from contextviz.store.queries import runs
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.access import session_write
from contextviz.web.answers import safe_next, see_other
from contextviz.web.pages.lab.columns import run_key
from contextviz.web.pages.lab.forms import Asked, BadForm, asked_of, default_engines, find_spec
from contextviz.web.pages.lab.page import compared, lab_page, run_of
from contextviz.web.pages.lab.place import MOST_RUNS_SHOWN, parse
from contextviz.web.queueing import enqueue_after_commit
from contextviz.web.views.lab.page import typed_of


@require_POST
def run(request: HttpRequest, session_id: int) -> HttpResponse:
    """Start a replay by one engine as its form says; what cannot be taken is refused beside the form."""
    row = session_write(request, session_id)
    typed = typed_of(request.POST.dict())
    spec = find_spec(replay.catalogue(), request.POST.get("engine", "")[:80])
    if spec is None:
        return _refused(request, row, "Choose an engine: that one is not here.", "engine")
    try:
        started = _start(row.id, asked_of(spec, typed))
    except BadForm as error:
        return _refused(request, row, str(error), error.field)
    except replay.ReplayRefused as refusal:
        return _refused(request, row, str(refusal), "")
    if not started.is_new:
        messages.info(request, f"The same replay by {spec.label} was asked for before; it is here.")
    return see_other(_with(request, row.id, [runs.get_run(started.run_id)]))


def _start(session_id: int, asked: Asked) -> replay.Started:
    with transaction.atomic():
        started = replay.start_run(
            session_id, asked.engine, asked.settings, measure=asked.measure, summariser=asked.summariser,
            scorer=asked.scorer, now=timezone.now(),
        )  # fmt: skip
        if started.is_new and started.job_id is not None:
            enqueue_after_commit(started.job_id)
    return started


def _refused(request: HttpRequest, row: SessionRow, sentence: str, field: str) -> HttpResponse:
    posted = request.POST.dict()
    place = parse(row.id, {name: value for name, value in posted.items() if name in ("runs", "call", "engine", "view")})
    page = lab_page(compared(row, place), typed_of(posted), error=sentence, wrong=field)
    return render(request, "lab/lab.html", {"page": page}, status=422)


def _with(request: HttpRequest, session_id: int, made: list[runs.RunRow]) -> str:
    """The comparison as it was, with the new runs in it where there is room for them."""
    place = parse(session_id, {name: request.POST.get(name, "") for name in ("runs", "call", "view")})
    if not place.runs:
        return reverse("lab", args=[session_id])
    keys = tuple(dict.fromkeys([*place.runs, *(run_key(one) for one in made if one.is_done)]))
    return place.url(runs=keys[:MOST_RUNS_SHOWN])


@require_POST
def run_defaults(request: HttpRequest, session_id: int) -> HttpResponse:
    """Start what a comparison begins with: the tail, everything, and two engines, each as it is by default."""
    row = session_write(request, session_id)
    refused = []
    has_windows = bool(row.snapshot_count)
    if not has_windows:
        messages.info(request, replay.NO_WINDOWS)
    for spec in default_engines(replay.catalogue(), has_windows=has_windows):
        try:
            _start(row.id, Asked(spec.key, {}, replay.Measure(), ""))
        except replay.ReplayRefused as refusal:
            refused.append(str(refusal))
    for sentence in dict.fromkeys(refused):
        messages.error(request, sentence)
    return see_other(reverse("lab", args=[row.id]))


@require_POST
def delete(request: HttpRequest, session_id: int, run_id: str) -> HttpResponse:
    """Delete a run with its windows; it can be made again, to the same hash."""
    row = session_write(request, session_id)
    back = safe_next(request, request.POST.get("next"), reverse("lab", args=[row.id]))
    found = run_of(parse(row.id, {}), run_id)
    try:
        replay.delete_run(found.id)
        messages.success(request, f"The run by {found.label} is deleted: {words.counted(found.call_count, 'window')}.")
    except replay.ReplayRefused as refusal:
        messages.error(request, str(refusal))
    except NotFound:
        messages.info(request, "That run was deleted already.")
    return see_other(back)


urlpatterns = [
    path("sessions/<int:session_id>/lab/run/", run, name="lab_run"),
    path("sessions/<int:session_id>/lab/defaults/", run_defaults, name="lab_defaults"),
    path("sessions/<int:session_id>/lab/<slug:run_id>/delete/", delete, name="lab_delete"),
]
