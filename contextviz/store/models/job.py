"""Background work that people see."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

JOB_KINDS = (
    "digest", "expand_summary", "retrieve_original", "delete_session", "index_texts", "look_through", "send_webhook",
    "replay",
)  # fmt: skip
JOB_STATES = ("queued", "running", "done", "failed", "cancelled")


class JobRecord(models.Model):
    """One job. The row is the truth: a message of the broker only says that it may be looked at.

    `progress` of `total` in the unit of the kind (bytes read, rows deleted, nodes); `total` null while unknown.
    `owner` names the process that runs it (host and process identity), `heartbeat_at` when it last said so.
    `outcome` is a sentence for a person. `can_retry` is false where another try would end the same way.
    `person` asked for it (null: a command or a worker did); only that person and admins see an `is_private` one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=24)
    state = models.CharField(max_length=12, default="queued")
    progress = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    outcome = models.TextField(default="", blank=True)
    params = models.JSONField(default=dict)
    result = models.JSONField(default=dict)
    session = models.ForeignKey("store.SessionRecord", null=True, on_delete=models.SET_NULL, related_name="+")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    is_private = models.BooleanField(default=False)
    attempts = models.PositiveSmallIntegerField(default=0)
    owner = models.CharField(max_length=200, default="", blank=True)
    heartbeat_at = models.DateTimeField(null=True)
    is_cancel_asked = models.BooleanField(default=False)
    can_retry = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(kind__in=JOB_KINDS), name="job_kind_known"),
            models.CheckConstraint(condition=models.Q(state__in=JOB_STATES), name="job_state_known"),
            models.CheckConstraint(
                condition=~models.Q(state="running") | models.Q(heartbeat_at__isnull=False), name="job_running_beats"
            ),
            models.CheckConstraint(
                condition=models.Q(is_private=False) | models.Q(person__isnull=False), name="job_private_to_somebody"
            ),
        ]
        indexes = [
            # queries.jobs.page: newest first
            models.Index(fields=["-created_at", "id"], name="job_by_time"),
            # services.jobs.recover_stale: everything unfinished; the jobs page's badge
            models.Index(fields=["state"], name="job_unfinished", condition=models.Q(state__in=["queued", "running"])),
        ]


class JobLogRecord(models.Model):
    """One line of a job's log."""

    job = models.ForeignKey(JobRecord, on_delete=models.CASCADE, related_name="lines")  # its index: a job's log
    at = models.DateTimeField()
    text = models.TextField()
