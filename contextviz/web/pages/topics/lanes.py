"""The swim-lanes as the chart wants them: moments that are unknown are left out here, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextviz.analysis import topics as analysis
from contextviz.events.topic import TopicEvent

UNKNOWN_LANE = "no topic named"


@dataclass(frozen=True, slots=True)
class ChartLane:
    """A topic's lane."""

    # Its name
    name: str
    # Its own colour, None where the map gives none
    colour: str | None
    # When it was worked on
    spans: list[tuple[datetime, datetime]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ChartSwitch:
    """A change of topic."""

    # When
    at: datetime
    # Lane it left, None where it began without one
    from_lane: int | None
    # Lane it went to
    to_lane: int


@dataclass(frozen=True, slots=True)
class ChartSpawn:
    """A sub-agent."""

    # When it started
    at: datetime
    # When it ended, None where that is not known
    until: datetime | None
    # Its topic's lane
    lane: int
    # Its task
    name: str
    # Whether its result says that it failed
    failed: bool


@dataclass(frozen=True, slots=True)
class ChartCompaction:
    """A compaction."""

    # When
    at: datetime
    # Its number in the map, from 1
    number: int


@dataclass(frozen=True, slots=True)
class LaneTable:
    """What charts.topics draws."""

    # Lanes from the top
    lanes: list[ChartLane]
    # Changes of topic in time
    switches: list[ChartSwitch]
    # Sub-agents
    spawns: list[ChartSpawn]
    # Compactions
    compactions: list[ChartCompaction]
    # Stretches in which something is recorded; a long rest between them is folded
    activity: list[tuple[datetime, datetime]]


def lane_table(table: analysis.TopicTable, events: Sequence[TopicEvent]) -> LaneTable:
    """The table of the chart; a topic's last stretch ends with the map's last event."""
    places = {lane.topic: at for at, lane in enumerate(table.lanes)}
    end = table.last_at
    lanes = [
        ChartLane(
            lane.name, lane.color, [(span.start, span.end or max(end or span.start, span.start)) for span in lane.spans]
        )
        for lane in table.lanes
    ]
    switches = sorted((span.start, places[lane.topic]) for lane in table.lanes for span in lane.spans)
    before: list[int | None] = [None, *(place for _, place in switches)]
    spawns = [
        _spawn(spawn.at, spawn.end, places[lane.topic], events[spawn.event])
        for lane in table.lanes
        for spawn in lane.spawns
        if spawn.at is not None
    ]
    moments = [event.at for event in events if event.at is not None]
    return LaneTable(
        lanes,
        [ChartSwitch(at, left, place) for (at, place), left in zip(switches, before, strict=False)],
        spawns,
        [ChartCompaction(one.at, at) for at, one in enumerate(table.compactions, 1) if one.at is not None],
        [(at, at) for at in moments] + [(spawn.at, spawn.until or spawn.at) for spawn in spawns],
    )


def _spawn(at: datetime, until: datetime | None, lane: int, event: TopicEvent) -> ChartSpawn:
    return ChartSpawn(at, until, lane, event.task or event.id or "sub-agent", _failed(event))


def _failed(event: TopicEvent) -> bool:
    words = (event.result or "").lower()
    return any(word in words for word in ("error", "failed", "failure", "timed out", "aborted"))
