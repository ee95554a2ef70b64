"""Conversation maps: the list, and one map with its lanes, one topic, and what to look at."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from contextviz.analysis.topics import Finding, Lane, TopicTable, swim_lanes
from contextviz.charts import topics as charts
from contextviz.charts.words import counted
from contextviz.events.masking import without_secrets
from contextviz.events.text import TextRef
from contextviz.events.topic import Topic, TopicEvent
from contextviz.store.values import SessionRow
from contextviz.web.markdown import note
from contextviz.web.pages.held import open_text, title_of
from contextviz.web.pages.tabs import Tab, session_tabs
from contextviz.web.pages.topics.lanes import LaneTable, lane_table

NOTE_CHARS = 12_000
MOST_EVENTS = 200
MOST_LANES = 40
MOST_FINDINGS = 60
_OWN_HEADING = re.compile(r"\A\s*#{1,6}[ \t]+(?:status|thread)(?:\.md)?[ \t]*\r?\n", re.IGNORECASE)
ICONS = {"context_switch": "right", "agent_spawn": "spawn", "compaction": "compacting"}
WORDS = {"context_switch": "Switch", "agent_spawn": "Sub-agent", "compaction": "Compaction"}


@dataclass(frozen=True, slots=True)
class LaneName:
    """The label of a lane."""

    # The topic's name
    name: str
    # Opens it in the pane
    url: str
    # A colour value: the topic's own, or the palette's
    colour: str
    # "3 switches, 1 sub-agent"
    says: str
    # active, dormant, or that the map does not declare it
    status: str
    # Whether it is the one in the pane
    current: bool


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event of the map."""

    # When; None where no time can be read
    at: datetime | None
    # Whether the time is its parent's
    is_inherited: bool
    # Switch, Sub-agent, Compaction
    kind: str
    # context_switch, agent_spawn, compaction
    code: str
    # An icon's name
    icon: str
    # The topic's name, "" where it has none
    topic: str
    # What happened, in the map's words
    says: str
    # Whether it is the first one listed of its day
    starts_day: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """STATUS.md or THREAD.md of a topic."""

    # Its Markdown as safe HTML with secrets left out, None where there is no such file
    html: SafeString | None
    # Whether only its beginning is here
    is_cut: bool


@dataclass(frozen=True, slots=True)
class TopicPane:
    """The topic in the pane."""

    # Its name and slug
    name: str
    slug: str
    # A colour value
    colour: str
    # active, dormant, undeclared
    status: str
    # Switches to it, sub-agents on it
    switches: int
    spawns: int
    # When it was made and last touched, as the map says
    created_at: datetime | None
    last_active_at: datetime | None
    # Compactions that had it active
    compactions: int
    # STATUS and THREAD
    note: Note
    thread: Note
    # Its events, in order
    events: list[EventRow]
    # How many more there are
    more_events: int


@dataclass(frozen=True, slots=True)
class MapRow:
    """One map in the list."""

    # Its name
    title: str
    # Its page
    url: str
    # Topics and events read
    topics: int
    # When its last event was
    at: datetime | None


@dataclass(frozen=True, slots=True)
class TopicsPage:
    """The list of maps."""

    # The newest first
    maps: list[MapRow]


@dataclass(frozen=True, slots=True)
class TopicMapPage:
    """One map."""

    # The session that the map is of
    row: SessionRow
    # Its name
    title: str
    # The session's tabs
    tabs: list[Tab]
    # The chart: figure, height, sentence
    figure_url: str
    height: int
    summary: str
    # Labels of the lanes, from the top; how many more lanes there are
    lanes: list[LaneName]
    more_lanes: int
    # The events as a table, in time; how many more there are
    events: list[EventRow]
    more_events: int
    # Events without a time
    unplaced: int
    # What the agent wrote down as its active topic (session-state.md), and when; "" where it wrote nothing
    state: str
    # The topic in the pane, None where the map has none
    topic: TopicPane | None
    # Said where the query names a topic that is not there
    missing_topic: str
    # Compactions with the topics that were active, in time
    compactions: list[EventRow]
    # Lint
    findings: list[Finding]
    more_findings: int


def topics_page(rows: Sequence[SessionRow]) -> TopicsPage:
    """The list."""
    return TopicsPage(
        [MapRow(title_of(row), reverse("topic_map", args=[row.id]), row.topic_count, row.ended_at) for row in rows]
    )


def topic_map_page(
    row: SessionRow, topics: Sequence[Topic], events: Sequence[TopicEvent], *, chosen: str, now: datetime,
    hints: Mapping[str, int | str | None],
) -> TopicMapPage:  # fmt: skip
    """One map; `chosen` is the slug of the topic in the pane, "" for the first. `hints` are the session's."""
    table = swim_lanes(topics, events, now=now)
    drawn = lane_table(table, events)
    names = {lane.topic: lane.name for lane in table.lanes}
    lane = next((one for one in table.lanes if one.topic == chosen), None)
    place = table.lanes.index(lane) if lane is not None else 0
    shown = lane or (table.lanes[0] if table.lanes else None)
    rows = [_event(event, names) for event in sorted(events, key=_time)]
    return TopicMapPage(
        row, title_of(row), session_tabs(row, "topics"),
        reverse("topic_figure", args=[row.id]), charts.height(drawn), charts.summary(drawn),
        [_lane_name(one, drawn, at, one is shown) for at, one in enumerate(table.lanes[:MOST_LANES])],
        max(0, len(table.lanes) - MOST_LANES),
        rows[:MOST_EVENTS], max(0, len(rows) - MOST_EVENTS), len(table.unplaced), _state(hints, names),
        _pane(shown, drawn, place, topics, events, table, names) if shown is not None else None,
        chosen[:80] if chosen and lane is None else "",
        _days([row for row in rows if row.code == "compaction"])[:MOST_EVENTS],
        table.findings[:MOST_FINDINGS], max(0, len(table.findings) - MOST_FINDINGS),
    )  # fmt: skip


def _state(hints: Mapping[str, int | str | None], names: Mapping[str, str]) -> str:
    slug, when = hints.get("active_context"), hints.get("state_updated")
    if not slug:
        return ""
    return names.get(str(slug), str(slug))[:120] + (f", written {when}" if when else "")


def figure_table(topics: Sequence[Topic], events: Sequence[TopicEvent]) -> LaneTable:
    """What the chart draws: the lanes that the page names."""
    table = swim_lanes(topics, events)
    del table.lanes[MOST_LANES:]
    return lane_table(table, events)


def _time(event: TopicEvent) -> tuple[bool, float]:
    return (event.at is None, event.at.timestamp() if event.at else 0.0)


def _status(lane: Lane) -> str:
    if not lane.is_declared:
        return "not declared in the map"
    return {True: "dormant", False: "active", None: "status unknown"}[lane.is_dormant]


def _lane_name(lane: Lane, drawn: LaneTable, at: int, current: bool) -> LaneName:
    says = counted(len(lane.switches), "switch", "switches")
    if lane.spawns:
        says += ", " + counted(len(lane.spawns), "sub-agent")
    url = "?" + urlencode({"topic": lane.topic}) + "#topic"
    return LaneName(lane.name, url, charts.lane_colour(drawn.lanes[at], at), says, _status(lane), current)


def _event(event: TopicEvent, names: dict[str, str]) -> EventRow:
    if event.kind == "compaction":
        active = [names.get(slug, slug) for slug in event.active_topics]
        says = "Active: " + ", ".join(active[:8]) if active else "The map names no active topic"
    elif event.kind == "agent_spawn":
        took = f", {event.duration_ms / 1000:,.0f} s" if event.duration_ms is not None else ""
        model = f" ({event.model})" if event.model else ""
        says = f"{event.task or 'no task named'}{model}{took}" + (f": {event.result}" if event.result else "")
    else:
        says = event.summary or event.trigger or "no summary"
    topic = names.get(event.topic, event.topic) if event.topic else ""
    return EventRow(
        event.at, event.at_basis == "inherited", WORDS[event.kind], event.kind, ICONS[event.kind], topic, says[:600]
    )


def _pane(
    lane: Lane,
    drawn: LaneTable,
    place: int,
    topics: Sequence[Topic],
    events: Sequence[TopicEvent],
    table: TopicTable,
    names: dict[str, str],
) -> TopicPane:
    topic = next((one for one in topics if one.slug == lane.topic), None)
    own = {mark.event for mark in lane.switches} | {spawn.event for spawn in lane.spawns}
    own |= {one.event for one in table.compactions if lane.topic in one.active_topics}
    rows = _days([_event(event, names) for event in sorted((events[at] for at in own), key=_time)])
    return TopicPane(
        lane.name, lane.topic, charts.lane_colour(drawn.lanes[place], place), _status(lane),
        len(lane.switches), len(lane.spawns),
        topic.created_at if topic else None, topic.last_active_at if topic else None,
        sum(lane.topic in one.active_topics for one in table.compactions),
        _note(topic.status_note if topic else None), _note(topic.thread if topic else None),
        rows[:MOST_EVENTS], max(0, len(rows) - MOST_EVENTS),
    )  # fmt: skip


def _days(rows: list[EventRow]) -> list[EventRow]:
    """The rows with the first one of each day marked, in the zone that pages are shown in."""
    marked = []
    last: date | None = None
    for row in rows:
        day = timezone.localtime(row.at).date() if row.at is not None else None
        marked.append(replace(row, starts_day=day is not None and day != last))
        last = day or last
    return marked


def _note(ref: TextRef | None) -> Note:
    text, is_cut = open_text(ref, chars=NOTE_CHARS) if ref is not None else (None, False)
    if text:
        # The file's name stands over it already; "# Status" below would say it twice.
        text = _OWN_HEADING.sub("", text, count=1)
    return Note(note(without_secrets(text)) if text else None, is_cut)
