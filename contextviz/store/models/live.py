"""What arrives while it happens: what agents post, what the Live page tells of sessions, and what people want to
be told of."""

from __future__ import annotations

from django.conf import settings
from django.db import models

INBOX_SOURCES = ("events", "otlp")
ALERT_KINDS = ("fill_above", "compaction", "compactions_within", "overflow", "stuck", "prefix_break")
WEBHOOK_STATES = ("none", "queued", "sent", "failed")


class InboxStreamRecord(models.Model):
    """Everything that one sender posts for one session, which is read like a file that grows.

    `name` is the session as the sender calls it; streams of different people are different sessions. `digested` is the
    last InboxRecord that a digest has taken, `job` the digest that is waiting or under way. `joined` is the stream
    that this one turned out to be a part of: what comes for it goes there.
    """

    source = models.CharField(max_length=8)
    name = models.CharField(max_length=255)
    sender = models.CharField(max_length=64, default="", blank=True)  # whose stream it is; empty: everybody's
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    is_private = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    posted_at = models.DateTimeField()
    digested = models.BigIntegerField(default=0)
    job = models.ForeignKey("store.JobRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    session = models.ForeignKey("store.SessionRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    joined = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "sender", "name"], name="inbox_stream_once"),
            models.CheckConstraint(condition=models.Q(source__in=INBOX_SOURCES), name="inbox_source_known"),
        ]


class InboxRecord(models.Model):
    """One event or span as it was posted: `body` is one JSON object in UTF-8. `dedupe` is what makes it one: the same
    posted again is known and not kept twice."""

    stream = models.ForeignKey(InboxStreamRecord, on_delete=models.CASCADE, related_name="rows", db_index=False)
    dedupe = models.CharField(max_length=64)
    body = models.BinaryField()
    received_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "dedupe"], name="inbox_row_once")]
        indexes = [
            # services.inbox: what came after the last digest, in order
            models.Index(fields=["stream", "id"], name="inbox_in_order"),
        ]


class InboxCountRecord(models.Model):
    """How many records of a kind were posted that no reader has a use for: they are counted and not kept."""

    source = models.CharField(max_length=8)
    what = models.CharField(max_length=120)
    count = models.BigIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "what"], name="inbox_count_once")]


class LiveEventRecord(models.Model):
    """One thing that happened in a session, as the Live feed tells it. Its key is the watermark of the feed.

    `at` is the source's own time (null: it wrote none), `seen_at` ours. `key` makes it one within its session, so that
    a session read again tells nothing twice. `call_index` is the call it belongs to, if any.
    """

    session = models.ForeignKey(
        "store.SessionRecord", on_delete=models.CASCADE, related_name="live_events", db_index=False
    )
    kind = models.CharField(max_length=32)
    at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField()
    key = models.CharField(max_length=64)
    call_index = models.BigIntegerField(null=True)
    data = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "key"], name="live_event_once")]
        indexes = [
            # queries.live: the feed of one session; without a session the key itself is the order
            models.Index(fields=["session", "id"], name="live_by_session"),
            # services.live: what is old goes
            models.Index(fields=["seen_at"], name="live_by_age"),
        ]


class AlertRuleRecord(models.Model):
    """What somebody wants to be told of. `params` are the numbers of its kind (services.alerts); `secret` signs its
    webhook and is never shown again."""

    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=20)
    params = models.JSONField(default=dict)
    is_on = models.BooleanField(default=True)
    webhook = models.TextField(default="", blank=True)
    secret = models.CharField(max_length=64, default="", blank=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(kind__in=ALERT_KINDS), name="alert_kind_known")]


class AlertRecord(models.Model):
    """A rule that came true for a session, once for each `key` (what made it true)."""

    rule = models.ForeignKey(AlertRuleRecord, on_delete=models.CASCADE, related_name="alerts", db_index=False)
    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    at = models.DateTimeField()
    sentence = models.TextField()
    data = models.JSONField(default=dict)
    webhook_state = models.CharField(max_length=8, default="none")
    job = models.ForeignKey("store.JobRecord", null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "session", "key"], name="alert_once"),
            models.CheckConstraint(condition=models.Q(webhook_state__in=WEBHOOK_STATES), name="alert_webhook_known"),
        ]
