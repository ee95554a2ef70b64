"""The documents inside the product."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from contextviz.store.values import NotFound
from contextviz.web.pages.guide.docs import FIRST, doc_page, doc_titles


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The first document of the list."""
    names = [name for name, _ in doc_titles()]
    if not names:
        raise NotFound("The documents were not installed with this package; the source has them in docs/.")
    return redirect("docs_page", FIRST[0] if FIRST[0] in names else names[0])


@require_safe
def docs_page(request: HttpRequest, name: str) -> HttpResponse:
    """One document."""
    return render(request, "docs/page.html", {"page": doc_page(name)})


urlpatterns = [
    path("docs/", docs, name="docs"),
    path("docs/<path:name>/", docs_page, name="docs_page"),
]
