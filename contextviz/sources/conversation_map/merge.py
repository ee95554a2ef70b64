"""The log's entries beside the map's events: the same event told twice is one event."""

from __future__ import annotations

from datetime import timedelta

from contextviz.events.topic import TopicEvent
from contextviz.sources.conversation_map.contextlog import LogEntry, LogSpawn, zone_shift
from contextviz.sources.conversation_map.document import MapReading

COMPACTION = "[compaction]"


def merge_log(entries: list[LogEntry], reading: MapReading, file: str) -> None:
    """Put the entries of a CONTEXT_LOG.md into `reading`: told by both (`source` both), or new ones (`log`)."""
    shift = zone_shift(
        ((_place(entry.topic), entry.at) for entry in entries if entry.at is not None),
        ((_place(event.topic), event.at) for event in reading.events if _is_placed(event) and event.at is not None),
    )
    if shift:
        hours = shift.total_seconds() / -3600
        text = f"the log's times are local ({hours:+g} h from UTC, found by its entries that the map also has)"
        reading.problem("local_times", text, "info", file=file)
    unclaimed: dict[tuple[str, object], list[TopicEvent]] = {}
    for event in reading.events:
        if _is_placed(event) and event.at is not None:
            key = (_place(event.topic), event.at.replace(second=0, microsecond=0))
            unclaimed.setdefault(key, []).append(event)
    # The log is newest first; its own events are added in the order they happened.
    for entry in reversed(entries):
        _merge(entry, shift, unclaimed, reading, file)


def _merge(
    entry: LogEntry,
    shift: timedelta,
    unclaimed: dict[tuple[str, object], list[TopicEvent]],
    reading: MapReading,
    file: str,
) -> None:
    at = None if entry.at is None else entry.at + shift
    waiting = unclaimed.get((_place(entry.topic), at), [])
    if waiting:
        event = waiting.pop(0)
        event.source = "both"
        event.summary = event.summary or entry.summary
        event.trigger = event.trigger or entry.trigger
        event.active_topics = event.active_topics or entry.active
    else:
        event = TopicEvent(None, entry.kind, entry.topic, at, "unknown" if at is None else "recorded", source="log")
        event.trigger, event.summary, event.active_topics = entry.trigger, entry.summary, list(entry.active)
        reading.events.append(event)
        for slug in filter(None, [entry.topic, *entry.active]):
            reading.topic(slug)
        what = f"the switch to {entry.topic}" if entry.topic else "a compaction"
        text = f"{what} in line {entry.line} of the log is not in the map"
        reading.problem("not_in_map", text, "info", file=file, line=entry.line)
    for spawn in entry.spawns:
        _merge_spawn(spawn, event, reading)


def _merge_spawn(spawn: LogSpawn, parent: TopicEvent, reading: MapReading) -> None:
    same = [event for event in reading.events if event.id == spawn.id and event.kind == "agent_spawn"]
    near = [event for event in same if parent.at is None or event.at is None or _days(event, parent) < 2]
    if near:
        event = near[0]
        event.source = "both"
        event.model = event.model or spawn.model
        event.summary = event.summary or spawn.text
        event.duration_ms = spawn.duration_ms if event.duration_ms is None else event.duration_ms
        return
    event = TopicEvent(spawn.id, "agent_spawn", parent.topic, parent.at, source="log")
    event.at_basis = "unknown" if parent.at is None else "inherited"
    event.parent_id = parent.id or spawn.id.rpartition("-a")[0]
    event.model, event.duration_ms, event.summary = spawn.model, spawn.duration_ms, spawn.text
    reading.events.append(event)


def _days(event: TopicEvent, parent: TopicEvent) -> int:
    return 0 if event.at is None or parent.at is None else abs((event.at - parent.at).days)


def _is_placed(event: TopicEvent) -> bool:
    return event.kind != "agent_spawn"


def _place(topic: str | None) -> str:
    return topic or COMPACTION
