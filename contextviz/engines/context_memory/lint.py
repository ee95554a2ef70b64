"""What is wrong with a conversation map and the folder around it (engines document, 6.1 to 6.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from contextviz.engines.context_memory.model import (
    KINDS,
    ConversationMap,
    MapEvent,
    id_parts,
    instant_of,
    is_dormant,
    line_count,
    must_archive,
)

_COLOR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})", re.ASCII)
_KEY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_NEEDED = {
    "context_switch": ("id", "context", "trigger", "timestamp", "summary"),
    "agent_spawn": ("id", "parentId", "model", "task", "durationMs", "result", "artifacts"),
    "compaction": ("id", "timestamp", "activeContexts"),
}
_STATUSES = ("active", "dormant")
MOST_STATUS_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: a code, a sentence, and what it is about: an event's id, a topic's key, a file."""

    code: str
    text: str
    event: str = ""
    topic: str = ""
    file: str = ""


def lint(made: ConversationMap, files: Mapping[str, str] | None = None) -> list[Finding]:
    """Every defect of a map. `files` are the other texts of the folder by their path in it, where there are any."""
    if made.error is not None:
        return [Finding("broken-map", f"The map cannot be read: {made.error}.")]
    found = [Finding("wrong-type", f"{place} is not of the type it should be.") for place in made.bad]
    if made.version != 1:
        found.append(Finding("version", "The version of the map is not 1."))
    found += _topics(made)
    for event in made.events:
        found += _event(event, made)
    found += _repeated(made)
    found += _activity(made)
    if files is not None:
        found += _folder(made, files)
    return found


def _topics(made: ConversationMap) -> Iterator[Finding]:
    for key, topic in made.topics.items():
        if not _KEY.fullmatch(key):
            yield Finding("topic-key", f"The topic key {key!r} is not lower case with hyphens.", topic=key)
        if not topic.name:
            yield Finding("missing-name", f"The topic {key} has no name.", topic=key)
        if not topic.color:
            yield Finding("missing-color", f"The topic {key} has no colour.", topic=key)
        elif not _COLOR.fullmatch(topic.color):
            yield Finding("bad-color", f"The colour of {key} is not #rgb or #rrggbb.", topic=key)
        if topic.status not in _STATUSES:
            yield Finding("bad-status", f"The status of {key} is neither active nor dormant.", topic=key)
        for name, value in (("created", topic.created), ("lastActive", topic.last_active)):
            if instant_of(value) is None:
                yield Finding("bad-time", f"{name} of {key} is missing or no time.", topic=key)


def _event(event: MapEvent, made: ConversationMap) -> Iterator[Finding]:
    name = event.id or f"event {event.number + 1}"
    if event.kind not in KINDS:
        yield Finding("unknown-type", f"{name} is of the unknown type {event.kind[:40]!r}.", event.id)
        return
    for key in _NEEDED[event.kind]:
        if key not in event.fields:
            yield Finding("missing-field", f"{name} has no {key}.", event.id, event.topic)
    if event.kind == "context_switch" and "summary" in event.fields and not event.summary:
        yield Finding(
            "empty-summary", f"The switch {name} to {event.topic} has an empty summary.", event.id, event.topic
        )
    if event.kind != "agent_spawn" and event.at is None:
        yield Finding("bad-time", f"The time of {name} is missing or cannot be read.", event.id, event.topic)
    for topic in dict.fromkeys(filter(None, (event.topic, *event.active))):
        if topic not in made.topics:
            yield Finding("undeclared-topic", f"{name} is of {topic}, which the map does not declare.", event.id, topic)
    if event.kind == "agent_spawn":
        yield from _spawn(event, name, made)
    parts = id_parts(event.id)
    if event.id and parts is None:
        yield Finding("bad-id", f"The id {event.id[:80]} is not of the form ctx-DD-NNN.", event.id)
    elif parts is not None and event.at is not None and parts[0] != event.at.day:
        yield Finding("bad-id", f"The id {event.id} is of day {parts[0]}, its time of day {event.at.day}.", event.id)


def _spawn(event: MapEvent, name: str, made: ConversationMap) -> Iterator[Finding]:
    if not any(other.id == event.parent for other in made.events if other.number != event.number):
        yield Finding("dangling-parent", f"{name} names the parent {event.parent}, which is not there.", event.id)
    elif event.at is None and event.placed is not None:
        yield Finding("inherited-time", f"{name} has no time; it is placed at its parent's.", event.id, event.topic)
    if event.duration_ms is not None and event.duration_ms <= 0:
        yield Finding("no-duration", f"The sub-agent {name} claims to have taken no time.", event.id, event.topic)
    if event.result and event.result != "ok":
        yield Finding("failed-agent", f"The sub-agent {name} ended with {event.result[:40]}.", event.id, event.topic)


def _repeated(made: ConversationMap) -> Iterator[Finding]:
    seen: dict[str, MapEvent] = {}
    for event in made.events:
        if not event.id:
            continue
        first = seen.setdefault(event.id, event)
        if first is event:
            continue
        if first.at is not None and event.at is not None and (first.at.year, first.at.month) != (
            event.at.year, event.at.month,
        ):  # fmt: skip
            continue  # ids come again every month
        same = "twice in the same topic" if first.topic == event.topic else f"of {first.topic} and of {event.topic}"
        yield Finding("duplicate-id", f"The id {event.id} is there {same}.", event.id, event.topic)


def newest_time(made: ConversationMap) -> datetime | None:
    """The latest time that the map tells of."""
    times = [event.at for event in made.events] + [topic.touched for topic in made.topics.values()]
    return max((at for at in times if at is not None), default=None)


def _activity(made: ConversationMap) -> Iterator[Finding]:
    now = newest_time(made)
    last: dict[str, datetime] = {}
    for event in made.events:
        if event.kind == "context_switch" and event.at is not None:
            last[event.topic] = max(event.at, last.get(event.topic, event.at))
    for key, topic in made.topics.items():
        if key in last and topic.touched is not None and topic.touched < last[key]:
            yield Finding("stale-activity", f"lastActive of {key} is before its last switch.", topic=key)
        if key not in last:
            yield Finding("no-events", f"No switch of the map is to {key}.", topic=key)
        if now is None or topic.touched is None:
            continue
        dormant = is_dormant(max(topic.touched, last.get(key, topic.touched)), now)
        if dormant and topic.status == "active":
            yield Finding("stale-status", f"{key} is called active, untouched for more than seven days.", topic=key)
        if topic.status == "dormant" and not dormant:
            yield Finding("stale-status", f"{key} is called dormant, touched within seven days.", topic=key)
    order = [event.at for event in made.events if event.at is not None]
    if any(second < first for first, second in pairwise(order)):
        yield Finding("out-of-order", "The events of the map are not in the order of their times.")


def _folder(made: ConversationMap, files: Mapping[str, str]) -> Iterator[Finding]:
    for path, text in files.items():
        if path.endswith(("CONTEXT_LOG.md", "THREAD.md")) and must_archive(text):
            yield Finding("long-file", f"{path} has {line_count(text)} lines; above 200 it is archived.", file=path)
        if path.endswith("STATUS.md") and len(text.encode("utf-8", "replace")) >= MOST_STATUS_BYTES:
            yield Finding("long-file", f"{path} is not below 1 kB.", file=path)
    folders = {path.split("/")[1] for path in files if path.startswith("contexts/") and path.count("/") > 1}
    for key in made.topics:
        for name in ("STATUS.md", "THREAD.md"):
            if f"contexts/{key}/{name}" not in files:
                yield Finding("missing-file", f"The topic {key} has no {name}.", topic=key, file=name)
    for key in sorted(folders - set(made.topics)):
        yield Finding("undeclared-topic", f"The folder {key} is of a topic that is not declared.", topic=key)
