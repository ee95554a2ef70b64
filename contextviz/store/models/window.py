"""What each call was given."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.rows import IndexedRecord


class ItemRecord(IndexedRecord):
    """A ContextItem of the session's ItemTable; `index` is its position. `category` is analysis.composition's."""

    role = models.CharField(max_length=12)
    kind = models.CharField(max_length=16)
    category = models.CharField(max_length=32, default="", blank=True)
    digest = models.BinaryField(max_length=32)
    chars = models.BigIntegerField()
    size = models.BigIntegerField()
    estimated_tokens = models.BigIntegerField()
    entry = models.CharField(max_length=255, default="", blank=True)
    message_index = models.BigIntegerField(null=True)
    state = models.CharField(max_length=12)
    reason = models.TextField()
    basis = models.CharField(max_length=12)
    is_error = models.BooleanField(default=False)
    tool_name = models.TextField(default="", blank=True)
    tool_call_id = models.TextField(default="", blank=True)
    media_bytes = models.BigIntegerField(null=True)

    class Meta(IndexedRecord.Meta):
        pass


class SnapshotRecord(IndexedRecord):
    """A ContextSnapshot. `tail`, and in every 32nd of a chain `whole`, are item positions as runs (store.packing).

    A chain is a snapshot without a previous one and all that follow from it; `chain_index` is that first one and
    `key_index` the nearest key frame at or before this one, so a window is read with the rows between the two.
    `sums` are estimated tokens by category, so that charts never read items or texts. `log_check` is a WindowCheck as
    plain values (events.evidence), null where no log of requests speaks of the call.
    """

    call_index = models.BigIntegerField()
    basis = models.CharField(max_length=8)
    note = models.TextField(default="", blank=True)
    previous = models.BigIntegerField(null=True)
    keep = models.BigIntegerField()
    tail = models.BinaryField()
    whole = models.BinaryField(null=True)
    chain_index = models.BigIntegerField()
    key_index = models.BigIntegerField()
    item_count = models.BigIntegerField()
    estimated_tokens = models.BigIntegerField()
    sums = models.JSONField(default=dict)
    log_check = models.JSONField(null=True)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.snapshots.window: the rows of one chain between a key frame and a snapshot
            models.Index(fields=["session", "chain_index", "index"], name="snapshot_by_chain"),
            # queries.snapshots.find_of_call
            models.Index(fields=["session", "call_index"], name="snapshot_by_call"),
        ]
