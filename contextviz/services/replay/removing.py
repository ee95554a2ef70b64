"""Deleting a run, as a person asks for it."""

from __future__ import annotations

from uuid import UUID

from contextviz.services.cleaning import drop_run
from contextviz.services.replay.starting import ReplayRefused
from contextviz.store.queries import runs


def delete_run(run_id: UUID | str) -> None:
    """Delete a run and what only it held; raises NotFound, and ReplayRefused while it runs."""
    row = runs.get_run(run_id)
    if row.state == "running":
        raise ReplayRefused("This run is being replayed. Stop its job first, then delete it.")
    drop_run(row.id)
