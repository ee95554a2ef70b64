"""Alerts: what rules told, read only."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from contextviz.api import cursors
from contextviz.api.params import USUAL_ITEMS, Cursor, Limit, reading
from contextviz.api.replies import page
from contextviz.api.schemas.alerts import Alert, alert_of
from contextviz.api.shapes import PageOf
from contextviz.store.queries.alerts import alerts_newest

router = Router(tags=["alerts"])


@router.get("/alerts", **reading(PageOf[Alert]))
def list_alerts(request: HttpRequest, limit: Limit = USUAL_ITEMS, cursor: Cursor = None) -> HttpResponse:
    """Alerts, the newest first."""
    before = cursors.read_number("alerts", cursor) if cursor is not None else None
    found = alerts_newest(most=limit + 1, before=before)
    return page(found, limit=limit, build=alert_of, cursor=lambda row: cursors.write("alerts", row.id))
