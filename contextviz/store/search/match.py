"""Finding: which texts hold the words, and where those texts stand."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL

from contextviz.events.search import SearchQuery, Term
from contextviz.store.models import PlaceRecord, SessionRecord
from contextviz.store.search.lexemes import tsquery
from contextviz.store.viewing import seen_sessions

MOST_HITS = 1000
MOST_TEXTS = 20_000
MOST_FOUND = 5000


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What hits are kept. Empty or None: any. `agent` and `format` are the session's, `kinds` PlaceRecord's;
    `in_window` asks whether the text was still in the window at the session's end. A hit without a time is outside of
    every period."""

    agent: str = ""
    format: str = ""
    role: str = ""
    tool: str = ""
    kinds: tuple[str, ...] = ()
    in_window: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    session_id: int | None = None
    # The session's format is one of these
    formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where the words stand. `place` is by kind: a compaction's number, a node's or an item's position."""

    id: int
    session_id: int
    text_id: int
    kind: str
    role: str
    tool: str
    agent: str
    at: datetime | None
    message_index: int | None
    call_index: int | None
    place: int | None
    is_in_window: bool | None
    session_agent: str
    session_format: str


@dataclass(frozen=True, slots=True)
class Hits:
    """The newest hits, at most 1,000 (`is_more`: there are more). `is_cut`: the words are in so many texts that only
    the 20,000 kept last were looked at."""

    hits: list[Hit] = field(default_factory=list)
    is_more: bool = False
    is_cut: bool = False


_COLUMNS = tuple(one.name for one in fields(Hit) if not one.name.startswith("session_") or one.name == "session_id")


def search(query: SearchQuery, chosen: SearchFilter = SearchFilter()) -> Hits:
    """Where the query's words stand, the newest first, what has no time last. Two queries, none for an empty query.

    Within one session all texts are looked at: what was kept last may be another session's alone.
    """
    if not query.groups:
        return Hits()
    bound = chosen.session_id is None
    found = _filtered(PlaceRecord.objects.filter(text_id__in=_texts(query, limit=bound)), chosen)
    ordered = found.order_by(F("at").desc(nulls_last=True), "-id")
    rows = ordered.values_list(*_COLUMNS, "session__agent", "session__format")[: MOST_HITS + 1]
    hits = [Hit(*row) for row in rows]
    return Hits(hits[:MOST_HITS], len(hits) > MOST_HITS, bound and _is_cut(query))


def find_in_session(session_id: int, query: SearchQuery, agent: str | None = None) -> tuple[list[int], bool]:
    """The messages of one window (`agent`, None the main chain) that hold the words, in order, and whether there are
    more than 5,000. One query."""
    if not query.groups:
        return [], False
    found = PlaceRecord.objects.filter(
        text_id__in=_texts(query, limit=False), session_id=session_id, agent=agent or "", message_index__isnull=False
    )
    ordered = found.order_by("message_index").values_list("message_index", flat=True).distinct()
    indexes = [index for index in ordered[: MOST_FOUND + 1] if index is not None]
    return indexes[:MOST_FOUND], len(indexes) > MOST_FOUND


def _filtered(found: QuerySet[PlaceRecord], chosen: SearchFilter) -> QuerySet[PlaceRecord]:
    wanted: dict[str, Any] = {
        "session__agent": chosen.agent, "session__format": chosen.format, "role": chosen.role, "tool": chosen.tool,
    }  # fmt: skip
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    if chosen.formats:
        found = found.filter(session__format__in=chosen.formats)
    if chosen.kinds:
        found = found.filter(kind__in=chosen.kinds)
    if chosen.in_window is not None:
        found = found.filter(is_in_window=chosen.in_window)
    if chosen.since:
        found = found.filter(at__gte=chosen.since)
    if chosen.until:
        found = found.filter(at__lt=chosen.until)
    if chosen.session_id is not None:
        found = found.filter(session_id=chosen.session_id)
    seen = SessionRecord.objects.filter(seen_sessions()).exclude(status="deleting")
    return found.filter(session__in=seen)


def _match(query: SearchQuery) -> tuple[str, str, str]:
    """The condition of the index, its column of text ids, and what it is given."""
    if connection.vendor == "postgresql":
        return "words @@ %s::tsquery", "text_id", tsquery(query)
    return "store_textsearch MATCH %s", "rowid", fts5(query)


def _texts(query: SearchQuery, *, limit: bool = True) -> RawSQL:
    condition, column, given = _match(query)
    bound = f" ORDER BY {column} DESC LIMIT {MOST_TEXTS}" if limit else ""
    return RawSQL(f"SELECT {column} FROM store_textsearch WHERE {condition}{bound}", (given,))


def _is_cut(query: SearchQuery) -> bool:
    condition, _, given = _match(query)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM store_textsearch WHERE {condition} LIMIT 1 OFFSET {MOST_TEXTS}", (given,))
        return cursor.fetchone() is not None


def fts5(query: SearchQuery) -> str:
    """The query as FTS5 reads it: every word in quotation marks, so that none is an operator."""
    wanted = " AND ".join(f"({' OR '.join(map(_term, group))})" for group in query.groups)
    left_out = "".join(f" NOT ({_term(term)})" for term in query.excluded)
    return f"({wanted}){left_out}"


def _term(term: Term) -> str:
    return f'"{" ".join(term.words)}"' + (" *" if term.is_beginning else "")
