"""What exporters sent that is not kept, for admins."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.web.pages.live.not_kept import not_kept_page


@require_safe
def not_kept(request: HttpRequest) -> HttpResponse:
    """Kinds of records with how many of them came."""
    return render(request, "settings/not_kept.html", {"page": not_kept_page()})


urlpatterns = [path("settings/not-kept/", not_kept, name="not_kept")]
