"""Sign-in tokens and what a person prefers."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SignInTokenRecord(models.Model):
    """A one-time sign-in token, by its SHA-256; the token itself is never kept."""

    digest = models.CharField(max_length=64, primary_key=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)


class PreferenceRecord(models.Model):
    """One person's appearance, time zone, and whether uploads are private unless said otherwise. `time_zone` empty
    means UTC."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    theme = models.CharField(max_length=8, default="system")
    time_zone = models.CharField(max_length=64, default="", blank=True)
    is_private = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(theme__in=["system", "light", "dark"]), name="preference_theme_known"
            ),
        ]


class ApiKeyRecord(models.Model):
    """A key of the API, by its SHA-256; the key itself is shown once and never kept.

    `prefix` is its beginning, for people to tell keys apart; `scopes` a list of read, ingest, operate. A key acts as
    `user`. `last_used_at` is right to a minute.
    """

    digest = models.CharField(max_length=64, unique=True)
    prefix = models.CharField(max_length=16)
    label = models.CharField(max_length=120)
    scopes = models.JSONField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
