"""Every page's address. Each module of `views` lists its own, so that a page is one place to look."""

from __future__ import annotations

from django.urls import path

from contextviz.web.health import healthz
from contextviz.web.views import (
    budget,
    call,
    compaction,
    graph,
    jobs,
    library,
    originals,
    prices,
    session,
    settings,
    sign_in,
    topics,
    uploads,
)

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    *library.urlpatterns,
    *uploads.urlpatterns,
    *session.urlpatterns,
    *call.urlpatterns,
    *compaction.urlpatterns,
    *graph.urlpatterns,
    *budget.urlpatterns,
    *originals.urlpatterns,
    *topics.urlpatterns,
    *jobs.urlpatterns,
    *settings.urlpatterns,
    *prices.urlpatterns,
    *sign_in.urlpatterns,
]
