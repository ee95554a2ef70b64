"""Refusals that people see: a status and one sentence, as a page, a fragment or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from logging import getLogger
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from contextviz.services.outages.trouble import trouble_of
from contextviz.store.values import NotAllowed, NotFound
from contextviz.web.htmx import wants_fragment

logger = getLogger("contextviz.web.errors")


def refusal(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    """`sentence` with `status` in the form that the request can show."""
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"error": {"status": status, "sentence": sentence}}, status=status)
    if wants_fragment(request):
        return render(request, "components/notice.html", {"kind": "error", "text": sentence}, status=status)
    found = {"sentence": sentence, "status": status, **ways_on(request)}
    return render(request, "error.html", found, status=status)


def ways_on(request: HttpRequest) -> dict[str, str]:
    """Where a person can go from a refusal: `again` to a page that was asked for, `back` to where a form was sent."""
    if request.method == "GET":
        return {"again": request.get_full_path()}
    came_from = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure()):
        return {}
    parts = urlsplit(came_from)
    return {"back": urlunsplit(("", "", parts.path or "/", parts.query, ""))}


# No session, message or call has a higher number; databases refuse far greater ones with an error.
MOST_NUMBER = 2_000_000_000
NO_SUCH_NUMBER = "There is nothing with so high a number. The link is wrong, or what it led to was deleted."


class SentenceMiddleware:
    """Answers an impossible number with 404; shows a missing row as a 404 page, a forbidden change as a 403, a busy
    store as a 503 and a full disk as a 507."""

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Mapping[str, Any]
    ) -> HttpResponseBase | None:
        """Django's hook before a view."""
        if any(isinstance(value, int) and value > MOST_NUMBER for value in named.values()):
            return refusal(request, NO_SUCH_NUMBER, 404)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Django's hook for a view's exception."""
        if isinstance(exception, NotFound):
            return refusal(request, str(exception), 404)
        if isinstance(exception, NotAllowed):
            return refusal(request, str(exception), 403)
        trouble = trouble_of(exception)
        if trouble is None:
            return None
        logger.warning("a request has to wait: %s path=%s: %s", trouble.code, request.path, exception)
        response = refusal(request, trouble.sentence, trouble.status)
        response["Retry-After"] = str(trouble.retry_seconds)
        return response
