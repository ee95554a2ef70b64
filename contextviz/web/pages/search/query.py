"""The search page's address as an object: what is looked for, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone

from contextviz.sources.naming import formats_of
from contextviz.store.search import SearchFilter

PERIODS = {1: "Last 24 hours", 7: "Last 7 days", 30: "Last 30 days", 90: "Last 90 days"}
ROLES = {"user": "User", "assistant": "Assistant", "tool": "Tool", "system": "System", "developer": "Developer"}
KINDS = {
    "message": ("Messages", ("message",)),
    "tool_call": ("Tool calls", ("tool_call",)),
    "tool_result": ("Tool results", ("tool_result",)),
    "summary": ("Summaries", ("summary", "node")),
    "original": ("Originals", ("original",)),
    "context": ("Other context", ("context", "note")),
}
WINDOWS = {"in": "In the window at the end", "out": "Out of the window"}
MOST_CHARS = 10_000  # of the field; what of it is looked for is events.search's to say
MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class SearchPlace:
    """One state of the search page; the defaults look everywhere."""

    # Words, phrases, -word, begin*, OR
    q: str = ""
    # The program that wrote a session, an agent's own name, and the format; "" for any
    program: str = ""
    agent: str = ""
    format: str = ""
    # Who said it: a key of ROLES, or the source's own word
    role: str = ""
    # A tool's name
    tool: str = ""
    # A key of KINDS
    kind: str = ""
    # A key of WINDOWS
    window: str = ""
    # One session alone, by row id; 0 for all
    session: int = 0
    # Only the last so many days, a key of PERIODS; 0 for all
    days: int = 0
    # First and last day, in the person's time zone
    since: date | None = None
    until: date | None = None
    # Page number from 1
    page: int = 1
    # What of the address could not be understood, as sentences
    notices: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_filtered(self) -> bool:
        """Whether anything but the words decides."""
        return replace(self, q="", page=1) != SearchPlace()

    def wanted(self, now: datetime) -> SearchFilter:
        """The filter as the store takes it."""
        since = _midnight(self.since) if self.since else None
        if self.days:
            recent = now - timedelta(days=self.days)
            since = max(since, recent) if since else recent
        return SearchFilter(
            agent=self.agent, format=self.format, role=self.role, tool=self.tool,
            kinds=KINDS[self.kind][1] if self.kind else (),
            in_window={"in": True, "out": False}.get(self.window),
            since=since, until=_midnight(self.until + timedelta(days=1)) if self.until else None,
            session_id=self.session or None, formats=formats_of(self.program) if self.program else (),
        )  # fmt: skip

    def to_query(self, **changes: Any) -> str:
        """The query string with `changes`, holding only what differs from the defaults; "?" alone for the defaults."""
        changes.setdefault("page", 1)
        return "?" + urlencode(self.values(**changes))

    def values(self, **changes: Any) -> dict[str, str]:
        """The parameters that differ from the defaults."""
        chosen, usual = replace(self, **changes), SearchPlace()
        return {
            one.name: str(getattr(chosen, one.name))
            for one in fields(chosen)
            if one.name != "notices" and getattr(chosen, one.name) != getattr(usual, one.name)
        }


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def parse(given: Mapping[str, str]) -> SearchPlace:
    """Read a query string; what cannot be understood falls back to its default, with a notice."""
    notices: list[str] = []
    days = _whole("days", given, notices)
    if days and days not in PERIODS:
        notices.append(f"{days} days are not a period offered here; all days are searched.")
        days = 0
    return SearchPlace(
        q=given.get("q", "").replace("\x00", " ").strip()[:MOST_CHARS],
        program=_name(given.get("program")),
        agent=_name(given.get("agent")),
        format=_name(given.get("format")),
        role=_name(given.get("role")),
        tool=_name(given.get("tool")),
        kind=_one_of("kind", given, KINDS, notices),
        window=_one_of("window", given, WINDOWS, notices),
        session=_whole("session", given, notices),
        days=days,
        since=_day("since", given, notices),
        until=_day("until", given, notices),
        page=max(1, _whole("page", given, notices)),
        notices=tuple(notices),
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _name(text: str | None) -> str:
    return (text or "").replace("\x00", "").strip()[:MOST_NAME]


def _one_of(name: str, given: Mapping[str, str], known: Mapping[str, Any], notices: list[str]) -> str:
    text = given.get(name, "").strip()
    if text and text not in known:
        notices.append(f"“{_short(text)}” is no {name} known here ({', '.join(known)}); it is left out.")
        return ""
    return text


def _whole(name: str, given: Mapping[str, str], notices: list[str]) -> int:
    text = given.get(name, "").strip()
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        notices.append(f"“{_short(text)}” is not a number for “{name}”; it is left out.")
        return 0
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
