"""Masked values on request: for one message, block, item, summary or original, and never without a line in the audit.

A POST, so that no link, prefetch or reload does it; operators and admins alone (web.roles); kept by no cache.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path
from django.utils.html import escape
from django.views.decorators.http import require_POST

from contextviz.services.accounts.audit import note
from contextviz.web.access import session_read
from contextviz.web.htmx import wants_fragment
from contextviz.web.masking import mask_page, unmasked
from contextviz.web.pages.unmasked import Unmasked, of_compaction, of_item, of_message, of_summary


@require_POST
def unmask_message(request: HttpRequest, session_id: int, index: int) -> HttpResponse:
    """A whole message."""
    session_read(request, session_id)
    return show_unmasked(request, of_message(session_id, index))


@require_POST
def unmask_block(request: HttpRequest, session_id: int, index: int, block: int) -> HttpResponse:
    """One block of a message."""
    session_read(request, session_id)
    return show_unmasked(request, of_message(session_id, index, block))


@require_POST
def unmask_item(request: HttpRequest, session_id: int, position: int) -> HttpResponse:
    """One item of a window."""
    session_read(request, session_id)
    return show_unmasked(request, of_item(session_id, position))


@require_POST
def unmask_compaction(request: HttpRequest, session_id: int, number: int) -> HttpResponse:
    """The summary of a compaction."""
    session_read(request, session_id)
    return show_unmasked(request, of_compaction(session_id, number))


@require_POST
def unmask_summary(request: HttpRequest, session_id: int, node_id: str) -> HttpResponse:
    """One summary of a summary store."""
    session_read(request, session_id)
    return show_unmasked(request, of_summary(session_id, node_id))


def show_unmasked(request: HttpRequest, found: Unmasked) -> HttpResponse:
    """The texts, once it is written down who asked. Everything around them stays masked."""
    note("secret_unmasked", target=found.target)
    template = "unmasked/_texts.html" if wants_fragment(request) else "unmasked/page.html"
    html = mask_page(render_to_string(template, {"found": found}, request))
    for text in found.texts:
        html = html.replace(text.slot, escape(text.text))
    response = HttpResponse(html)
    response["Vary"] = "HX-Request, Cookie"
    return unmasked(response)


urlpatterns = [
    path("sessions/<int:session_id>/messages/<int:index>/unmask/", unmask_message, name="unmask_message"),
    path(
        "sessions/<int:session_id>/messages/<int:index>/blocks/<int:block>/unmask/", unmask_block, name="unmask_block"
    ),
    path("sessions/<int:session_id>/items/<int:position>/unmask/", unmask_item, name="unmask_item"),
    path("sessions/<int:session_id>/compactions/<int:number>/unmask/", unmask_compaction, name="unmask_compaction"),
    path("sessions/<int:session_id>/graph/<path:node_id>/unmask/", unmask_summary, name="unmask_summary"),
]
