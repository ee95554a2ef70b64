"""Sessions: what the Library lists, and the rest of what was read."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SessionRecord(models.Model):
    """One session (Session.key is its identity, hashed into `key`), with the numbers that the Library shows.

    Null means unknown. Token numbers: `last_prompt_tokens` and `spend_*` are reported by the provider;
    `occupancy_basis` says what occupancy is. `revision` grows with every change, so a page knows when to ask again.
    `owner` brought it (null: a command did); only the owner and admins see an `is_private` one. The clean-up by age and
    size passes an `is_kept` one by.
    """

    key = models.CharField(max_length=64, unique=True)
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    status = models.CharField(max_length=12, default="complete")  # complete, growing (a line is half written), deleting
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    is_private = models.BooleanField(default=False)
    is_kept = models.BooleanField(default=False)

    source_id = models.CharField(max_length=255)
    format = models.CharField(max_length=32)
    format_version = models.CharField(max_length=64, default="", blank=True)
    generation = models.CharField(max_length=8, default="active")
    generation_at = models.DateTimeField(null=True)
    agent = models.CharField(max_length=200, default="", blank=True)
    title = models.TextField(default="", blank=True)
    cwd = models.TextField(default="", blank=True)
    model = models.CharField(max_length=200, default="", blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    sorted_at = models.DateTimeField()  # the end, else the start, else when it was read: what the Library sorts by
    parent = models.CharField(max_length=255, default="", blank=True)
    forked_from = models.CharField(max_length=255, default="", blank=True)
    replayed_lines = models.BigIntegerField(null=True)
    first_own_line = models.BigIntegerField(null=True)
    window = models.BigIntegerField(null=True)  # context window in tokens
    window_basis = models.CharField(max_length=16, default="", blank=True)
    compaction_threshold = models.BigIntegerField(null=True)  # tokens
    compaction_threshold_basis = models.CharField(max_length=16, default="", blank=True)
    features = models.BigIntegerField(null=True)  # sources.features.to_bits; null: read before they were kept

    entry_count = models.BigIntegerField(default=0)
    message_count = models.BigIntegerField(default=0)
    call_count = models.BigIntegerField(default=0)
    failed_call_count = models.BigIntegerField(default=0)
    compaction_count = models.BigIntegerField(default=0)
    snapshot_count = models.BigIntegerField(default=0)
    subagent_count = models.BigIntegerField(default=0)
    node_count = models.BigIntegerField(default=0)
    topic_count = models.BigIntegerField(default=0)
    problem_count = models.BigIntegerField(default=0)
    error_count = models.BigIntegerField(default=0)  # problems of severity error
    coverage = models.FloatField(null=True)  # share of filled lines read as records of a known type, 0 to 1
    last_prompt_tokens = models.BigIntegerField(null=True)
    occupancy_tokens = models.BigIntegerField(null=True)
    occupancy_share = models.FloatField(null=True)  # of the window, 0 to 1; may exceed 1
    occupancy_basis = models.CharField(max_length=12, default="unknown")
    spend_input_tokens = models.BigIntegerField(null=True)  # uncached
    spend_cache_read_tokens = models.BigIntegerField(null=True)
    spend_cache_write_tokens = models.BigIntegerField(null=True)
    spend_output_tokens = models.BigIntegerField(null=True)
    spend_total_tokens = models.BigIntegerField(null=True)
    cost_usd = models.FloatField(null=True)
    cost_basis = models.CharField(max_length=12, default="unknown")
    cost_unpriced_calls = models.BigIntegerField(default=0)  # calls that cost_usd leaves out
    cost_prices = models.CharField(max_length=16, default="", blank=True)  # services.budget.costs: with which prices
    estimator = models.CharField(max_length=32, default="", blank=True)
    read_by = models.CharField(max_length=32, default="", blank=True)  # our version that read it

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=["complete", "growing", "deleting"]), name="session_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(is_private=False) | models.Q(owner__isnull=False), name="session_private_to_somebody"
            ),
        ]
        indexes = [
            # queries.library: the default order, newest first
            models.Index(fields=["-sorted_at", "-id"], name="session_by_time"),
            # queries.library: filter by format, then the default order
            models.Index(fields=["format", "-sorted_at"], name="session_by_format"),
            # queries.library: filter by agent, then the default order
            models.Index(fields=["agent", "-sorted_at"], name="session_by_agent"),
            # queries.sessions.named: relations (parent, fork) name a session by its own id
            models.Index(fields=["source_id"], name="session_by_source_id"),
        ]


class SessionDetailRecord(models.Model):
    """What only a session's own pages need. `body` is zstd of JSON (store.rows.detail): lines, tree, sub-agents,
    hints, entry times and the like; `row_hashes` lets a re-read change only the rows that differ (store.tables)."""

    session = models.OneToOneField(SessionRecord, on_delete=models.CASCADE, primary_key=True, related_name="detail")
    body = models.BinaryField()
    row_hashes = models.BinaryField()


class SessionSeriesRecord(models.Model):
    """What charts draw, by call, computed once when the session is saved (services.figures); zstd of JSON.

    `strips` are columns by agent, `compositions` one row a call. A session of 30,000 calls is read in a few
    milliseconds this way; a row each would take longer than a page may.
    """

    session = models.OneToOneField(SessionRecord, on_delete=models.CASCADE, primary_key=True, related_name="series")
    strips = models.BinaryField()
    compositions = models.BinaryField()
