"""Saving a replay run, and removing it. What a try that was killed had written of it is replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from contextviz.events.run import Run
from contextviz.store.bulk import chunks, clean_deep
from contextviz.store.models import (
    RunChunkRecord,
    RunRecord,
    RunSeriesRecord,
    RunTextRecord,
    SessionRecord,
    TextUseRecord,
)
from contextviz.store.rows.run import chunks_of, packed_series, row_values, texts_of
from contextviz.store.texts import ids_of
from contextviz.store.writes import MissingTexts

CHUNKS_AT_ONCE = 64
ROWS_AT_ONCE = 2_000


class RunGone(Exception):
    """The run, or its session, was deleted while it was replayed."""


class SessionChanged(Exception):
    """The session is another than the one that was replayed."""


def save_run(
    run_id: UUID, run: Run, categories: Sequence[str], *, revision: int, scorecard: Mapping[str, Any], now: datetime
) -> None:
    """Make the store hold `run` whole under `run_id`; `categories` one for each of its items, `revision` of the session
    as it was read. Call it inside a transaction.

    Raises RunGone, SessionChanged, and MissingTexts where a text of it is not in the store.
    """
    record = RunRecord.objects.select_for_update().filter(pk=run_id).first()
    if record is None:
        raise RunGone("The run was deleted while it was replayed.")
    state = SessionRecord.objects.filter(pk=record.session_id).values_list("revision", "status").first()
    if state is None or state[1] == "deleting":
        raise RunGone("The session was deleted while it was replayed.")
    if state[0] != revision:
        raise SessionChanged("The session has changed while it was replayed.")
    clear_run(run_id)
    _save_texts(record, run)
    _insert(
        RunChunkRecord(run_id=run_id, kind=kind, number=n, body=body) for kind, n, body in chunks_of(run, categories)
    )
    RunSeriesRecord.objects.create(run_id=run_id, body=packed_series(run))
    values = row_values(run) | {"scorecard": clean_deep(dict(scorecard)), "finished_at": now}
    RunRecord.objects.filter(pk=run_id).update(**values)


def _insert(rows: Iterable[RunChunkRecord]) -> None:
    # A few at a time: they are the whole run, compressed.
    for part in chunks(rows, CHUNKS_AT_ONCE):
        RunChunkRecord.objects.bulk_create(part)


def _save_texts(record: RunRecord, run: Run) -> None:
    """Note which texts the run holds beside its session's own."""
    wanted = texts_of(run)
    ids = ids_of(wanted)
    if len(ids) < len(wanted):
        raise MissingTexts(f"{len(wanted) - len(ids)} texts are not in the store")
    of_session = set(TextUseRecord.objects.filter(session_id=record.session_id).values_list("text_id", flat=True))
    own = sorted(set(ids.values()) - of_session)
    for part in chunks(own, ROWS_AT_ONCE):
        RunTextRecord.objects.bulk_create(RunTextRecord(run_id=record.pk, text_id=number) for number in part)


def clear_run(run_id: UUID) -> None:
    """Remove everything of a run but its row. Texts that only it held are then free (services.cleaning)."""
    RunChunkRecord.objects.filter(run_id=run_id).delete()
    RunSeriesRecord.objects.filter(run_id=run_id).delete()
    RunTextRecord.objects.filter(run_id=run_id).delete()


def remove_run(run_id: UUID) -> list[int]:
    """Remove a run; the ids of the texts that it held beside its session's, which may be free now. Call it inside a
    transaction."""
    held = list(RunTextRecord.objects.filter(run_id=run_id).values_list("text_id", flat=True))
    clear_run(run_id)
    RunRecord.objects.filter(pk=run_id).delete()
    return held
