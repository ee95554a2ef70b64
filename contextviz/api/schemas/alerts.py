"""Alerts: what rules told."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from ninja import Schema

from contextviz.api.shapes import Name, Words
from contextviz.store.queries.alerts import AlertRow


class Alert(Schema):
    """A rule that came true for a session: when it was told, and the call or compaction (as pages number them) that
    made it true, null where there is none. `happened_at` is the source's own time. `webhook` is none, queued, sent or
    failed, by `job`."""

    id: int
    rule: Name
    kind: str
    session: int
    title: Name
    at: datetime
    sentence: Words
    call: int | None
    compaction: int | None
    happened_at: datetime | None
    webhook: str
    job: UUID | None


def alert_of(row: AlertRow) -> Alert:
    """An alert as lists show it."""
    return Alert(
        id=row.id, rule=row.rule, kind=row.kind, session=row.session_id, title=row.title, at=row.at,
        sentence=row.sentence, call=row.data.get("call"), compaction=row.data.get("compaction"),
        happened_at=row.data.get("happened_at"), webhook=row.webhook_state, job=row.job_id,
    )  # fmt: skip
