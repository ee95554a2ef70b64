"""A replay of a session by an engine (events.run.Run): a row that lists show, and the rest in compressed chunks."""

from __future__ import annotations

import uuid

from django.conf import settings as site
from django.db import models

CHUNK_KINDS = (
    "windows", "calls", "items", "messages", "boundaries", "nodes", "events", "originals", "handles", "node_ids",
)  # fmt: skip


class RunRecord(models.Model):
    """One run. Its state is its job's; `finished_at` and `hash` are set once everything of it is saved.

    `asked` is what it was to be measured with (null: the session's own), `measured` what that came to (RunSettings; {}
    until it is done). `config_hash` tells a request from another: engine, version, resolved settings, `asked`,
    summariser and the session's revision, so the same request finds the same run. Empty texts are unknown.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, db_index=False, related_name="+")
    config_hash = models.CharField(max_length=64)
    session_revision = models.PositiveIntegerField()
    engine = models.CharField(max_length=64)
    version = models.CharField(max_length=64)
    label = models.CharField(max_length=200)
    settings = models.JSONField(default=dict)
    asked = models.JSONField(default=dict)
    measured = models.JSONField(default=dict)
    qualities = models.JSONField(default=dict)
    summariser = models.CharField(max_length=200, default="", blank=True)
    scorer = models.CharField(max_length=200, default="", blank=True)
    notes = models.JSONField(default=list)
    job = models.ForeignKey("store.JobRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    person = models.ForeignKey(site.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    message_count = models.BigIntegerField(default=0)
    call_count = models.BigIntegerField(default=0)
    item_count = models.BigIntegerField(default=0)
    boundary_count = models.BigIntegerField(default=0)
    node_count = models.BigIntegerField(default=0)
    event_count = models.BigIntegerField(default=0)
    original_count = models.BigIntegerField(default=0)
    summariser_calls = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="", blank=True)
    scorecard = models.JSONField(default=dict)

    class Meta:
        constraints = [
            # Its index serves the list of a session's runs as well.
            models.UniqueConstraint(fields=["session", "config_hash"], name="run_once_a_configuration"),
            models.CheckConstraint(
                condition=models.Q(finished_at__isnull=True) | ~models.Q(hash=""), name="run_finished_has_hash"
            ),
        ]


class RunSeriesRecord(models.Model):
    """What charts draw of a run, one column a number and one entry a call (store.rows.run); zstd of JSON."""

    run = models.OneToOneField(RunRecord, on_delete=models.CASCADE, primary_key=True, related_name="series")
    body = models.BinaryField()


class RunChunkRecord(models.Model):
    """A stretch of one list of a run, zstd of JSON (store.rows.run has the kinds, and how many are in one): the
    windows of 32 calls (the first whole, then differences), 1,024 items, and so on."""

    run = models.ForeignKey(RunRecord, on_delete=models.CASCADE, db_index=False, related_name="+")
    kind = models.CharField(max_length=12)
    number = models.PositiveIntegerField()
    body = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "kind", "number"], name="run_chunk_place"),
            models.CheckConstraint(condition=models.Q(kind__in=CHUNK_KINDS), name="run_chunk_kind_known"),
        ]


class RunTextRecord(models.Model):
    """That a run holds a text which its session does not: what the engine wrote. It goes with the run."""

    run = models.ForeignKey(RunRecord, on_delete=models.CASCADE, db_index=False, related_name="+")
    text = models.ForeignKey("store.TextRecord", on_delete=models.PROTECT, related_name="run_uses")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "text"], name="run_text_once")]


class KeptSummaryRecord(models.Model):
    """A summary that an endpoint gave for a session's replays, by the hash of what it was asked: a replay that is
    picked up again does not pay for it twice. `body` is zstd of the text."""

    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, db_index=False, related_name="+")
    key = models.CharField(max_length=64)
    body = models.BinaryField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "key"], name="kept_summary_once")]
