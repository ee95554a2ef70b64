"""Search over everything that is kept, and find within one session."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe

from contextviz.web.access import session_read
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.search.find import find_page
from contextviz.web.pages.search.page import search_page
from contextviz.web.pages.search.query import parse


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """The page, or for htmx its hits with the filters beside them."""
    page = search_page(parse(request.GET.dict()), now=timezone.now())
    return page_or_fragment(request, "search/search.html", "search/results.html", {"page": page})


@require_safe
def session_find(request: HttpRequest, session_id: int) -> HttpResponse:
    """The messages of a session that hold the words (q, agent, from, step): as JSON the list of them, without a script
    the transcript at the next one."""
    session_read(request, session_id)
    found = find_page(session_id, request.GET)
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(found.as_json())
    return HttpResponseRedirect(found.url)


urlpatterns = [
    path("search/", search, name="search"),
    path("sessions/<int:session_id>/find/", session_find, name="session_find"),
]
