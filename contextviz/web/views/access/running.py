"""Settings for admins: what was written down, what is removed by age and size."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.views.decorators.http import require_safe

from contextviz.services.accounts import audit as service
from contextviz.services.keeping.retention import plan
from contextviz.web.pages.access.audit import audit_page
from contextviz.web.pages.access.retention import retention_page


@require_safe
def audit(request: HttpRequest) -> HttpResponse:
    """Acts, the newest first (parameters kind, before)."""
    kind, text = request.GET.get("kind", ""), request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None
    rows, older = service.audit_page(kind=kind, before=before)
    page = audit_page(rows, kind=kind, older=older, is_newest=before is None)
    return render(request, "settings/audit.html", {"page": page})


@require_safe
def retention(request: HttpRequest) -> HttpResponse:
    """What the settings would remove now."""
    return render(request, "settings/retention.html", {"page": retention_page(plan(now=timezone.now()))})


urlpatterns = [
    path("settings/audit/", audit, name="audit"),
    path("settings/retention/", retention, name="retention"),
]
