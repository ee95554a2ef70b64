"""Originals by hash, prefix or marker, fetched and proved by a job."""

from __future__ import annotations

import hashlib
from functools import partial
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, register_converter, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from contextviz import tasks
from contextviz.services import retrieve
from contextviz.store.queries import texts
from contextviz.store.values import JobRow, NotFound
from contextviz.web.access import job_read, session_read
from contextviz.web.answers import leave
from contextviz.web.htmx import page_or_fragment, wants_fragment
from contextviz.web.pages.originals.markers import session_markers
from contextviz.web.pages.originals.page import originals_page
from contextviz.web.pages.unmasked import of_original
from contextviz.web.views.compaction import whole_number
from contextviz.web.views.sharing.unmask import show_unmasked

MOST_QUERY_CHARS = 200_000


class Sha256Converter:
    """A whole hash in an address."""

    regex = "[0-9a-f]{64}"

    def to_python(self, value: str) -> bytes:
        """The digest."""
        return bytes.fromhex(value)

    def to_url(self, value: str | bytes) -> str:
        """Its hex digits."""
        return value if isinstance(value, str) else value.hex()


register_converter(Sha256Converter, "sha256")


@require_http_methods(["GET", "HEAD", "POST"])
def show_originals(request: HttpRequest) -> HttpResponse:
    """The form and what a retrieval found. A POST opens the job; a GET never does."""
    if request.method == "POST":
        return _retrieve(request)
    job = _job(request)
    chosen = whole_number(request.GET.get("session"), 0)
    markers = session_markers(session_read(request, chosen).id) if chosen else None
    query = request.GET.get("q", "")[:MOST_QUERY_CHARS]
    page = originals_page(query=query, job=job, show_all=request.GET.get("all") == "1", markers=markers)
    context = {"page": page}
    return page_or_fragment(request, "originals/originals.html", "originals/_found.html", context, status=page.status)


def _retrieve(request: HttpRequest) -> HttpResponse:
    query = request.POST.get("q", "")
    if not query.strip():
        messages.error(request, "Paste a hash, at least 6 of its first digits, or a whole marker.")
        page = originals_page()
        return page_or_fragment(
            request, "originals/originals.html", "originals/_found.html", {"page": page}, status=422
        )
    with transaction.atomic():
        job_id = retrieve.open_retrieve(query[:MOST_QUERY_CHARS], now=timezone.now())
        transaction.on_commit(partial(tasks.enqueue, job_id))
    here = f"{reverse('originals')}?{urlencode({'job': str(job_id)})}"
    if wants_fragment(request):
        page = originals_page(job=job_read(request, job_id))
        response = page_or_fragment(request, "originals/originals.html", "originals/_found.html", {"page": page})
        response.headers["HX-Push-Url"] = here
        return response
    return redirect(here)


def _job(request: HttpRequest) -> JobRow | None:
    if not request.GET.get("job"):
        return None
    try:
        job = job_read(request, UUID(request.GET["job"]))
    except ValueError:
        raise NotFound("There is no such retrieval here.") from None
    if job.kind != "retrieve_original":
        raise NotFound("That job is not a retrieval.")
    return job


@require_safe
def download_original(request: HttpRequest, digest: bytes) -> HttpResponse:
    """The bytes behind a hash as a file, hashed again on the way out."""
    data = texts.original_bytes(digest)
    leave(data, f"original {digest.hex()[:24]}")
    again = hashlib.sha256(data).hexdigest()
    response = HttpResponse(data, content_type="text/plain; charset=utf-8")
    name = digest.hex()[:24] if again == digest.hex() else f"{digest.hex()[:24]}-mismatch"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.txt"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "private, no-store"
    return response


@require_POST
def unmask_original(request: HttpRequest, digest: bytes) -> HttpResponse:
    """One original with its values, where the person sees a session that holds it."""
    return show_unmasked(request, of_original(digest))


urlpatterns = [
    path("originals/", show_originals, name="originals"),
    path("originals/<sha256:digest>/download", download_original, name="original_download"),
    path("originals/<sha256:digest>/unmask/", unmask_original, name="unmask_original"),
]
