"""What was posted: which session a stream became, and what was counted and not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from contextviz.store.models import InboxCountRecord, InboxStreamRecord
from contextviz.store.viewing import seen_sessions


@dataclass(frozen=True, slots=True)
class InboxCount:
    """How many records of a kind were posted and not kept, and when the last of them came."""

    what: str
    count: int
    last_at: datetime


def session_of_stream(stream_id: int) -> int | None:
    """The session that a stream was read into, where it was and may be seen. One query."""
    found = InboxStreamRecord.objects.filter(seen_sessions("session__"), pk=stream_id, session__isnull=False)
    return found.values_list("session_id", flat=True).first()


def inbox_counts(*, most: int = 200) -> Sequence[InboxCount]:
    """What was posted and not kept, the most frequent first. One query."""
    rows = InboxCountRecord.objects.order_by("-count", "what")[:most]
    return [InboxCount(row.what, row.count, row.last_at) for row in rows]
