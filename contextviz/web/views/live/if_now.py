"""If it compacted now: a page of a session, and the same as a fragment."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.web.access import session_read
from contextviz.web.htmx import page_or_fragment
from contextviz.web.pages.live.if_now import if_now_page


@require_safe
def if_now(request: HttpRequest, session_id: int) -> HttpResponse:
    """What the session's own rule would remove; `from` is the first item listed. With `identifiers=1` those are read
    however much text there is, and htmx gets them alone."""
    row = session_read(request, session_id)
    text = request.GET.get("from", "")
    start = int(text) - 1 if text.isdecimal() and len(text) < 10 else 0
    is_asked = request.GET.get("identifiers") == "1"
    page = if_now_page(row, start=start, identifiers=is_asked)
    fragment = "live/_at_risk.html" if is_asked else "live/_if_now.html"
    return page_or_fragment(request, "live/if_now.html", fragment, {"page": page})


urlpatterns = [path("sessions/<int:session_id>/if-now/", if_now, name="if_now")]
