"""The Live feed: what happened in sessions, in the order in which it was told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Max, Min, Q, QuerySet

from contextviz.store.models import LiveEventRecord
from contextviz.store.viewing import seen_sessions

MOST_EVENTS = 500


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """One row of the feed. `id` is its place: a reader that has seen a number has seen all before it. `title`, `agent`
    and `format` are its session's."""

    id: int
    session_id: int
    kind: str
    at: datetime | None
    seen_at: datetime
    call_index: int | None
    data: dict[str, Any]
    title: str
    agent: str
    format: str


@dataclass(frozen=True, slots=True)
class LiveFilter:
    """Which rows are wanted: of one session, of some kinds, of one agent; nothing given means all."""

    session_id: int | None = None
    kinds: Sequence[str] = field(default=())
    agent: str = ""

    @property
    def condition(self) -> Q:
        """The same for a query."""
        wanted = Q()
        if self.session_id is not None:
            wanted &= Q(session_id=self.session_id)
        if self.kinds:
            wanted &= Q(kind__in=list(self.kinds))
        if self.agent:
            wanted &= Q(session__agent=self.agent)
        return wanted


def live_after(after: int, chosen: LiveFilter, *, most: int = MOST_EVENTS) -> list[LiveEvent]:
    """Rows behind number `after`, the oldest first. One query."""
    return _events(_seen(chosen).filter(pk__gt=after).order_by("pk")[:most])


def live_newest(chosen: LiveFilter, *, most: int = MOST_EVENTS, before: int | None = None) -> list[LiveEvent]:
    """The newest rows (of those before a number), the newest first. One query."""
    found = _seen(chosen)
    if before is not None:
        found = found.filter(pk__lt=before)
    return _events(found.order_by("-pk")[:most])


def live_rows(ids: Iterable[int]) -> list[LiveEvent]:
    """Those rows, the oldest first. One query."""
    return _events(_seen(LiveFilter()).filter(pk__in=list(ids)).order_by("pk"))


def live_bounds() -> tuple[int, int]:
    """The numbers of the oldest and the newest row of all, 0 where there is none. One query."""
    found = LiveEventRecord.objects.aggregate(first=Min("pk"), last=Max("pk"))
    return found["first"] or 0, found["last"] or 0


def _seen(chosen: LiveFilter) -> QuerySet[LiveEventRecord]:
    seen = LiveEventRecord.objects.filter(seen_sessions("session__"), chosen.condition)
    return seen.exclude(session__status="deleting")


def _events(rows: QuerySet[LiveEventRecord]) -> list[LiveEvent]:
    columns = ("pk", "session_id", "kind", "at", "seen_at", "call_index", "data", "session__title", "session__agent",
               "session__format")  # fmt: skip
    return [LiveEvent(*row) for row in rows.values_list(*columns)]
