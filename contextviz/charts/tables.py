"""From the tables of the analysis to what the topic lanes and the summary graph draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from contextviz.analysis.summary_graph import SummaryGraph
from contextviz.analysis.topics import TopicTable
from contextviz.events.topic import TopicEvent


@dataclass(frozen=True, slots=True)
class DrawnLane:
    """A topic's lane with spans that have two ends."""

    name: str
    colour: str | None
    spans: list[tuple[datetime, datetime]]


@dataclass(frozen=True, slots=True)
class DrawnSwitch:
    """A change of topic, by positions of lanes."""

    at: datetime
    from_lane: int | None
    to_lane: int


@dataclass(frozen=True, slots=True)
class DrawnSpawn:
    """A sub-agent in its lane."""

    at: datetime
    until: datetime | None
    lane: int
    name: str
    failed: bool


@dataclass(frozen=True, slots=True)
class DrawnCompaction:
    """A compaction on the clock, numbered in order."""

    at: datetime
    number: int


@dataclass(frozen=True, slots=True)
class DrawnTopics:
    """What charts.topics draws. `activity` are the stretches in which something is recorded."""

    lanes: list[DrawnLane]
    switches: list[DrawnSwitch]
    spawns: list[DrawnSpawn]
    compactions: list[DrawnCompaction]
    activity: list[tuple[datetime, datetime]]


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """What charts.graph draws of one summary."""

    id: str
    depth: int
    start: float | None
    end: float | None
    tokens: int | None
    made_from: tuple[str, ...]
    in_window: bool
    finding: bool
    url: str


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """What charts.graph draws."""

    nodes: list[DrawnNode]
    unit: str
    span: tuple[float, float] | None


def topic_table(table: TopicTable, events: Sequence[TopicEvent]) -> DrawnTopics:
    """The swim-lanes of a map. Events without a time are left out; `table.unplaced` counts them.

    The last span ends with the last event of the map: nothing is known to have happened later.
    """
    last = table.last_at
    lanes = [
        DrawnLane(lane.name, lane.color, [(span.start, span.end or last or span.start) for span in lane.spans])
        for lane in table.lanes
    ]
    spawns = [
        DrawnSpawn(spawn.at, spawn.end, place, _spawn_name(events[spawn.event]), _failed(events[spawn.event]))
        for place, lane in enumerate(table.lanes)
        for spawn in lane.spawns
        if spawn.at is not None
    ]
    switches = _switches(table)
    timed = [mark.at for mark in table.compactions if mark.at is not None]
    compactions = [DrawnCompaction(at, number) for number, at in enumerate(timed, start=1)]
    moments = [switch.at for switch in switches] + timed + ([last] if last is not None else [])
    activity = [(at, at) for at in moments] + [(spawn.at, spawn.until or spawn.at) for spawn in spawns]
    return DrawnTopics(lanes, switches, spawns, compactions, activity)


def _switches(table: TopicTable) -> list[DrawnSwitch]:
    marks = sorted(
        (mark.at, mark.event, place)
        for place, lane in enumerate(table.lanes)
        for mark in lane.switches
        if mark.at is not None
    )
    found: list[DrawnSwitch] = []
    before: int | None = None
    for at, _, place in marks:
        found.append(DrawnSwitch(at, before, place))
        before = place
    return found


def _spawn_name(event: TopicEvent) -> str:
    return event.task or event.summary or event.id or "sub-agent"


def _failed(event: TopicEvent) -> bool:
    return (event.result or "").strip().lower().startswith(("error", "fail"))


def graph_table(graph: SummaryGraph, url_of: Callable[[str], str]) -> DrawnGraph:
    """A summary graph over the numbers of its messages; `url_of` gives the address of a node by its id."""
    count = max(graph.message_count, 1)
    nodes = []
    for node in graph.nodes:
        # A rolling summary stands at the end of what it covers, a folded one over its middle.
        right = node.x if node.kind == "rolling" else node.x + node.width / 2
        start, end = (min(max(share, 0.0), 1.0) * count + 1 for share in (right - node.width, right))
        findings = bool(node.findings)
        address = url_of(node.id)
        nodes.append(
            DrawnNode(node.id, node.y, start, end, node.tokens, node.made_from, node.in_context, findings, address)
        )
    return DrawnGraph(nodes, "message", (1, count + 1))
