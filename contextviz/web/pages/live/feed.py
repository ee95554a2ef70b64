"""The feed of the Live page: what is shown of it, and what a script needs to go on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from django.urls import reverse
from django.utils import timezone

from contextviz.services.live.shown import quiet_event, shown_at
from contextviz.store.queries.live import LiveEvent, LiveFilter, live_bounds, live_newest
from contextviz.web.pages.live.cards import SORTS, Card

SHOWN = 100
MOST_NAME = 200
# What is shown → its name, and the kinds of the feed that it is.
SHOWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "": ("All", ()),
    "compactions": ("Compactions", ("compaction_started", "compaction", "summary")),
    "checks": ("Not fired", ("evaluation",)),
    "calls": ("Calls", ("call",)),
    "messages": ("Messages", ("message",)),
    "subagents": ("Sub-agents", ("subagent",)),
    "errors": ("Errors", ("error",)),
    "other": ("Other", ("session", "topic", "decision")),
}
ICONS = {
    "session": "library", "message": "file", "call": "running", "compaction_started": "compacting",
    "compaction": "compacting", "evaluation": "unknown", "summary": "grid", "subagent": "spawn", "topic": "topics",
    "error": "error", "decision": "settings",
}  # fmt: skip
# Keys step to these (c, x, u).
ROW_KINDS = {"compaction_started": "compaction", "compaction": "compaction", "error": "error", "subagent": "subagent"}


@dataclass(frozen=True, slots=True)
class LivePlace:
    """One state of the Live page. `before` is the number of a row of the feed: those older than it are shown."""

    sort: str = "near"
    show: str = ""
    session: int = 0
    agent: str = ""
    before: int = 0

    @property
    def chosen(self) -> LiveFilter:
        """Which rows of the feed that is."""
        return LiveFilter(self.session or None, SHOWS[self.show][1], self.agent)

    def url(self, **changes: Any) -> str:
        """The address of this state with changes, without what is as by itself."""
        values = {"sort": self.sort, "show": self.show, "session": self.session, "agent": self.agent} | changes
        query = urlencode({name: value for name, value in values.items() if value and value != "near"})
        return reverse("live") + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose."""

    value: str
    name: str
    url: str
    is_on: bool


@dataclass(frozen=True, slots=True)
class FeedRow:
    """One row: what the stream tells too, and how it is drawn."""

    event: Mapping[str, Any]
    icon: str
    kind: str


@dataclass(frozen=True, slots=True)
class FeedPart:
    """The feed as it is now. `last` is the number up to which it is complete, where the script goes on."""

    rows: list[FeedRow]
    last: int
    # Addresses: the stream, polling, the cards; older and newest rows without a script
    stream: str
    poll: str
    older: str
    newest: str
    shows: list[Choice]
    sessions: list[Choice]
    agents: list[Choice]
    is_filtered: bool
    clear: str
    # For the script: icons and row kinds by kind, the person's time zone
    icons: str
    kinds: str
    zone: str


def parse(query: Mapping[str, str]) -> LivePlace:
    """The state that an address names; what it does not know is as by itself."""
    sort, show = query.get("sort", ""), query.get("show", "")
    return LivePlace(
        sort if sort in SORTS else "near", show if show in SHOWS else "", _number(query.get("session", "")),
        query.get("agent", "").replace("\x00", "")[:MOST_NAME], _number(query.get("before", "")),
    )  # fmt: skip


def feed_part(place: LivePlace, made: list[Card], agents: list[str]) -> FeedPart:
    """The newest rows (or those before a number). Two queries."""
    last = live_bounds()[1]
    found = live_newest(place.chosen, most=SHOWN + 1, before=place.before or None)
    if found and not place.before:
        last = max(last, found[0].id)  # came meanwhile, and all before it too: rows become visible in their order
    rows = [_row(one) for one in found[:SHOWN]]
    chosen = place.chosen
    query = [("kind", kind) for kind in chosen.kinds]
    query += [(name, str(value)) for name, value in (("session", place.session), ("agent", place.agent)) if value]
    wanted = f"?{urlencode(query)}" if query else ""
    return FeedPart(
        rows=rows,
        last=last,
        stream="" if place.before else reverse("live_stream") + wanted,
        poll="" if place.before else reverse("live_feed") + wanted,
        older=place.url(before=rows[-1].event["id"]) if len(found) > SHOWN else "",
        newest=place.url() if place.before else "",
        shows=[Choice(key, name, place.url(show=key), key == place.show) for key, (name, _) in SHOWS.items()],
        sessions=_sessions(place, made),
        agents=[Choice(name, name, "", name == place.agent) for name in _with(agents, place.agent)],
        is_filtered=bool(place.show or place.session or place.agent),
        clear=place.url(show="", session=0, agent=""),
        icons=orjson.dumps(ICONS).decode(),
        kinds=orjson.dumps(ROW_KINDS).decode(),
        zone=str(timezone.get_current_timezone()),
    )


def _row(one: LiveEvent) -> FeedRow:
    event = quiet_event(one)
    return FeedRow(
        event | {"at": one.at, "shown_at": shown_at(one)}, ICONS.get(one.kind, "unknown"), ROW_KINDS.get(one.kind, "")
    )


def _sessions(place: LivePlace, made: list[Card]) -> list[Choice]:
    known = [Choice(str(card.id), card.title, "", card.id == place.session) for card in made]
    if place.session and not any(one.is_on for one in known):
        known.insert(0, Choice(str(place.session), f"session {place.session}", "", True))
    return known


def _with(names: list[str], chosen: str) -> list[str]:
    return names if not chosen or chosen in names else [chosen, *names]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0
