"""The Library's address as an object: what is searched, filtered and sorted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone

from contextviz.sources.naming import program_and_format
from contextviz.store.queries.sessions import SORTS
from contextviz.store.values import LibraryFilter

PERIODS = {1: "Last 24 hours", 7: "Last 7 days", 14: "Last 14 days", 30: "Last 30 days", 90: "Last 90 days"}
MOST_CHARS = 200
# Columns that are read from small to large first; all others begin with the largest.
ASCENDING = ("title", "agent")
_YES = ("1", "yes", "on", "true")


@dataclass(frozen=True, slots=True)
class LibraryQuery:
    """One state of the Library; the defaults show everything, the newest first."""

    # Words that must all occur in title, id, agent, model or folder
    q: str = ""
    # A format's key, "" for any
    format: str = ""
    # The program that wrote it, as the table names it ("Claude Code"), "" for any
    program: str = ""
    # An agent's own name ("main"), "" for any
    agent: str = ""
    # Only sessions that were compacted
    compacted: bool = False
    # Only sessions whose reading found problems
    problems: bool = False
    # Only the last so many days, a key of PERIODS; 0 for all
    days: int = 0
    # First and last day of activity, in the person's time zone
    since: date | None = None
    until: date | None = None
    # A key of store.queries.sessions.SORTS
    sort: str = "time"
    # Whether the order is turned round from the column's usual one
    reverse: bool = False
    # Page number from 1
    page: int = 1
    # What of the address could not be understood, as sentences
    notices: tuple[str, ...] = field(default=(), compare=False)

    @property
    def descending(self) -> bool:
        """Whether large values come first."""
        return (self.sort not in ASCENDING) != self.reverse

    @property
    def is_filtered(self) -> bool:
        """Whether anything is left out."""
        return replace(self, sort="time", reverse=False, page=1) != LibraryQuery()

    def wanted(self, now: datetime, formats: Iterable[str] = ()) -> LibraryFilter:
        """The filter as the store takes it; `formats` are those that there are, of which a program writes some."""
        since = _midnight(self.since) if self.since else None
        if self.days:
            recent = now - timedelta(days=self.days)
            since = max(since, recent) if since else recent
        until = _midnight(self.until + timedelta(days=1)) if self.until else None
        own = tuple(key for key in formats if program_and_format(key)[0] == self.program)
        return LibraryFilter(
            self.q, self.format, self.agent, self.compacted, self.problems, since=since, until=until,
            formats=own if self.program else None,
        )  # fmt: skip

    def to_query(self, **changes: Any) -> str:
        """The query string with `changes`, holding only what differs from the defaults; "?" alone for the defaults."""
        changes.setdefault("page", 1)
        chosen, plain = replace(self, **changes), LibraryQuery()
        values = {}
        for one in fields(chosen):
            value = getattr(chosen, one.name)
            if one.name != "notices" and value != getattr(plain, one.name):
                values[one.name] = "1" if value is True else str(value)
        return "?" + urlencode(values)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def parse(given: Mapping[str, str]) -> LibraryQuery:
    """Read a query string; what cannot be understood falls back to its default, with a notice."""
    notices: list[str] = []
    days = _whole("days", given, 0, notices)
    if days and days not in PERIODS:
        notices.append(f"“{_short(given['days'])}” is not a period offered here; all days are shown.")
        days = 0
    sort = given.get("sort") or "time"
    if sort not in SORTS:
        notices.append(f"Sessions cannot be sorted by “{_short(sort)}”; the newest come first.")
        sort = "time"
    q = given.get("q", "").replace("\x00", "").strip()
    if len(q) > MOST_CHARS:
        notices.append(f"The search was cut to its first {MOST_CHARS} characters.")
        q = q[:MOST_CHARS]
    return LibraryQuery(
        q=q,
        format=_name(given.get("format")),
        program=_name(given.get("program")),
        agent=_name(given.get("agent")),
        compacted=given.get("compacted", "") in _YES,
        problems=given.get("problems", "") in _YES,
        days=days,
        since=_day("since", given, notices),
        until=_day("until", given, notices),
        sort=sort,
        reverse=given.get("reverse", "") in _YES,
        page=max(1, _whole("page", given, 1, notices)),
        notices=tuple(notices),
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _name(text: str | None) -> str:
    return (text or "").replace("\x00", "").strip()[:MOST_CHARS]


def _whole(name: str, given: Mapping[str, str], default: int, notices: list[str]) -> int:
    text = given.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        notices.append(f"“{_short(text)}” is not a number for “{name}”; it is left out.")
        return default
    return int(text)


def _day(name: str, given: Mapping[str, str], notices: list[str]) -> date | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.min
    if not 1970 <= found.year <= 9998:
        notices.append(f"“{_short(text)}” is not a day like 2026-11-30; it is left out.")
        return None
    return found
