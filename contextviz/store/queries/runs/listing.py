"""The runs of a session, and one by its id."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from contextviz.events.run import Plain, RunSettings
from contextviz.store.models import RunRecord
from contextviz.store.values import JobState, NotFound
from contextviz.store.viewing import seen_sessions

_COLUMNS = (
    "id", "session_id", "engine", "version", "label", "settings", "asked", "qualities", "summariser", "scorer", "notes",
    "job_id", "session_revision", "created_at", "finished_at", "person_id", "message_count", "call_count", "item_count",
    "boundary_count", "node_count", "event_count", "original_count", "summariser_calls", "hash", "scorecard",
)  # fmt: skip
_OF_JOB = ("job__state", "job__outcome", "job__progress", "job__total")


@dataclass(frozen=True, slots=True)
class RunRow:
    """One replay as lists show it. None means unknown, or not yet.

    `asked` has `window`, `reserve`, `system_tokens` and `estimator` as they were given, None for the session's own;
    `measured` is what the run was measured with in the end. `state` and `outcome` are its job's, `progress` of `total`
    in messages. `is_stale`: the session has changed since.
    """

    id: UUID
    session_id: int
    engine: str
    version: str
    label: str
    settings: dict[str, Plain]
    asked: dict[str, Any]
    measured: RunSettings | None
    qualities: dict[str, str]
    summariser: str | None
    scorer: str | None
    notes: list[str]
    state: JobState
    outcome: str
    progress: int
    total: int | None
    job_id: UUID | None
    session_revision: int
    is_stale: bool
    created_at: datetime
    finished_at: datetime | None
    person_id: int | None
    message_count: int
    call_count: int
    item_count: int
    boundary_count: int
    node_count: int
    event_count: int
    original_count: int
    summariser_calls: int
    hash: str
    scorecard: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Engine and version: `flowctx@port-0.1.0`."""
        return f"{self.engine}@{self.version}"

    @property
    def is_done(self) -> bool:
        """Whether its windows are there."""
        return self.finished_at is not None

    @property
    def is_finished(self) -> bool:
        """Whether it will not change any more by itself."""
        return self.state in ("done", "failed", "cancelled")


def runs_of(session_id: int) -> list[RunRow]:
    """The replays of a session, the newest first. One query."""
    return _rows(_seen().filter(session_id=session_id).order_by("-created_at", "pk"))


def count_of(session_id: int) -> int:
    """How many replays a session has. One query."""
    return _seen().filter(session_id=session_id).count()


def get_run(run_id: UUID | str) -> RunRow:
    """One replay; raises NotFound. One query."""
    try:
        key = UUID(str(run_id))
    except ValueError:
        key = UUID(int=0)
    found = _rows(_seen().filter(pk=key))
    if not found:
        raise NotFound("There is no such run here.")
    return found[0]


def find_by_config(session_id: int, config_hash: str) -> RunRow | None:
    """The replay that was asked for in the same words; None without one. One query."""
    return next(iter(_rows(_seen().filter(session_id=session_id, config_hash=config_hash))), None)


def _seen() -> QuerySet[RunRecord]:
    return RunRecord.objects.filter(seen_sessions("session__")).exclude(session__status="deleting")


def _rows(found: QuerySet[RunRecord]) -> list[RunRow]:
    return [_row(values) for values in found.values(*_COLUMNS, *_OF_JOB, "measured", "session__revision")]


def _row(values: dict[str, Any]) -> RunRow:
    measured = values.pop("measured")
    is_stale = values.pop("session__revision") != values["session_revision"]
    state, outcome, progress, total = (values.pop(name) for name in _OF_JOB)
    if values["finished_at"] is not None:
        state = "done"
    values |= {name: values[name] or None for name in ("summariser", "scorer")}
    return RunRow(
        **values,
        measured=RunSettings(**measured) if measured else None,
        # A run whose job's row is gone before it was finished will never be.
        state=state or "failed",
        outcome=outcome or "",
        progress=progress or 0,
        total=total,
        is_stale=is_stale,
    )
