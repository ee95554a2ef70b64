"""Where a session's tokens go, and what people say that tokens cost."""

from __future__ import annotations

from django.db import models

from contextviz.store.models.session import SessionRecord


class BudgetRecord(models.Model):
    """A session's budget table (analysis.budget.BudgetTable), computed once when the session is saved: zstd of JSON,
    bounded by the table's own bounds. A session that was saved by an earlier version has none until it is asked for."""

    session = models.OneToOneField(SessionRecord, on_delete=models.CASCADE, primary_key=True, related_name="budget")
    body = models.BinaryField()


class PriceRecord(models.Model):
    """A price of this installation's own, in US dollars per million tokens; it goes before the table that is shipped.

    `pattern` is a model's name in small letters, `*` for anything. Null: there is no such price.
    """

    pattern = models.CharField(max_length=120, unique=True)
    input = models.FloatField()
    output = models.FloatField()
    cache_read = models.FloatField(null=True)
    cache_write_5m = models.FloatField(null=True)
    cache_write_1h = models.FloatField(null=True)
    updated_at = models.DateTimeField()


class WindowRecord(models.Model):
    """A context window of this installation's own, in tokens, for models whose source does not report one."""

    pattern = models.CharField(max_length=120, unique=True)
    tokens = models.BigIntegerField()
    updated_at = models.DateTimeField()
