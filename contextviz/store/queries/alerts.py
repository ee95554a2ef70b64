"""Alerts: what rules told, for the page and its badge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from contextviz.store.models import AlertRecord
from contextviz.store.viewing import seen_sessions

MOST_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert: of which rule, for which session, when it was told, what happened, and what became of its webhook
    (none, queued, sent, failed) by which job."""

    id: int
    rule_id: int
    rule: str
    kind: str
    session_id: int
    title: str
    at: datetime
    sentence: str
    data: dict[str, Any]
    webhook_state: str
    job_id: UUID | None = None


def alerts_newest(*, most: int = 100, before: int | None = None, after: int | None = None) -> list[AlertRow]:
    """Alerts of sessions that one may see, the newest first. One query."""
    found = _seen()
    if before is not None:
        found = found.filter(pk__lt=before)
    if after is not None:
        found = found.filter(pk__gt=after)
    columns = ("pk", "rule_id", "rule__name", "rule__kind", "session_id", "session__title", "at", "sentence", "data",
               "webhook_state", "job_id")  # fmt: skip
    return [AlertRow(*row) for row in found.order_by("-pk").values_list(*columns)[:most]]


def alert_count(*, now: datetime, hours: int = 24) -> int:
    """How many were told in the last hours, of the newest MOST_COUNTED at most: every page asks. One query."""
    newest = _seen().order_by("-pk").values("pk")[:MOST_COUNTED]
    return AlertRecord.objects.filter(pk__in=newest, at__gte=now - timedelta(hours=hours)).count()


def newest_alert() -> int:
    """The number of the newest alert that one may see, 0 without any. One query."""
    return _seen().order_by("-pk").values_list("pk", flat=True).first() or 0


def _seen() -> QuerySet[AlertRecord]:
    return AlertRecord.objects.filter(seen_sessions("session__")).exclude(session__status="deleting")
