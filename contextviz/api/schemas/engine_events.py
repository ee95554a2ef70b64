"""What context engines did or decided."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema

from contextviz.api.shapes import Name, Words
from contextviz.events.engine_event import EngineEvent as Event
from contextviz.events.engine_event import EventType, Origin, Quality

MOST_DATA = 100


class EngineEvent(Schema):
    """Something that a context engine did or decided, as it wrote it down (docs/events.md has the types and the names
    in `data`). `index` is its place in the session, from 0, in the order of time. Numbers in `data` are the engine's
    own, so their basis is reported; the first 100 of its values are listed. `did_not_fire` marks an evaluation or an
    attempt after which nothing was compacted. `line` is that of a log, from 1."""

    index: int
    type: EventType
    engine: Name
    at: datetime | None
    file: Words
    line: int | None
    origin: Origin
    quality: Quality
    did_not_fire: bool
    data: dict[Name, bool | int | float | Words | None]


def engine_event_of(index: int, event: Event) -> EngineEvent:
    """An event as the API shows it."""
    return EngineEvent(
        index=index,
        type=event.type,
        engine=event.engine,
        at=event.at,
        file=event.file,
        line=event.line,
        origin=event.origin,
        quality=event.quality,
        did_not_fire=event.did_not_fire,
        data=dict(list(event.data.items())[:MOST_DATA]),
    )
