"""Every component in every state, for whoever works on the pages; only with CONTEXTVIZ_DEBUG."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.store.values import NotFound
from contextviz.web.pages.guide.styleguide import figure, sections


def _only_in_debug() -> None:
    if not settings.DEBUG:
        raise NotFound("The style guide is there with CONTEXTVIZ_DEBUG=yes only.")


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """The page."""
    _only_in_debug()
    return render(request, "styleguide/page.html", {"sections": sections()})


@require_safe
def styleguide_figure(request: HttpRequest) -> HttpResponse:
    """The context strip's figure for it."""
    _only_in_debug()
    return JsonResponse(figure())


urlpatterns = [
    path("styleguide/", styleguide, name="styleguide"),
    path("styleguide/figure.json", styleguide_figure, name="styleguide_figure"),
]
