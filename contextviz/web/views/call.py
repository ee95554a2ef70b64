"""The context at one call, and the whole text of one of its items."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from contextviz.web.access import session_read
from contextviz.web.answers import leave
from contextviz.web.htmx import wants_fragment
from contextviz.web.pages.call.items import item_bytes, item_text
from contextviz.web.pages.call.page import call_page
from contextviz.web.pages.session.place import parse
from contextviz.web.pages.tabs import session_tabs
from contextviz.web.views.session import readout_html


@require_safe
def call(request: HttpRequest, session_id: int, number: int) -> HttpResponse:
    """What the model was given at a call."""
    row = session_read(request, session_id)
    text = request.GET.get("from", "")
    start = int(text) - 1 if text.isdecimal() and len(text) < 10 else 0
    page = call_page(row, number, parse(session_id, request.GET), start)
    return render(request, "call/call.html", {"page": page, "readout": readout_html(page.readout)})


@require_safe
def item(request: HttpRequest, session_id: int, position: int) -> HttpResponse:
    """The whole text of one item, up to a megabyte; a fragment for htmx."""
    row = session_read(request, session_id)
    found, text = item_text(session_id, position)
    context = {
        "item": found, "kind": found.kind.replace("_", " "), "text": text, "sha256": found.text.sha256,
        "title": row.title or row.source_id, "session_id": session_id, "tabs": session_tabs(row, ""),
    }  # fmt: skip
    response = render(request, "call/item_text.html" if wants_fragment(request) else "call/item.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def item_download(request: HttpRequest, session_id: int, position: int) -> HttpResponse:
    """The whole text of one item as a file."""
    session_read(request, session_id)
    data = item_bytes(session_id, position)
    leave(data, f"session {session_id}, context item {position}")
    response = HttpResponse(data, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="session-{session_id}-item-{position}.txt"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


urlpatterns = [
    path("sessions/<int:session_id>/calls/<int:number>/", call, name="call"),
    path("sessions/<int:session_id>/items/<int:position>/", item, name="item"),
    path("sessions/<int:session_id>/items/<int:position>/download", item_download, name="item_download"),
]
