"""Which workers run: each says so four times a minute, and a health check asks for the one of its own machine."""

from __future__ import annotations

import socket
from datetime import datetime, timedelta

from contextviz.services.owners import is_gone, own_name
from contextviz.store.models import WorkerRecord

BEAT_SECONDS = 15.0
SILENT = timedelta(seconds=60)
FORGOTTEN = timedelta(days=1)


def beat(*, now: datetime) -> None:
    """This process says that it runs; rows of workers that are long gone are removed. Two queries, rarely three."""
    WorkerRecord.objects.filter(heartbeat_at__lt=now - FORGOTTEN).delete()
    name = own_name()
    if not WorkerRecord.objects.filter(pk=name).update(heartbeat_at=now):
        WorkerRecord.objects.get_or_create(pk=name, defaults={"started_at": now, "heartbeat_at": now})


def living_workers(*, now: datetime) -> int:
    """How many workers of this machine run and said so within a minute. One query."""
    host = socket.gethostname()[:100]
    found = WorkerRecord.objects.filter(pk__startswith=f"{host}|", heartbeat_at__gt=now - SILENT)
    return sum(not is_gone(name, heartbeat_at=now, now=now) for name in found.values_list("pk", flat=True))
