"""Telling a worker of a job whose row is there."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from contextviz import tasks


def enqueue_after_commit(job_id: UUID) -> None:
    """Enqueue once the row is committed. A broker that is down is logged: the next worker finds the row by itself."""
    transaction.on_commit(partial(tasks.enqueue, job_id), robust=True)
