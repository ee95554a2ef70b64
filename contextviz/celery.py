"""The Celery application: configured from Django's settings, the embedded broker registered by name."""

from __future__ import annotations

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextviz.settings")

# kombu refuses dotted names in addresses, so the transport gets a short one.
TRANSPORT_ALIASES["ctxsqlite"] = "contextviz.broker:Transport"

app = Celery("contextviz")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["contextviz"])
