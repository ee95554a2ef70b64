"""A conversation map: topics and what happened to them, as an agent writes it down (engines document, 6.3).

No program enforces the format, so every field is read for what it is: wrong types are as if they were not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from contextviz.events.javascript import parse

Kind = Literal["context_switch", "agent_spawn", "compaction"]
KINDS: tuple[Kind, ...] = ("context_switch", "agent_spawn", "compaction")
DORMANT_AFTER = timedelta(days=7)
MOST_LINES = 200
ZERO = datetime(1, 1, 1, tzinfo=UTC)  # an unreadable time, as Go has it
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)  # fmt: skip
_ID = re.compile(r"ctx-(\d\d)-(\d{3,})(?:-a(\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the map declares it; empty strings are what it does not say. `fields` are its keys as written."""

    key: str
    name: str = ""
    color: str = ""
    created: str = ""
    last_active: str = ""
    status: str = ""
    fields: frozenset[str] = frozenset()

    @property
    def touched(self) -> datetime | None:
        """When it was last active, None where that cannot be read."""
        return instant_of(self.last_active)


@dataclass(frozen=True, slots=True)
class MapEvent:
    """An event as the map tells it. `at` is its own time; a spawn has none, so `placed` is its parent's. `number` is
    its place in the list."""

    number: int
    kind: str
    id: str = ""
    topic: str = ""
    trigger: str = ""
    timestamp: str = ""
    summary: str = ""
    parent: str = ""
    model: str = ""
    task: str = ""
    result: str = ""
    duration_ms: int | None = None
    artifacts: tuple[str, ...] = ()
    active: tuple[str, ...] = ()
    placed: datetime | None = None
    fields: frozenset[str] = frozenset()

    @property
    def at(self) -> datetime | None:
        """Its own time, None where it has none that can be read."""
        return instant_of(self.timestamp)


@dataclass(slots=True)
class ConversationMap:
    """A map, read. `error` says in a sentence why nothing could be."""

    topics: dict[str, Topic] = field(default_factory=dict)
    events: list[MapEvent] = field(default_factory=list)
    version: Any = None
    bad: list[str] = field(default_factory=list)
    error: str | None = None


def instant_of(text: Any) -> datetime | None:
    """An RFC 3339 time in UTC, None for anything else."""
    found = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    zone = "+00:00" if found[4] in "Zz" else found[4]
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}.{(found[3] or '0')[:6]:0<6}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_map(text: str) -> ConversationMap:
    """The map of a conversation-map.json; a broken file has `error`."""
    try:
        document = parse(text)
    except ValueError as error:
        return ConversationMap(error=f"it is no JSON: {error}"[:300])
    return map_of(document)


def map_of(document: Any) -> ConversationMap:
    """The map of a document that was parsed."""
    if not isinstance(document, dict):
        return ConversationMap(error="it is no JSON object")
    made = ConversationMap(version=document.get("version"))
    topics, events = document.get("contexts"), document.get("events")
    if not isinstance(topics, dict):
        made.bad.append("contexts")
    for key, value in (topics if isinstance(topics, dict) else {}).items():
        made.topics[key] = _topic(key, value, made)
    if not isinstance(events, list):
        made.bad.append("events")
    for number, value in enumerate(events if isinstance(events, list) else []):
        if isinstance(value, dict):
            made.events.append(_event(number, value))
        else:
            made.bad.append(f"events[{number}]")
    made.events = placed(made.events)
    return made


def _topic(key: str, value: Any, made: ConversationMap) -> Topic:
    if not isinstance(value, dict):
        made.bad.append(f"contexts.{key}")
        return Topic(key)
    name, color, created, active, status = (
        _word(value.get(field)) for field in ("name", "color", "created", "lastActive", "status")
    )
    return Topic(key, name, color, created, active, status, frozenset(value))


def _event(number: int, value: dict[str, Any]) -> MapEvent:
    duration = value.get("durationMs")
    return MapEvent(
        number, _word(value.get("type")), _word(value.get("id")), _word(value.get("context")),
        _word(value.get("trigger")), _word(value.get("timestamp")), _word(value.get("summary")),
        _word(value.get("parentId")), _word(value.get("model")), _word(value.get("task")), _word(value.get("result")),
        duration if isinstance(duration, int) and not isinstance(duration, bool) else None,
        _words(value.get("artifacts")), _words(value.get("activeContexts")), None, frozenset(value),
    )  # fmt: skip


def placed(events: Iterable[MapEvent]) -> list[MapEvent]:
    """Each event with its time; a spawn with its parent's time and topic, by the nearest event of that id above it
    (ids come again every month), else by any."""
    given = list(events)
    anywhere = {event.id: event for event in reversed(given) if event.id}
    above: dict[str, MapEvent] = {}
    made = []
    for event in given:
        at, topic = event.at, event.topic
        if event.kind == "agent_spawn":
            parent = above.get(event.parent) or anywhere.get(event.parent)
            if parent is not None and parent.number != event.number:
                at, topic = at or parent.placed or parent.at, topic or parent.topic
        one = replace(event, placed=at, topic=topic)
        made.append(one)
        if one.id:
            above[one.id] = one
    return made


def id_parts(name: str) -> tuple[int, int, int | None] | None:
    """Day, number and sub-agent number of an id `ctx-DD-NNN[-aN]`; None for another form."""
    found = _ID.fullmatch(name)
    return (int(found[1]), int(found[2]), int(found[3]) if found[3] else None) if found else None


def next_switch_id(events: Iterable[tuple[str, datetime | None]], now: datetime) -> str:
    """The next id of a switch or compaction: one more than the greatest of the same day of the month and date (6.4)."""
    most = 0
    for name, at in events:
        parts = id_parts(name)
        if parts is not None and parts[2] is None and parts[0] == now.day and at is not None:
            most = max(most, parts[1] if at.date() == now.date() else 0)
    return f"ctx-{now.day:02d}-{most + 1:03d}"


def next_agent_id(parent: str, ids: Iterable[str]) -> str:
    """The next id of a sub-agent: how many the parent has, and one."""
    return f"{parent}-a{sum(1 for name in ids if re.fullmatch(re.escape(parent) + r'-a[0-9]+', name)) + 1}"


def is_dormant(last_active: datetime | None, now: datetime) -> bool:
    """Whether a topic was untouched for more than seven days."""
    return last_active is not None and now - last_active > DORMANT_AFTER


def must_archive(text: str) -> bool:
    """Whether a file has more than 200 lines."""
    return line_count(text) > MOST_LINES


def line_count(text: str) -> int:
    """Lines of a file; an end of line at its end begins no further one."""
    return text.count("\n") + (0 if text.endswith("\n") or not text else 1)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _words(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
