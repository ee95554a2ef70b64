"""Topics and events of a conversation map."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.rows import IndexedRecord


class TopicRecord(IndexedRecord):
    """A Topic; its thread and status notes are text references."""

    slug = models.CharField(max_length=255)
    name = models.TextField()
    color = models.CharField(max_length=32, default="", blank=True)
    status = models.CharField(max_length=64, default="", blank=True)
    created_at = models.DateTimeField(null=True)
    last_active_at = models.DateTimeField(null=True)
    is_declared = models.BooleanField(default=True)
    thread = models.JSONField(null=True)
    status_note = models.JSONField(null=True)

    class Meta(IndexedRecord.Meta):
        pass


class TopicEventRecord(IndexedRecord):
    """A TopicEvent, in the map's order."""

    source_id = models.CharField(max_length=255, default="", blank=True)
    kind = models.CharField(max_length=16)
    topic = models.CharField(max_length=255, default="", blank=True)
    at = models.DateTimeField(null=True)
    at_basis = models.CharField(max_length=12)
    trigger = models.TextField(default="", blank=True)
    summary = models.TextField(default="", blank=True)
    parent = models.CharField(max_length=255, default="", blank=True)
    model = models.CharField(max_length=200, default="", blank=True)
    task = models.TextField(default="", blank=True)
    duration_ms = models.BigIntegerField(null=True)
    result = models.TextField(default="", blank=True)
    artifacts = models.JSONField(default=list)
    active_topics = models.JSONField(default=list)
    source = models.CharField(max_length=64)

    class Meta(IndexedRecord.Meta):
        pass
