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
    search,
    session,
    settings,
    topics,
    uploads,
)
from contextviz.web.views.access import accounts, api_keys, privacy, running, sign_in
from contextviz.web.views.guide import coverage, docs, go, styleguide
from contextviz.web.views.lab import page as lab
from contextviz.web.views.lab import running as lab_running
from contextviz.web.views.live import alerts, if_now, not_kept
from contextviz.web.views.live import page as live
from contextviz.web.views.sharing import export, unmask

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    *library.urlpatterns,
    *live.urlpatterns,
    *alerts.urlpatterns,
    *if_now.urlpatterns,
    *uploads.urlpatterns,
    *session.urlpatterns,
    *call.urlpatterns,
    *compaction.urlpatterns,
    *graph.urlpatterns,
    *budget.urlpatterns,
    *lab.urlpatterns,
    *lab_running.urlpatterns,
    *export.urlpatterns,
    *unmask.urlpatterns,
    *search.urlpatterns,
    *originals.urlpatterns,
    *topics.urlpatterns,
    *jobs.urlpatterns,
    *settings.urlpatterns,
    *prices.urlpatterns,
    *api_keys.urlpatterns,
    *accounts.urlpatterns,
    *running.urlpatterns,
    *privacy.urlpatterns,
    *not_kept.urlpatterns,
    *go.urlpatterns,
    *coverage.urlpatterns,
    *docs.urlpatterns,
    *styleguide.urlpatterns,
    *sign_in.urlpatterns,
]
