"""Raw files as they came, uploads under way, and which session was read from which file."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

UPLOAD_STATES = ("receiving", "received", "interrupted", "refused")
ORIGINS = ("upload", "import", "demo", "api")


class ArtifactRecord(models.Model):
    """A raw file by its content. Bytes lie in the data folder (store.artifacts), or, where `path` is set, are
    read in place: agents' databases hold credential tables and are never copied."""

    sha256 = models.CharField(max_length=64, unique=True)
    name = models.TextField()
    size = models.BigIntegerField()
    state = models.CharField(max_length=12, default="received")  # received, read, unreadable
    path = models.TextField(default="", blank=True)
    received_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state__in=["received", "read", "unreadable"]), name="artifact_state_known"
            ),
            models.CheckConstraint(condition=models.Q(size__gte=0), name="artifact_size_positive"),
        ]


class UploadBatchRecord(models.Model):
    """Files that came together and are read together (a root session with its sub-agents, a store with its host).

    `fingerprint` names the set of contents and the version that read it; the same again changes nothing.
    `person` sent them (null: a command or a worker did), `is_private` to see them alone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    origin = models.CharField(max_length=8, default="upload")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    is_private = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    fingerprint = models.CharField(max_length=64, default="", blank=True)
    session_ids = models.JSONField(default=list)
    job = models.ForeignKey("store.JobRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(origin__in=ORIGINS), name="batch_origin_known"),
            models.CheckConstraint(
                condition=models.Q(is_private=False) | models.Q(person__isnull=False), name="batch_private_to_somebody"
            ),
        ]
        indexes = [
            # services.digest: were these very files read before?
            models.Index(fields=["fingerprint"], name="batch_by_fingerprint"),
        ]


class UploadRecord(models.Model):
    """One file of a batch, from its first byte on. `sentence` tells a person what to do where it did not arrive.

    `owner` is the process that receives it: when it is gone, the row becomes "interrupted".
    `source_path` is where an imported file lies, so that it can be followed while it grows.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    batch = models.ForeignKey(UploadBatchRecord, on_delete=models.CASCADE, related_name="uploads")
    name = models.TextField()
    state = models.CharField(max_length=12, default="receiving")
    artifact = models.ForeignKey(ArtifactRecord, null=True, on_delete=models.SET_NULL, related_name="uploads")
    source_path = models.TextField(default="", blank=True)
    sentence = models.TextField(default="", blank=True)
    owner = models.CharField(max_length=200, default="", blank=True)
    is_dismissed = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(state__in=UPLOAD_STATES), name="upload_state_known"),
            models.CheckConstraint(
                condition=~models.Q(state="receiving") | models.Q(artifact__isnull=True), name="upload_half_has_no_file"
            ),
        ]
        indexes = [
            # queries.jobs.uploads_to_tell and services.receive.sweep_incoming: few rows of many
            models.Index(
                fields=["state"], name="upload_to_tell", condition=models.Q(state__in=["receiving", "interrupted"])
            ),
        ]


class SessionArtifactRecord(models.Model):
    """The files that a session is read from now; superseded ones lose their row and then their bytes."""

    session = models.ForeignKey("store.SessionRecord", on_delete=models.CASCADE, related_name="artifacts")
    artifact = models.ForeignKey(ArtifactRecord, on_delete=models.PROTECT, related_name="sessions")
    name = models.TextField()
    source_path = models.TextField(default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "artifact"], name="session_artifact_once")]


class WaitingLogRecord(models.Model):
    """A log of requests that came before the session it speaks of (`source_id`), one row for each such session: the
    file is kept for it until it comes, or until `since` is too long ago. `person` and `is_private` are its batch's."""

    artifact = models.ForeignKey(ArtifactRecord, on_delete=models.CASCADE, related_name="waiting")
    source_id = models.CharField(max_length=255)
    name = models.TextField()
    source_path = models.TextField(default="", blank=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    is_private = models.BooleanField(default=False)
    since = models.DateTimeField()

    class Meta:
        indexes = [
            # services.digest.halves: is there a log of the session that is saved?
            models.Index(fields=["source_id"], name="waiting_log_by_source_id"),
        ]
