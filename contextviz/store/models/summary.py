"""What a summary store (lossless-claw, flowctx) holds for a session."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.rows import IndexedRecord


class SummaryNodeRecord(IndexedRecord):
    """A SummaryNode; the edges are its lists of ids, in the store's own order."""

    source_id = models.CharField(max_length=255)
    kind = models.CharField(max_length=12)
    depth = models.BigIntegerField()
    stored_depth = models.BigIntegerField(null=True)
    tokens = models.BigIntegerField(null=True)  # the store's own number
    text = models.JSONField()
    made_from = models.JSONField(default=list)
    consumers = models.JSONField(default=list)
    covers = models.JSONField(default=list)
    in_context = models.BooleanField(default=False)
    model = models.CharField(max_length=200, default="", blank=True)
    earliest_at = models.DateTimeField(null=True)
    latest_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(null=True)
    conversation = models.CharField(max_length=255, default="", blank=True)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.summaries.find_node: a deep link to a node
            models.Index(fields=["session", "source_id"], name="node_by_id"),
        ]


class StoreMessageRecord(IndexedRecord):
    """A StoreMessage, in the store's order."""

    source_id = models.CharField(max_length=255)
    conversation = models.CharField(max_length=255)
    seq = models.BigIntegerField()
    role = models.CharField(max_length=32)
    text = models.JSONField()
    tokens = models.BigIntegerField(null=True)  # the store's own number
    at = models.DateTimeField(null=True)
    tool_call_id = models.TextField(default="", blank=True)
    transcript_entry = models.CharField(max_length=255, default="", blank=True)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.summaries.store_messages: the messages that a node covers, by id
            models.Index(fields=["session", "source_id"], name="store_message_by_id"),
        ]


class ContextRefRecord(IndexedRecord):
    """One row of a store's current context, in order."""

    kind = models.CharField(max_length=8)
    ref = models.CharField(max_length=255)

    class Meta(IndexedRecord.Meta):
        pass
