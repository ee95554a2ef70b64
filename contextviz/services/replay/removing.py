"""Deleting runs, with the texts that only they held."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.db import transaction

from contextviz.services.cleaning import drop_unused_texts
from contextviz.services.replay.starting import ReplayRefused
from contextviz.store.models import KeptSummaryRecord, RunRecord
from contextviz.store.queries import runs
from contextviz.store.runs import remove_run


def delete_run(run_id: UUID | str) -> None:
    """Delete a run and what only it held; raises NotFound, and ReplayRefused while it runs."""
    row = runs.get_run(run_id)
    if row.state == "running":
        raise ReplayRefused("This run is being replayed. Stop its job first, then delete it.")
    _remove(row.id)


def remove_runs(session_id: int, told: Callable[[], None] | None = None) -> int:
    """Remove every run of a session that is being deleted, a run a transaction; how many. `told` is called after
    each."""
    found = list(RunRecord.objects.filter(session_id=session_id).order_by("created_at").values_list("pk", flat=True))
    for run_id in found:
        _remove(run_id)
        if told is not None:
            told()
    KeptSummaryRecord.objects.filter(session_id=session_id).delete()
    return len(found)


def _remove(run_id: UUID) -> None:
    with transaction.atomic():
        # A worker that saves it waits here, and then finds no run.
        RunRecord.objects.select_for_update().filter(pk=run_id).first()
        drop_unused_texts(remove_run(run_id))
