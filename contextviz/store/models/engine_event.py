"""What context engines did or decided, as they wrote it down."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.rows import IndexedRecord


class EngineEventRecord(IndexedRecord):
    """An EngineEvent, in the order of time; `data` is a flat object of scalars with the engine's own numbers."""

    type = models.CharField(max_length=32)
    engine = models.CharField(max_length=32)
    at = models.DateTimeField(null=True)
    file = models.TextField()
    line = models.BigIntegerField(null=True)
    origin = models.CharField(max_length=12)
    quality = models.CharField(max_length=12)
    data = models.JSONField(default=dict)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.engine_events: how many of each type, and the events of one type
            models.Index(fields=["session", "type"], name="engine_event_by_type"),
        ]
