"""Runs: what was recorded, and replays of it by context engines; the engines there are."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import P, PathEx, Router

from contextviz import tasks
from contextviz.api.access import run_read, session_read
from contextviz.api.errors import Refused
from contextviz.api.params import (
    NO_NUL,
    USUAL_ITEMS,
    Cursor,
    Limit,
    Number,
    RunId,
    SessionId,
    Unmasked,
    WithText,
    opening,
    operation,
    reading,
)
from contextviz.api.replies import Placed, one, page
from contextviz.api.schemas.calls import Item, item_of
from contextviz.api.schemas.folds import Summary
from contextviz.api.schemas.runs import (
    MOST_DROPPED,
    Boundary,
    Engines,
    Replay,
    ReplayCall,
    ReplayDetail,
    ReplayWanted,
    RunDeleted,
    RunOpened,
    RunOriginalFound,
    boundary_of,
    call_of,
    detail_of,
    engines_of,
    node_of,
    original_of,
    replay_of,
)
from contextviz.api.schemas.sessions import Run, run_of
from contextviz.api.shapes import PageOf
from contextviz.api.unmasking import bodies_of
from contextviz.engines.registry import NoSuchEngine
from contextviz.services import replay
from contextviz.store.queries import runs
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import SessionRow

router = Router(tags=["runs"])
Handle = PathEx[str, P(min_length=1, max_length=255, pattern=NO_NUL, description="A handle that the engine made")]
_START = opening(RunOpened, errors=(400, 409, 413))
_START["response"][200] = RunOpened


@router.get("/engines", **operation("read", reply=Engines))
def list_engines(request: HttpRequest) -> HttpResponse:
    """The engines that a replay can be asked for, with their settings, the summarisers and the scorers."""
    return one(engines_of(replay.catalogue(), replay.summariser_specs(), replay.scorer_specs()))


@router.get("/sessions/{session_id}/runs", **reading(PageOf[Run | Replay]))
def list_runs(request: HttpRequest, session_id: SessionId) -> HttpResponse:
    """The session's runs: first run 0, what was recorded, then its replays, the newest first. They are few."""
    row = session_read(request, session_id)
    found: list[SessionRow | RunRow] = [row, *runs.runs_of(session_id)]
    return page(found, limit=len(found), build=_shown, cursor=lambda _: "")


def _shown(row: SessionRow | RunRow) -> Run | Replay:
    return run_of(row) if isinstance(row, SessionRow) else replay_of(row)


@router.post("/sessions/{session_id}/runs", **_START)
def start_run(request: HttpRequest, session_id: SessionId, wanted: ReplayWanted) -> HttpResponse:
    """Replay the session by an engine, as a job. The same request for the same state of the session gives the run that
    there is: with 200 where it is done, with 202 while it waits or runs."""
    session_read(request, session_id)
    measure = replay.Measure(wanted.window, wanted.reserve, wanted.system_tokens, wanted.estimator)
    with transaction.atomic():
        try:
            started = replay.start_run(
                session_id, wanted.engine, wanted.settings, measure=measure, summariser=wanted.summariser,
                scorer=wanted.scorer, now=timezone.now(),
            )  # fmt: skip
        except NoSuchEngine as error:
            raise Refused(422, str(error), fields=(("engine", str(error)),)) from None
        except replay.TooManyRuns as error:
            raise Refused(409, str(error)) from None
        except replay.ReplayRefused as error:
            raise Refused(422, str(error)) from None
        if started.is_new and started.job_id is not None:
            transaction.on_commit(partial(tasks.enqueue, started.job_id), robust=True)
    is_done = not started.is_new and runs.get_run(started.run_id).is_done
    opened = RunOpened(run=started.run_id, job=started.job_id, is_new=started.is_new, notes=list(started.notes))
    response = one(opened, status=200 if is_done else 202)
    response["Location"] = f"/api/v1/runs/{started.run_id}"
    return response


@router.get("/runs/{run_id}", **reading(ReplayDetail))
def get_run(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """One replay with its settings and its scorecard."""
    return one(detail_of(run_read(request, run_id)))


@router.delete("/runs/{run_id}", **operation("operate", reply=RunDeleted, errors=(404, 409, 422)))
def delete_run(request: HttpRequest, run_id: RunId) -> HttpResponse:
    """Delete a replay with every text that only it holds. 409 while it runs: cancel its job first."""
    row = run_read(request, run_id)
    try:
        replay.delete_run(row.id)
    except replay.ReplayRefused as error:
        raise Refused(409, str(error)) from None
    return one(RunDeleted(run=row.id))


@router.get("/runs/{run_id}/calls", **reading(PageOf[ReplayCall]))
def list_run_calls(
    request: HttpRequest, run_id: RunId, limit: Limit = USUAL_ITEMS, cursor: Cursor = None
) -> HttpResponse:
    """The run's calls in order, each with the size of its window; none until it is done."""
    asked = Placed.asked("run calls", limit, cursor)
    found = runs.calls(run_read(request, run_id), asked.start, asked.stop)
    return asked.reply(found, call_of, at=attrgetter("index"))


@router.get("/runs/{run_id}/calls/{number}", **reading(ReplayCall))
def get_run_call(request: HttpRequest, run_id: RunId, number: Number) -> HttpResponse:
    """One call of the run by its number."""
    return one(call_of(runs.get_call(run_read(request, run_id), number - 1)))


@router.get("/runs/{run_id}/calls/{number}/items", **reading(PageOf[Item]))
def list_run_call_items(
    request: HttpRequest,
    run_id: RunId,
    number: Number,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """What the engine put into the window of a call, item by item, in order."""
    asked = Placed.asked("run items", limit, cursor)
    row = run_read(request, run_id)
    window = runs.window(row, number - 1, asked.start, asked.stop)
    refs = (item.item.text for item in window.items[:limit])
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=f"run {row.id}, items of call {number}")
    return asked.reply(window.items, lambda item: item_of(item, bodies), at=attrgetter("place"), bodies=bodies)


@router.get("/runs/{run_id}/boundaries", **reading(PageOf[Boundary]))
def list_run_boundaries(
    request: HttpRequest,
    run_id: RunId,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """Where something left the window, in order."""
    asked = Placed.asked("boundaries", limit, cursor)
    row = run_read(request, run_id)
    found = runs.boundaries(row, asked.start, asked.stop)
    refs = (made.compaction.summary for made in found[:limit] if made.compaction.summary)
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=f"run {row.id}, summaries of boundaries")
    dropped = runs.messages_at(row, {seq for made in found[:limit] for seq in made.dropped[:MOST_DROPPED]})
    return asked.reply(found, lambda made: boundary_of(made, dropped, bodies), bodies=bodies)


@router.get("/runs/{run_id}/nodes", **reading(PageOf[Summary]))
def list_run_nodes(
    request: HttpRequest,
    run_id: RunId,
    text: WithText = False,
    unmasked: Unmasked = False,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """The summaries that the engine made, in that order."""
    asked = Placed.asked("run nodes", limit, cursor)
    row = run_read(request, run_id)
    found = runs.nodes(row, asked.start, asked.stop)
    refs = (node.text for node in found[:limit])
    bodies = bodies_of(request, refs, text=text, unmasked=unmasked, what=f"run {row.id}, summaries")
    return asked.reply(found, lambda node: node_of(node, bodies), bodies=bodies)


@router.get("/runs/{run_id}/originals/{handle}", **reading(RunOriginalFound))
def get_run_original(
    request: HttpRequest, run_id: RunId, handle: Handle, text: WithText = False, unmasked: Unmasked = False
) -> HttpResponse:
    """What a handle in one of the run's windows stands for."""
    row = run_read(request, run_id)
    found = runs.get_original(row, handle)
    bodies = bodies_of(request, [found.text], text=text, unmasked=unmasked, what=f"run {row.id}, an original")
    messages: dict[int, Any] = {} if found.seq is None else runs.messages_at(row, [found.seq])
    return one(original_of(found, messages.get(found.seq or 0), bodies), bodies=bodies)
