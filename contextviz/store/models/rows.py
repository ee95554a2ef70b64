"""The rows of a session's transcript. Each is known by its session and its index (0-based position)."""

from __future__ import annotations

from django.db import models


class IndexedRecord(models.Model):
    """A row of one session by position; the unique constraint's index serves every read by range."""

    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, db_index=False, related_name="+")
    index = models.BigIntegerField()

    class Meta:
        abstract = True
        constraints = [models.UniqueConstraint(fields=["session", "index"], name="%(class)s_place")]


class MessageRecord(IndexedRecord):
    """A Message; `blocks` is compact JSON of references (store.rows.blocks), never text."""

    source_id = models.CharField(max_length=255, default="", blank=True)
    parent = models.CharField(max_length=255, default="", blank=True)
    role = models.CharField(max_length=12)
    native_role = models.CharField(max_length=64)
    blocks = models.JSONField()
    at = models.DateTimeField(null=True)
    line = models.BigIntegerField(null=True)
    file = models.TextField()
    agent = models.CharField(max_length=200, default="", blank=True)
    model = models.CharField(max_length=200, default="", blank=True)
    call_index = models.BigIntegerField(null=True)
    on_active_path = models.BooleanField(default=True)
    is_human = models.BooleanField(default=False)
    entry_ids = models.JSONField(default=list)
    estimated_tokens = models.BigIntegerField()  # sum of its blocks

    class Meta(IndexedRecord.Meta):
        pass


class EntryRecord(IndexedRecord):
    """Which message an entry id belongs to (one message may be written as several entries)."""

    entry = models.CharField(max_length=255)
    message_index = models.BigIntegerField()

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.messages.by_entries: deep links, and the kept lists of compactions
            models.Index(fields=["session", "entry"], name="entry_by_id"),
        ]


class ToolPairRecord(IndexedRecord):
    """A ToolPair, in the order of the calls."""

    call_entry = models.CharField(max_length=255, default="", blank=True)
    call_message = models.BigIntegerField()
    call_block = models.BigIntegerField()
    result_entry = models.CharField(max_length=255, default="", blank=True)
    result_message = models.BigIntegerField(null=True)
    result_block = models.BigIntegerField(null=True)

    class Meta(IndexedRecord.Meta):
        indexes = [
            # queries.messages.tool_pairs: the pairs of one page of messages, from either side
            models.Index(fields=["session", "call_message"], name="pair_by_call"),
            models.Index(fields=["session", "result_message"], name="pair_by_result"),
        ]


class CallRecord(IndexedRecord):
    """A ModelCall with its usage as reported; `prompt_tokens` is the sum of the three input parts."""

    source_id = models.CharField(max_length=255, default="", blank=True)
    response_id = models.CharField(max_length=255, default="", blank=True)
    at = models.DateTimeField(null=True)
    model = models.CharField(max_length=200, default="", blank=True)
    input_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    cache_write_5m_tokens = models.BigIntegerField(null=True)
    cache_write_1h_tokens = models.BigIntegerField(null=True)
    prompt_tokens = models.BigIntegerField(null=True)
    cost_usd = models.FloatField(null=True)
    agent = models.CharField(max_length=200, default="", blank=True)
    purpose = models.CharField(max_length=16)
    basis = models.CharField(max_length=12)
    window = models.BigIntegerField(null=True)
    message_index = models.BigIntegerField(null=True)
    entry = models.CharField(max_length=255, default="", blank=True)
    line = models.BigIntegerField(null=True)
    on_active_path = models.BooleanField(default=True)

    class Meta(IndexedRecord.Meta):
        pass


class CompactionRecord(IndexedRecord):
    """A Compaction. `number` is what people read; `summary` a text reference as in MessageRecord.blocks."""

    source_id = models.CharField(max_length=255, default="", blank=True)
    number = models.BigIntegerField()
    line = models.BigIntegerField(null=True)
    file = models.TextField()
    at = models.DateTimeField(null=True)
    kind = models.CharField(max_length=16)
    trigger = models.TextField(default="", blank=True)
    tokens_before = models.BigIntegerField(null=True)
    tokens_after = models.BigIntegerField(null=True)
    summary = models.JSONField(null=True)
    first_kept = models.CharField(max_length=255, default="", blank=True)
    kept = models.JSONField(default=list)
    context_items = models.JSONField(default=list)
    on_active_path = models.BooleanField(default=True)
    problem = models.TextField(default="", blank=True)
    agent = models.CharField(max_length=200, default="", blank=True)
    before_call = models.BigIntegerField(null=True)
    after_call = models.BigIntegerField(null=True)
    message_index = models.BigIntegerField(null=True)
    duration_seconds = models.FloatField(null=True)
    producer = models.TextField(default="", blank=True)
    summary_note = models.TextField(default="", blank=True)

    class Meta(IndexedRecord.Meta):
        pass


class ProblemRecord(IndexedRecord):
    """A ReadProblem of one session, in the order found."""

    code = models.CharField(max_length=64)
    severity = models.CharField(max_length=8)
    message = models.TextField()
    file = models.TextField(default="", blank=True)
    line = models.BigIntegerField(null=True)
    entry = models.CharField(max_length=255, default="", blank=True)
    value = models.JSONField(null=True)

    class Meta(IndexedRecord.Meta):
        pass
