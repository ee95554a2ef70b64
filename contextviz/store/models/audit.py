"""What is written down of people: sign-ins, tries that failed, and acts that somebody may ask about later."""

from __future__ import annotations

from django.conf import settings
from django.db import models

AUDIT_KINDS = (
    "sign_in", "sign_in_failed", "sign_out", "key_created", "key_used", "key_revoked", "session_deleted",
    "secret_unmasked", "account_changed", "privacy_changed",
)  # fmt: skip


class AuditRecord(models.Model):
    """One act. `name` is the person's at the time, or what was typed; `address` the browser's; `target` a sentence's
    worth of what it was done to."""

    at = models.DateTimeField()
    kind = models.CharField(max_length=16)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=150, default="", blank=True)
    target = models.CharField(max_length=300, default="", blank=True)
    address = models.CharField(max_length=64, default="", blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(kind__in=AUDIT_KINDS), name="audit_kind_known")]
        indexes = [
            # services.accounts.audit.audit_page: one kind, newest first; without a kind the key itself is the order
            models.Index(fields=["kind", "-id"], name="audit_by_kind"),
        ]


class SignInTryRecord(models.Model):
    """Failed tries with one name or from one address, by the hash of it, and until when the next has to wait."""

    digest = models.CharField(max_length=64, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()
    blocked_until = models.DateTimeField(null=True)


class WorkerRecord(models.Model):
    """A worker process that runs, by services.owners.own_name, and when it last said so."""

    name = models.CharField(max_length=200, primary_key=True)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
