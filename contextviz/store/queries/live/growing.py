"""The sessions that go on now, each with the last of what happened: what the Live page's cards are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Max, Q

from contextviz.store.models import (
    CompactionRecord,
    InboxStreamRecord,
    LiveEventRecord,
    MessageRecord,
    SessionRecord,
    ToolPairRecord,
)
from contextviz.store.queries.live.feed import LiveEvent, live_bounds, live_rows
from contextviz.store.queries.sessions import find_sessions
from contextviz.store.values import SessionRow
from contextviz.store.viewing import seen_sessions

MOST_GROWING = 60
# What a card tells of by kind; the newest of each is asked for.
TOLD_KINDS = ("compaction_started", "compaction", "evaluation", "error", "subagent")
# A burst of more than this is looked at from its end: a card shows what is newest anyway.
MOST_LOOKED_AT = 20_000
MOST_MESSAGES = 50


@dataclass(frozen=True, slots=True)
class LastMessage:
    """The newest message of a session's own agent: who said it, and whether it calls a tool that has not answered."""

    role: str
    at: datetime | None
    has_open_call: bool


@dataclass(frozen=True, slots=True)
class LastCompaction:
    """The newest compaction. Tokens are the client's own numbers, None where it wrote none."""

    number: int
    at: datetime | None
    trigger: str | None
    before: int | None
    after: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Growing:
    """One session that goes on. `newest` is the last row of the feed, `told` the last one of each of TOLD_KINDS;
    `is_posted` where its agent posted of it since."""

    row: SessionRow
    newest: LiveEvent | None
    told: Mapping[str, LiveEvent] = field(default_factory=dict)
    message: LastMessage | None = None
    compaction: LastCompaction | None = None
    is_posted: bool = False


def growing(since: datetime, *, most: int = MOST_GROWING) -> tuple[list[Growing], int]:
    """The sessions of which something was told since then, or whose last line is half written, the newest first; and
    how many there are in all. An old session that was only found is none of them. Eleven queries, however many."""
    floor = live_bounds()[1] - MOST_LOOKED_AT
    last_ids = _last_rows(since, floor)
    half = SessionRecord.objects.filter(seen_sessions(), status="growing").order_by("-updated_at")
    for session_id in half.values_list("pk", flat=True)[:most]:
        last_ids.setdefault(session_id, 0)
    chosen = sorted(last_ids, key=lambda one: (last_ids[one], one), reverse=True)[:most]
    if not chosen:
        return [], 0
    rows = {row.id: row for row in find_sessions(chosen)}
    if not rows:
        return [], 0
    told = _told(chosen, floor)
    newest = {row.session_id: row for row in live_rows([last_ids[one] for one in chosen if last_ids[one]])}
    messages, compactions = _messages(rows), _compactions(rows)
    posts = InboxStreamRecord.objects.filter(posted_at__gte=since, session_id__in=chosen)
    posted = set(posts.values_list("session_id", flat=True))
    found = [
        Growing(rows[one], newest.get(one), told.get(one, {}), messages.get(one), compactions.get(one), one in posted)
        for one in chosen if one in rows
    ]  # fmt: skip
    return found, len(last_ids)


def told_since(session_ids: Collection[int], since: datetime) -> frozenset[int]:
    """Those of these sessions of which something was told since then, as for `growing`. One query."""
    news = LiveEventRecord.objects.filter(_is_news(since), session_id__in=session_ids, seen_at__gte=since)
    return frozenset(news.order_by().values_list("session_id", flat=True).distinct())


def _last_rows(since: datetime, floor: int) -> dict[int, int]:
    """Session → the number of its newest row, of those of which something was told."""
    rows = LiveEventRecord.objects.filter(seen_sessions("session__"), seen_at__gte=since, pk__gt=floor)
    happened = rows.exclude(session__status="deleting").filter(_is_news(since))
    return dict(happened.values_list("session_id").annotate(last=Max("pk")).order_by())


def _is_news(since: datetime) -> Q:
    # A session that was found is news where it goes on, or where its agent posts it, whatever its clock says.
    posted = InboxStreamRecord.objects.filter(posted_at__gte=since, session__isnull=False).values("session_id")
    return ~Q(kind="session") | Q(at__gte=since) | Q(session_id__in=posted)


def _told(session_ids: Collection[int], floor: int) -> dict[int, dict[str, LiveEvent]]:
    rows = LiveEventRecord.objects.filter(session_id__in=session_ids, kind__in=TOLD_KINDS, pk__gt=floor)
    ids = rows.values_list("session_id", "kind").annotate(last=Max("pk")).order_by().values_list("last", flat=True)
    result: dict[int, dict[str, LiveEvent]] = {}
    for row in live_rows(ids):
        result.setdefault(row.session_id, {})[row.kind] = row
    return result


def _messages(rows: Mapping[int, SessionRow]) -> dict[int, LastMessage]:
    """By session; None where sub-agents alone said the last MOST_MESSAGES."""
    newest = reduce(or_, (Q(session_id=one, index__gte=row.message_count - MOST_MESSAGES) for one, row in rows.items()))
    own = MessageRecord.objects.filter(newest, agent="", on_active_path=True, role__in=("user", "assistant", "tool"))
    places = dict(own.values_list("session_id").annotate(last=Max("index")).order_by())
    found = MessageRecord.objects.filter(_at(places, "index")).values_list("session_id", "role", "at")
    pairs = ToolPairRecord.objects.filter(_at(places, "call_message"), result_message__isnull=True)
    waiting = set(pairs.values_list("session_id", flat=True))
    return {one: LastMessage(role, at, one in waiting) for one, role, at in found}


def _compactions(rows: Mapping[int, SessionRow]) -> dict[int, LastCompaction]:
    places = {one: row.compaction_count - 1 for one, row in rows.items() if row.compaction_count}
    columns = ("session_id", "number", "at", "trigger", "tokens_before", "tokens_after", "duration_seconds")
    result = {}
    for one, number, at, trigger, *rest in CompactionRecord.objects.filter(_at(places, "index")).values_list(*columns):
        result[one] = LastCompaction(number, at, trigger or None, *rest)
    return result


def _at(places: Mapping[int, int], name: str) -> Q:
    """The rows at one place of each session; none where there is no place."""
    wanted = (Q(session_id=session_id, **{name: place}) for session_id, place in places.items())
    return reduce(or_, wanted, Q(pk__in=[]))
