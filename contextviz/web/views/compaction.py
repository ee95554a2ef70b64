"""Compactions: the list, and one boundary."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.analysis.compaction import STATES
from contextviz.store.queries import calls
from contextviz.web.access import session_read
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.compaction.boundary import BoundaryParams, boundary_page
from contextviz.web.pages.compaction.decisions import decisions
from contextviz.web.pages.compaction.listing import compactions_page


def whole_number(text: str | None, default: int = 1) -> int:
    """A whole number of the query string; anything else is `default`."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


@require_safe
def show_compactions(request: HttpRequest, session_id: int) -> HttpResponse:
    """Every compaction of a session."""
    row = session_read(request, session_id)
    page = compactions_page(row, calls.compactions(session_id, with_lists=False), whole_number(request.GET.get("page")))
    events = decisions(session_id, request.GET.get("event", ""), whole_number(request.GET.get("events")))
    context = {"page": page, "events": events}
    return page_or_fragment(request, "compaction/list.html", "compaction/_list.html", context)


@require_safe
def show_compaction(request: HttpRequest, session_id: int, number: int) -> HttpResponse:
    """One compaction; as a fragment, its ledger."""
    row = session_read(request, session_id)
    state = request.GET.get("state", "")
    params = BoundaryParams(
        identifiers=request.GET.get("identifiers") == "1",
        state=state if state in STATES else "",
        page=whole_number(request.GET.get("page")),
        dropped=whole_number(request.GET.get("dropped")),
        whole_summary=request.GET.get("summary") == "all",
    )
    page = boundary_page(row, calls.compactions(session_id, with_lists=False), number, params)
    return page_or_fragment(request, "compaction/detail.html", "compaction/_ledger.html", {"page": page})


urlpatterns = [
    path("sessions/<int:session_id>/compactions/", show_compactions, name="compactions"),
    path("sessions/<int:session_id>/compactions/<int:number>/", show_compaction, name="compaction"),
]
