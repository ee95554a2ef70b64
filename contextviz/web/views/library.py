"""The Library: every session, imports under way, and where to begin when there is none."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from contextviz.services import ingest
from contextviz.services.demo.loading import open_demo
from contextviz.store.queries import jobs, sessions, uploads
from contextviz.store.queries.sparklines import sparklines
from contextviz.store.values import JobRow
from contextviz.web.answers import see_other
from contextviz.web.errors import refusal
from contextviz.web.htmx import page_or_fragment, wants_fragment
from contextviz.web.pages.jobs import batches_of, job_views
from contextviz.web.pages.library.page import Imports, LibraryPage, library_page
from contextviz.web.pages.library.query import LibraryQuery, parse
from contextviz.web.queueing import enqueue_after_commit

PAGE_SIZE = 50


@require_safe
def library(request: HttpRequest) -> HttpResponse:
    """The page, or for htmx its table with heading and filters beside it."""
    page = _page(parse(request.GET.dict()))
    template = "library/library.html" if page.total else "library/empty.html"
    if not page.total and wants_fragment(request):
        response = HttpResponse()
        response["HX-Refresh"] = "true"  # the last session went while the page was open
        return response
    return page_or_fragment(request, template, "library/results.html", {"page": page})


def _page(query: LibraryQuery) -> LibraryPage:
    facets = sessions.facets()
    wanted = query.wanted(timezone.now(), [one.value for one in facets["format"]])
    found = sessions.library(wanted, sort=query.sort, descending=query.descending, page=query.page, size=PAGE_SIZE)
    total = sessions.session_count()
    return library_page(
        query,
        found,
        sparklines(found.items),
        facets,
        total=total,
        imports=_imports(total),
        interrupted=jobs.uploads_to_tell(),
        homes=[] if total else ingest.discover_homes(),
    )


def _imports(total: int) -> Imports:
    running = _running()
    names = uploads.names_of_batches(batches_of(running))
    return Imports(job_views(running, names, now=timezone.now()), f"{reverse('imports')}?seen={total}-{len(running)}")


def _running() -> list[JobRow]:
    return [row for row in jobs.unfinished_jobs() if row.kind == "digest"]


@require_safe
def imports(request: HttpRequest) -> HttpResponse:
    """The rows of imports under way; tells the table when sessions came, and stops the polling when none is left."""
    total = sessions.session_count()
    now = _imports(total)
    seen, _, running = request.GET.get("seen", "").partition("-")
    is_changed = (seen, running) != (str(total), str(len(now.jobs)))
    # 286 tells htmx to stop asking.
    response = render(request, "library/imports.html", {"imports": now}, status=200 if now.jobs else 286)
    if is_changed and seen == "0" and total:
        response["HX-Refresh"] = "true"  # the empty page has no table
    elif is_changed:
        response["HX-Trigger"] = "cv:sessions"
    return response


@require_POST
def demo(request: HttpRequest) -> HttpResponse:
    """Load the demo as a job."""
    return _follow(open_demo(now=timezone.now()))


@require_POST
def import_home(request: HttpRequest) -> HttpResponse:
    """Import one of the agents' homes that were found; no other folder can be named here."""
    chosen = request.POST.get("home", "")
    home = next((one for one in ingest.discover_homes() if one.path == chosen), None)
    if home is None:
        return refusal(request, "No transcripts are there any more. Reload the Library to look again.", 404)
    return _follow(ingest.import_paths([home.path], now=timezone.now()))


def _follow(job_id: UUID) -> HttpResponse:
    enqueue_after_commit(job_id)
    return see_other(reverse("library"))


urlpatterns = [
    path("", library, name="library"),
    path("imports/", imports, name="imports"),
    path("imports/demo/", demo, name="demo"),
    path("imports/home/", import_home, name="import_home"),
]
