"""Events of context engines."""

from __future__ import annotations

from contextviz.events.engine_event import EngineEvent
from contextviz.store.models.engine_event import EngineEventRecord
from contextviz.store.rows.table import Row, Table

COLUMNS = ("type", "engine", "at", "file", "line", "origin", "quality", "data")


def _to_row(event: EngineEvent) -> Row:
    return (
        event.type, event.engine, event.at, event.file, event.line, event.origin, event.quality, dict(event.data)
    )  # fmt: skip


def _to_event(row: Row) -> EngineEvent:
    kind, engine, at, file, line, origin, quality, data = row
    return EngineEvent(kind, engine, at, file, line, origin, quality, data)


ENGINE_EVENTS = Table[EngineEvent](EngineEventRecord, COLUMNS, _to_row, _to_event)
