"""News to rows, in the transaction that saves the session: nothing that a page shows is only in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count

from contextviz.events.session import Transcript
from contextviz.services.live.news import Counts, News, counts_of, news_of
from contextviz.services.live.waking import wake_after_commit
from contextviz.store.bulk import chunks, clean_deep
from contextviz.store.models import CallRecord, LiveEventRecord, MessageRecord, SessionDetailRecord, SessionRecord
from contextviz.store.queries.engine_events import counts_by_type

RECENT = timedelta(minutes=10)
KEPT = timedelta(days=7)
MOST_KEPT = 200_000
MOST_AT_ONCE = 5_000
QUERY_KEYS = 500
# Any number that nothing else of ours locks.
_FEED_LOCK = 7_305_442_019


@dataclass(frozen=True, slots=True)
class Earlier:
    """A session as it was before it is saved again; `is_new` where it was not there."""

    is_new: bool = True
    counts: Counts = field(default_factory=Counts)
    saved_at: datetime | None = None


def earlier_of(key: str) -> Earlier:
    """How the session of this key was saved last. Two queries, four where it has sub-agents; inside the
    transaction that saves it."""
    columns = ("pk", "message_count", "call_count", "compaction_count", "node_count", "subagent_count", "updated_at")
    found = SessionRecord.objects.filter(key=key).values_list(*columns).first()
    if found is None or not SessionDetailRecord.objects.filter(session_id=found[0]).exists():
        return Earlier()
    pk, messages, calls, compactions, nodes, agents, saved_at = found
    decisions = sum(counts_by_type(pk).values())
    of_agents = _of_agents(pk) if agents else {}
    return Earlier(False, Counts(messages, calls, compactions, nodes, agents, decisions, of_agents), saved_at)


def _of_agents(session_id: int) -> dict[str, tuple[int, int]]:
    rows = [
        dict(model.objects.filter(session_id=session_id).values("agent").order_by("agent").annotate(n=Count("pk"))
             .values_list("agent", "n"))
        for model in (MessageRecord, CallRecord)
    ]  # fmt: skip
    messages, calls = rows
    return {agent: (messages.get(agent, 0), calls.get(agent, 0)) for agent in messages.keys() | calls.keys()}


def tell(session_id: int, transcript: Transcript, earlier: Earlier, *, now: datetime) -> int:
    """Write the rows of what is new since `earlier`; how many. Call it in the transaction that saves the session, last.

    An old session that is brought in is one row; of one that goes on, what happened in the last ten minutes is told
    too. A session read again tells nothing twice, since every row has its key.
    """
    if earlier.is_new:
        news = [_found(transcript), *news_of(transcript, counts_of(transcript), now - RECENT)]
    else:
        news = news_of(transcript, earlier.counts, (earlier.saved_at or now) - RECENT)
    fresh = _unknown(session_id, news)
    if not fresh:
        return 0
    _lock()
    rows = [
        LiveEventRecord(
            session_id=session_id, kind=one.kind, at=one.at, seen_at=now, key=one.key, call_index=one.call_index,
            data=clean_deep(one.data),
        )
        for one in fresh[-MOST_AT_ONCE:]
    ]  # fmt: skip
    LiveEventRecord.objects.bulk_create(rows, batch_size=QUERY_KEYS, ignore_conflicts=True)
    wake_after_commit()
    return len(rows)


def _found(transcript: Transcript) -> News:
    session = transcript.session
    at = session.ended_at or session.started_at
    data = {"format": session.format, "agent": (session.agent or "")[:200], "calls": len(transcript.calls),
            "compactions": len(transcript.compactions)}  # fmt: skip
    return News("session", "found", at, data=data)


def _unknown(session_id: int, news: list[News]) -> list[News]:
    known: set[str] = set()
    for part in chunks((one.key for one in news), QUERY_KEYS):
        rows = LiveEventRecord.objects.filter(session_id=session_id, key__in=part)
        known.update(rows.values_list("key", flat=True))
    fresh = {one.key: one for one in news if one.key not in known}
    return list(fresh.values())


def _lock() -> None:
    """One writer at a time from here to the commit, so that rows become visible in the order of their numbers: a reader
    that has seen a number has seen all before it. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_FEED_LOCK])


def forget_old(*, now: datetime) -> int:
    """Remove rows older than a week, and of more than 200,000 the oldest; how many."""
    removed, _ = LiveEventRecord.objects.filter(seen_at__lt=now - KEPT).delete()
    newest = LiveEventRecord.objects.order_by("-pk").values_list("pk", flat=True)[MOST_KEPT : MOST_KEPT + 1]
    last = next(iter(newest), None)
    if last is not None:
        removed += LiveEventRecord.objects.filter(pk__lte=last).delete()[0]
    return removed
