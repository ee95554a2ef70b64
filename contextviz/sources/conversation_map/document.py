"""conversation-map.json: its topics and events, and what is wrong with them (engines.md 6.3)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from contextviz.events.problem import ReadProblem, Severity
from contextviz.events.times import instant, oddity
from contextviz.events.topic import Topic, TopicEvent
from contextviz.sources.values import as_id, as_int, as_list, as_text

KINDS: frozenset[str] = frozenset({"context_switch", "agent_spawn", "compaction"})
_TOPIC_KEYS = ("name", "color", "created", "lastActive", "status")
_EVENT_KEYS = {
    "context_switch": ("id", "context", "trigger", "timestamp", "summary"),
    "agent_spawn": ("id", "parentId", "model", "task", "durationMs", "result", "artifacts"),
    "compaction": ("id", "timestamp", "activeContexts"),
}
_COLOR = re.compile(r"#[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ID = re.compile(r"ctx-(\d\d)-\d{3,}(?:-a\d+)?")
DORMANT_AFTER = timedelta(days=7)
MAX_PROBLEMS = 500


@dataclass(slots=True)
class MapReading:
    """What a map holds, in file order, with its findings."""

    file: str
    now: datetime
    topics: dict[str, Topic] = field(default_factory=dict)
    events: list[TopicEvent] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    unknown_types: Counter[str] = field(default_factory=Counter)
    hidden: int = 0

    def problem(
        self,
        code: str,
        message: str,
        severity: Severity = "warning",
        *,
        entry: str | None = None,
        value: str | int | None = None,
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        """Add a finding, up to a bound; the number beyond it is told at the end."""
        if len(self.problems) >= MAX_PROBLEMS:
            self.hidden += 1
            return
        self.problems.append(ReadProblem(code, message, severity, file or self.file, line, entry, value))

    def topic(self, slug: str) -> Topic:
        """The topic `slug`, made as an undeclared one where the map does not declare it."""
        if slug not in self.topics:
            self.topics[slug] = Topic(slug, slug, is_declared=False)
        return self.topics[slug]

    def time(self, value: Any, what: str, entry: str | None) -> datetime | None:
        """`value` as an instant; a problem where it is written and cannot be read, or cannot be true."""
        at = instant(value)
        if at is None and value is not None:
            self.problem("unreadable_time", f"{what} cannot be read as a time", entry=entry, value=str(value)[:80])
        elif at is not None and (odd := oddity(at, now=self.now)):
            self.problem("suspicious_time", f"{what} lies {odd}", entry=entry)
        return at


def read_map(document: dict[str, Any], reading: MapReading) -> None:
    """Fill `reading` from a map. Wrong types and missing keys are findings, never errors."""
    version = document.get("version")
    if version != 1:
        text = f"version {version} of the map is not one we know; it is read as version 1"
        reading.problem("unknown_type", text, "info", value="version")
    contexts = document.get("contexts")
    if not isinstance(contexts, dict):
        reading.problem("missing_key", "`contexts` is not an object, so no topic is declared", value="contexts")
        contexts = {}
    for slug, fields in contexts.items():
        _topic(slug, fields, reading)
    events = document.get("events")
    if not isinstance(events, list):
        reading.problem("missing_key", "`events` is not a list, so the map tells no event", value="events")
    for number, fields in enumerate(as_list(events), start=1):
        _event(number, fields, reading)
    _inherit(reading)
    _check_ids(reading)
    _check_activity(reading)


def _topic(slug: str, fields: Any, reading: MapReading) -> None:
    if not isinstance(fields, dict):
        reading.problem("malformed_entry", f"the topic {slug} is not an object", entry=slug)
        reading.topics[slug] = Topic(slug, slug)
        return
    for key in _TOPIC_KEYS:
        if fields.get(key) in (None, ""):
            reading.problem("missing_key", f"the topic {slug} has no {key}", "info", entry=slug, value=key)
    color = as_text(fields.get("color")) or None
    if color is not None and not _COLOR.fullmatch(color):
        reading.problem(
            "bad_color", f"the colour of {slug} is not #rgb or #rrggbb", "info", entry=slug, value=color[:80]
        )
        color = None
    if not _SLUG.fullmatch(slug):
        text = f"the topic key {slug[:80]} is not lower case with hyphens"
        reading.problem("bad_topic_key", text, "info", entry=slug)
    reading.topics[slug] = Topic(
        slug,
        as_text(fields.get("name")) or slug,
        color,
        as_text(fields.get("status")) or None,
        reading.time(fields.get("created"), f"`created` of {slug}", slug),
        reading.time(fields.get("lastActive"), f"`lastActive` of {slug}", slug),
    )


def _event(number: int, fields: Any, reading: MapReading) -> None:
    if not isinstance(fields, dict):
        reading.problem("malformed_entry", f"event {number} is not an object", value=number)
        return
    kind, name = as_text(fields.get("type")) or "", as_id(fields.get("id"))
    if kind not in KINDS:
        reading.unknown_types[kind or "no type"] += 1
        text = f"event {number} has the unknown type {kind[:80] or '(none)'}"
        reading.problem("unknown_type", text, "info", entry=name, value=kind[:80])
        return
    for key in _EVENT_KEYS[kind]:
        _check_key(number, key, fields, kind, name, reading)
    at = reading.time(fields.get("timestamp"), f"the time of event {name or number}", name)
    topic = as_id(fields.get("context"))
    active = [slug for slug in as_list(fields.get("activeContexts")) if isinstance(slug, str) and slug]
    for slug in [topic, *active]:
        if slug is not None and slug not in reading.topics:
            text = f"event {name or number} is of the topic {slug[:80]}, which the map does not declare"
            reading.problem("undeclared_topic", text, entry=name, value=slug[:80])
            reading.topic(slug)
    reading.events.append(
        TopicEvent(
            name,
            _kind(kind),
            topic,
            at,
            "unknown" if at is None else "recorded",
            as_text(fields.get("trigger")) or None,
            as_text(fields.get("summary")) or None,
            as_id(fields.get("parentId")),
            as_text(fields.get("model")) or None,
            as_text(fields.get("task")) or None,
            as_int(fields.get("durationMs")),
            as_text(fields.get("result")) or None,
            [item for item in as_list(fields.get("artifacts")) if isinstance(item, str)],
            active,
        )
    )


def _kind(kind: str) -> Literal["context_switch", "agent_spawn", "compaction"]:
    if kind == "agent_spawn":
        return "agent_spawn"
    return "compaction" if kind == "compaction" else "context_switch"


def _check_key(number: int, key: str, fields: dict[str, Any], kind: str, name: str | None, reading: MapReading) -> None:
    value = fields.get(key)
    if value is None:
        reading.problem("missing_key", f"event {name or number} ({kind}) has no {key}", entry=name, value=key)
    elif key == "summary" and value == "":
        reading.problem("empty_summary", f"the switch {name or number} has an empty summary", "info", entry=name)
    elif key == "durationMs" and as_int(value) is None:
        reading.problem(
            "missing_key", f"event {name or number} has a duration that is no number", entry=name, value=key
        )


def _inherit(reading: MapReading) -> None:
    """Give a spawn the topic and, where it has no time, the time of its parent: the nearest event of that id above
    it, since ids repeat every month."""
    above: dict[str, TopicEvent] = {}
    anywhere = {event.id: event for event in reversed(reading.events) if event.id is not None}
    for event in reading.events:
        if event.kind == "agent_spawn":
            wanted = event.parent_id or ""
            parent = above.get(wanted) or anywhere.get(wanted)
            if parent is None or parent is event:
                text = f"the sub-agent {event.id} names the parent {event.parent_id}, which is not in the map"
                reading.problem("dangling_parent", text, entry=event.id, value=event.parent_id)
            else:
                event.topic = event.topic or parent.topic
                if event.at is None and parent.at is not None:
                    event.at, event.at_basis = parent.at, "inherited"
        if event.id is not None:
            above[event.id] = event


def _check_ids(reading: MapReading) -> None:
    seen: dict[str, TopicEvent] = {}
    for event in reading.events:
        if event.id is None:
            continue
        shape = _ID.fullmatch(event.id)
        if shape is None:
            reading.problem("bad_id", f"the id {event.id[:80]} is not of the form ctx-DD-NNN", "info", entry=event.id)
        elif event.at is not None and event.at_basis == "recorded" and int(shape.group(1)) != event.at.day:
            text = f"the id {event.id} says day {shape.group(1)}, its time says day {event.at.day} (UTC)"
            reading.problem("bad_id", text, "info", entry=event.id)
        if event.id in seen:
            _repeated(event, seen[event.id], reading)
        seen[event.id] = event


def _repeated(event: TopicEvent, first: TopicEvent, reading: MapReading) -> None:
    times = (first.at, event.at)
    is_other_month = None not in times and (first.at.month, first.at.year) != (event.at.month, event.at.year)  # type: ignore[union-attr]
    if is_other_month:
        text = f"the id {event.id} is used again in another month; events are told apart by id and time"
        reading.problem("duplicate_id", text, "info", entry=event.id)
    else:
        reading.problem("duplicate_id", f"the id {event.id} is used by more than one event", entry=event.id)


def _check_activity(reading: MapReading) -> None:
    last: dict[str, datetime] = {}
    for event in reading.events:
        for slug in ([event.topic] if event.topic else []) + event.active_topics:
            if event.at is not None and event.kind != "compaction":
                last[slug] = max(last.get(slug, event.at), event.at)
    newest = max(last.values(), default=None)
    for slug, topic in reading.topics.items():
        seen = last.get(slug)
        if topic.last_active_at is not None and seen is not None and seen > topic.last_active_at:
            text = f"`lastActive` of {slug} is older than its newest event"
            reading.problem("stale_last_active", text, "info", entry=slug)
        touched = max((at for at in (topic.last_active_at, seen) if at is not None), default=None)
        if newest is None or touched is None or topic.status != "active":
            continue
        if newest - touched > DORMANT_AFTER:
            text = f"{slug} is called active, but nothing touched it in the last seven days of the map"
            reading.problem("stale_status", text, "info", entry=slug)
