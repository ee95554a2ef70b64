"""The swim-lanes of a conversation map: when each topic was worked on, what it spawned, what was compacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Literal, NamedTuple

from contextviz.events.topic import Topic, TopicEvent

LintCode = Literal[
    "unreadable_time", "undeclared_topic", "dangling_parent", "repeated_switch", "no_summary", "unused_topic"
]
# The map's own rule: a topic rests when nothing touched it for more than seven days (engines.md 6.4).
DORMANT_AFTER = timedelta(days=7)


class Span(NamedTuple):
    """A stretch of work on a topic, from a switch to it until the next switch; `end` None: it is the last one."""

    start: datetime
    end: datetime | None
    event: int


class Mark(NamedTuple):
    """An event on a lane, by its index in the event list. `basis` says where its time comes from."""

    at: datetime | None
    event: int
    basis: Literal["recorded", "inherited", "unknown"]


class Spawn(NamedTuple):
    """A sub-agent on its parent's lane; `end` is its start and its claimed duration."""

    at: datetime | None
    end: datetime | None
    event: int
    basis: Literal["recorded", "inherited", "unknown"]


class Finding(NamedTuple):
    """Something in the map that is not as it should be, as a sentence; `event` is an index where it is about one."""

    code: LintCode
    message: str
    event: int | None = None
    topic: str | None = None


@dataclass(slots=True)
class Lane:
    """One topic's lane. `color` is the map's own, None where it has none."""

    topic: str
    name: str
    color: str | None
    is_declared: bool
    is_dormant: bool | None
    spans: list[Span] = field(default_factory=list)
    switches: list[Mark] = field(default_factory=list)
    spawns: list[Spawn] = field(default_factory=list)


class TopicCompaction(NamedTuple):
    """A compaction and the topics that were active at it."""

    at: datetime | None
    event: int
    active_topics: tuple[str, ...]


@dataclass(slots=True)
class TopicTable:
    """Lanes (declared ones first, then in order of appearance), compactions, and what to look at.

    `unplaced` are the events without a time, which no axis can show.
    """

    lanes: list[Lane]
    compactions: list[TopicCompaction]
    unplaced: list[int]
    findings: list[Finding]
    first_at: datetime | None
    last_at: datetime | None


def swim_lanes(topics: Sequence[Topic], events: Sequence[TopicEvent], *, now: datetime | None = None) -> TopicTable:
    """The swim-lanes of a conversation map. `now` decides which topics rest; without it that is not known."""
    lanes = {
        topic.slug: Lane(topic.slug, topic.name, topic.color, topic.is_declared, _is_dormant(topic, now))
        for topic in topics
    }
    parents = _parents(events)
    compactions = []
    for index, event in enumerate(events):
        if event.kind == "compaction":
            compactions.append(TopicCompaction(event.at, index, tuple(event.active_topics)))
            continue
        slug = _topic_of(event, parents[index])
        if slug is None:
            continue
        lane = lanes.setdefault(slug, Lane(slug, slug, None, is_declared=False, is_dormant=None))
        if event.kind == "context_switch":
            lane.switches.append(Mark(event.at, index, event.at_basis if event.at else "unknown"))
        else:
            lane.spawns.append(_spawn(event, index, parents[index]))
    _fill_spans(lanes, events)
    times = [event.at for event in events if event.at is not None]
    unplaced = [
        index for index, event in enumerate(events) if event.at is None and not _inherits(event, parents[index])
    ]
    return TopicTable(
        list(lanes.values()),
        sorted(compactions, key=lambda one: (one.at is None, one.at or datetime.max.replace(tzinfo=UTC), one.event)),
        unplaced,
        _lint(topics, events, parents),
        min(times, default=None),
        max(times, default=None),
    )


def _is_dormant(topic: Topic, now: datetime | None) -> bool | None:
    if topic.status in ("active", "dormant") and (now is None or topic.last_active_at is None):
        return topic.status == "dormant"
    if now is None or topic.last_active_at is None:
        return None
    return now - topic.last_active_at > DORMANT_AFTER


def _parents(events: Sequence[TopicEvent]) -> list[TopicEvent | None]:
    """The switch each spawn names, by place. Ids repeat every month, so the nearest one before it is meant."""
    anywhere = {event.id: event for event in reversed(events) if event.kind == "context_switch"}
    before: dict[str | None, TopicEvent] = {}
    found: list[TopicEvent | None] = []
    for event in events:
        if event.kind == "context_switch":
            before[event.id] = event
        is_child = event.kind == "agent_spawn" and event.parent_id is not None
        found.append((before.get(event.parent_id) or anywhere.get(event.parent_id)) if is_child else None)
    return found


def _topic_of(event: TopicEvent, parent: TopicEvent | None) -> str | None:
    if event.topic is not None or parent is None:
        return event.topic
    return parent.topic


def _inherits(event: TopicEvent, parent: TopicEvent | None) -> bool:
    return event.kind == "agent_spawn" and parent is not None and parent.at is not None


def _spawn(event: TopicEvent, index: int, parent: TopicEvent | None) -> Spawn:
    at, basis = event.at, event.at_basis
    if at is None and parent is not None and parent.at is not None:
        at, basis = parent.at, "inherited"
    if at is None:
        return Spawn(None, None, index, "unknown")
    # A claimed duration may be absurd; a year is longer than any sub-agent.
    is_sound = event.duration_ms is not None and 0 <= event.duration_ms <= 366 * 86_400_000
    end = at + timedelta(milliseconds=event.duration_ms or 0) if is_sound else None
    return Spawn(at, end, index, basis)


def _fill_spans(lanes: dict[str, Lane], events: Sequence[TopicEvent]) -> None:
    switches = sorted(
        (event.at, index, event.topic)
        for index, event in enumerate(events)
        if event.kind == "context_switch" and event.at is not None and event.topic is not None
    )
    for place, (at, index, topic) in enumerate(switches):
        end = switches[place + 1][0] if place + 1 < len(switches) else None
        lanes[topic].spans.append(Span(at, end, index))


def _lint(topics: Sequence[Topic], events: Sequence[TopicEvent], parents: list[TopicEvent | None]) -> list[Finding]:
    declared = {topic.slug for topic in topics if topic.is_declared}
    ids = {event.id for event in events if event.id is not None}
    findings = []
    for index, event in enumerate(events):
        name = event.id or f"number {index + 1}"
        slug = _topic_of(event, parents[index])
        if event.at is None and not _inherits(event, parents[index]):
            findings.append(Finding("unreadable_time", f"Event {name} has no time that can be read.", index, slug))
        for named in dict.fromkeys([slug, *event.active_topics]):
            if named is not None and named not in declared:
                message = f"Event {name} names the topic {named}, which the map does not declare."
                findings.append(Finding("undeclared_topic", message, index, named))
        if event.kind == "agent_spawn" and event.parent_id and event.parent_id not in ids:
            message = f"Sub-agent {name} names the parent {event.parent_id}, which the map does not hold."
            findings.append(Finding("dangling_parent", message, index, slug))
        if event.kind == "context_switch" and not event.summary:
            findings.append(Finding("no_summary", f"Switch {name} has no summary.", index, slug))
    findings.extend(_repeated(events))
    used = Counter(_topic_of(event, parent) for event, parent in zip(events, parents, strict=True))
    for topic in topics:
        if topic.is_declared and not used[topic.slug]:
            message = f"The topic {topic.name} is declared and no event belongs to it."
            findings.append(Finding("unused_topic", message, None, topic.slug))
    return findings


def _repeated(events: Sequence[TopicEvent]) -> list[Finding]:
    timed = sorted(
        (event.at, index) for index, event in enumerate(events) if event.kind == "context_switch" and event.at
    )
    findings = []
    for (_, before), (_, index) in pairwise(timed):
        event = events[index]
        if event.topic is not None and events[before].topic == event.topic:
            message = f"Switch {event.id or f'number {index + 1}'} goes to {event.topic}, which was already active."
            findings.append(Finding("repeated_switch", message, index, event.topic))
    return findings
