"""What a rule would have told in the past: asked before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import Q

from contextviz.analysis.live.alarms import Alarm, AlarmKind, History, alarms
from contextviz.services.alerts.rules import checked
from contextviz.store.models import SessionRecord
from contextviz.store.queries import calls
from contextviz.store.viewing import seen_sessions

DAYS = 30
MOST_SESSIONS = 50
MOST_CALLS = 20_000
MOST_SHOWN = 20
NO_PREVIEW = "Whether a session was stuck is no matter of its history; this rule has no preview."


@dataclass(frozen=True, slots=True)
class Told:
    """One alert that would have been."""

    session_id: int
    title: str
    alarm: Alarm


@dataclass(frozen=True, slots=True)
class Preview:
    """`count` alerts in `sessions` of the `looked_at` newest sessions of 30 days; the newest 20 of them. `is_cut` where
    there were more sessions or calls than are looked at; `note` where there can be no preview."""

    count: int
    sessions: int
    looked_at: int
    shown: list[Told]
    is_cut: bool = False
    note: str = ""


def preview(kind: str, params: Mapping[str, Any], *, now: datetime, person_id: int | None = None) -> Preview:
    """Ask a rule of this person over the sessions that it would tell of: those that one may see, private ones where
    they are the person's own. Raises RuleRefused. Two queries for each session, 50 at most."""
    numbers = checked(kind, params)
    if kind == "stuck":
        return Preview(0, 0, 0, [], note=NO_PREVIEW)
    told_of = Q(is_private=False) | (Q(owner_id=person_id) if person_id is not None else Q(pk__in=[]))
    recent = SessionRecord.objects.filter(seen_sessions(), told_of, sorted_at__gte=now - timedelta(days=DAYS))
    rows = list(recent.exclude(status="deleting").order_by("-sorted_at", "-pk")[: MOST_SESSIONS + 1])
    told: list[Told] = []
    sessions = left = 0
    for row in rows[:MOST_SESSIONS]:
        left += row.call_count
        if left > MOST_CALLS:
            break
        found = alarms(cast(AlarmKind, kind), numbers, _history(row))
        sessions += bool(found)
        told.extend(Told(row.pk, row.title or row.source_id, alarm) for alarm in reversed(found))
    is_cut = len(rows) > MOST_SESSIONS or left > MOST_CALLS
    newest = sorted(told, key=lambda one: (one.alarm.at is not None, one.alarm.at), reverse=True)
    return Preview(len(told), sessions, min(len(rows), MOST_SESSIONS), newest[:MOST_SHOWN], is_cut)


def _history(row: SessionRecord) -> History:
    own = [c for c in calls.calls(row.pk) if c.agent is None and c.purpose == "turn" and c.on_active_path]
    folds = [f for f in calls.compactions(row.pk, with_lists=False) if f.agent is None and f.on_active_path]
    return History(own, folds, row.window)
