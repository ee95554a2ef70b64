"""The summary graph of a session, and the expanding of its nodes by job."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_POST, require_safe

from contextviz import tasks
from contextviz.services import expand
from contextviz.store.values import JobRow, NotFound, SessionRow
from contextviz.web.access import job_read, session_read
from contextviz.web.htmx import page_or_fragment, wants_fragment
from contextviz.web.pages.graph.lens import Lens, lens_of
from contextviz.web.pages.graph.page import graph_page
from contextviz.web.pages.graph.reading import read_graph
from contextviz.web.views.compaction import whole_number


@require_safe
def show_graph(request: HttpRequest, session_id: int) -> HttpResponse:
    """The graph; as a fragment, the lens of the job that the query names."""
    row = session_read(request, session_id)
    node_id = request.GET.get("node", "")
    job, lens = _job(request, row, node_id)
    if wants_fragment(request) and job is not None:
        return _lens_fragment(request, row, node_id, job, lens)
    page = graph_page(
        row,
        read_graph(row),
        node_id=node_id,
        whole_text=request.GET.get("text") == "all",
        twin_page=whole_number(request.GET.get("table"), 0),
        job=job,
        lens=lens,
    )
    status = 404 if page.missing_node else 200
    return page_or_fragment(request, "graph/graph.html", "graph/_pane.html", {"page": page}, status=status)


def _job(request: HttpRequest, row: SessionRow, node_id: str) -> tuple[JobRow | None, Lens | None]:
    """The expand job that the query names, where it is one of this node, and what it found."""
    if not request.GET.get("job"):
        return None, None
    try:
        job = job_read(request, UUID(request.GET["job"]))
    except ValueError:
        raise NotFound("There is no such job here.") from None
    if job.kind != "expand_summary" or job.session_id != row.id or job.params.get("node") != node_id:
        raise NotFound("That job expands another summary. Open the summary and expand it again.")
    if job.state != "done":
        return job, None
    return job, lens_of(row.id, job, reverse("originals"), show_all=request.GET.get("all") == "1")


def _lens_fragment(request: HttpRequest, row: SessionRow, node_id: str, job: JobRow, lens: Lens | None) -> HttpResponse:
    query = urlencode({"node": node_id, "job": str(job.id)})
    context = {
        "row": row,
        "node_id": node_id,
        "job": job,
        "lens": lens,
        "job_url": f"{reverse('graph', args=[row.id])}?{query}",
        "expand_url": reverse("graph_expand", args=[row.id, node_id]),
    }
    response = render(request, "graph/_lens.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def expand_node(request: HttpRequest, session_id: int, node_id: str) -> HttpResponse:
    """Open a job that expands a node; the lens then follows it."""
    row = session_read(request, session_id)
    reading = read_graph(row)
    if reading is None or reading.graph.node(node_id) is None:
        raise NotFound(f"Session {session_id} has no summary called {node_id[:80]}.")
    with transaction.atomic():
        job_id = expand.open_expand(row.id, node_id, now=timezone.now())
        transaction.on_commit(partial(tasks.enqueue, job_id))
    here = f"{reverse('graph', args=[row.id])}?{urlencode({'node': node_id, 'job': str(job_id)})}"
    if wants_fragment(request):
        response = _lens_fragment(request, row, node_id, job_read(request, job_id), None)
        response.headers["HX-Push-Url"] = here
        return response
    return redirect(here)


urlpatterns = [
    path("sessions/<int:session_id>/graph/", show_graph, name="graph"),
    path("sessions/<int:session_id>/graph/<path:node_id>/expand/", expand_node, name="graph_expand"),
]
