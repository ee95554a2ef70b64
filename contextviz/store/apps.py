from __future__ import annotations

from django.apps import AppConfig


class StoreConfig(AppConfig):
    """The one Django app with tables."""

    name = "contextviz.store"
    label = "store"
    verbose_name = "Store"
    default_auto_field = "django.db.models.BigAutoField"
