"""What is known from each format: the readers' own declarations beside what was seen here."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.web.pages.guide.coverage import coverage_page


@require_safe
def coverage(request: HttpRequest) -> HttpResponse:
    """The page."""
    return render(request, "coverage/page.html", {"page": coverage_page()})


urlpatterns = [path("coverage/", coverage, name="coverage")]
