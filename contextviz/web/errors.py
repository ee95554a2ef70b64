"""Refusals that people see: a status and one sentence, as a page, a fragment or JSON."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render

from contextviz.store.values import NotFound
from contextviz.web.htmx import wants_fragment


def refusal(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    """`sentence` with `status` in the form that the request can show."""
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"error": {"status": status, "sentence": sentence}}, status=status)
    if wants_fragment(request):
        return render(request, "components/notice.html", {"kind": "error", "text": sentence}, status=status)
    return render(request, "error.html", {"sentence": sentence, "status": status}, status=status)


class SentenceMiddleware:
    """Shows a missing row as a 404 page with its sentence."""

    def __init__(self, get_response):  # type: ignore[no-untyped-def]
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Django's hook for a view's exception."""
        if isinstance(exception, NotFound):
            return refusal(request, str(exception), 404)
        return None
