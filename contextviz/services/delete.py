"""Deleting a session: its rows in batches, then the texts and raw files that nothing else uses."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from contextviz.services.accounts.audit import note
from contextviz.services.cleaning import drop_runs, drop_unused_artifacts, drop_unused_texts
from contextviz.services.export.kept import forget_report
from contextviz.services.jobs import JobFailed, JobRun, open_job, perform
from contextviz.store.bulk import chunks
from contextviz.store.models import (
    InboxStreamRecord,
    SessionArtifactRecord,
    SessionDetailRecord,
    SessionRecord,
    SessionSeriesRecord,
    TextUseRecord,
    WaitingLogRecord,
)
from contextviz.store.queries import sessions
from contextviz.store.viewing import current_viewer, viewer_of_id, viewing
from contextviz.store.writes import TABLES

BATCH_ROWS = 5000


def open_delete(session_id: int, *, now: datetime, reason: str = "") -> UUID:
    """A job that deletes a session; from now on no page shows it. Enqueue it after commit. Raises NotFound.

    It is written down who asked for it, or the `reason` where nobody did.
    """
    row = sessions.get_session(session_id)
    with transaction.atomic():
        SessionRecord.objects.filter(pk=session_id).update(status="deleting")
        note("session_deleted", target=f"session {session_id} {reason}".strip() + f": {row.title or row.source_id}")
        params = {"session": session_id, "title": row.title or row.source_id}
        # The session will be gone, so the job is told whose it was; its title stays as private as it was.
        with viewing(viewer_of_id(row.owner_id) if row.is_private else current_viewer()):
            return open_job("delete_session", now=now, params=params, is_private=row.is_private)


def delete_session(job_id: UUID | str) -> bool:
    """Do a delete job; doing it again goes on where it was stopped."""
    return perform(job_id, _delete)


def _delete(run: JobRun) -> str:
    session_id = int(run.params["session"])
    record = SessionRecord.objects.filter(pk=session_id).first()
    if record is not None and record.status != "deleting":
        raise JobFailed("This session was not marked for deletion. Delete it on its page.", can_retry=False)
    if record is not None:
        # What came as its log must not be read into it again, nor stay for a session that never came.
        own = SessionArtifactRecord.objects.filter(session_id=session_id).values("artifact_id")
        for_it = Q(source_id=record.source_id) & (Q(is_private=False) | Q(person_id=record.owner_id))
        WaitingLogRecord.objects.filter(Q(artifact_id__in=own) | for_it).delete()
    done = remove_session(run, session_id)
    drop_unused_artifacts()
    return f"Deleted “{run.params['title']}”: {done:,} rows, and every text and file that only it used."


def remove_session(run: JobRun, session_id: int) -> int:
    """Remove a session's rows in batches, and the texts that only it used; how many rows. Goes on where it was
    stopped. Raw files are left to drop_unused_artifacts."""
    SessionRecord.objects.filter(pk=session_id).update(status="deleting")
    texts = list(TextUseRecord.objects.filter(session_id=session_id).values_list("text_id", flat=True))
    total = len(texts) + sum(table.model._default_manager.filter(session_id=session_id).count() for table in TABLES)
    run.progress(0, total, force=True)
    # First, so that a replay which is being done finds its run gone and saves nothing.
    drop_runs(session_id, told=lambda: run.progress(0))
    done = 0
    for table in TABLES:
        while removed := _remove_rows(table.model, session_id):
            done += removed
            run.progress(done)
    done += _remove_texts(run, session_id, texts, done)
    with transaction.atomic():
        SessionArtifactRecord.objects.filter(session_id=session_id).delete()
        # What was posted for it would else be read into it again with the next post.
        InboxStreamRecord.objects.filter(session_id=session_id).delete()
        SessionDetailRecord.objects.filter(session_id=session_id).delete()
        SessionSeriesRecord.objects.filter(session_id=session_id).delete()
        SessionRecord.objects.filter(pk=session_id).delete()
    forget_report(session_id)
    return done


def _remove_rows(model, session_id: int) -> int:  # type: ignore[no-untyped-def]  # any of TABLES' models
    rows = model._default_manager.filter(session_id=session_id)
    last = rows.order_by("index").values_list("index", flat=True)[BATCH_ROWS - 1 : BATCH_ROWS].first()
    part = rows if last is None else rows.filter(index__lte=last)
    removed: int = part.delete()[0]
    return removed


def _remove_texts(run: JobRun, session_id: int, texts: list[int], done: int) -> int:
    removed = 0
    for part in chunks(texts, BATCH_ROWS):
        with transaction.atomic():
            # In one transaction, so that a text without a use is never left behind by a kill in between.
            TextUseRecord.objects.filter(session_id=session_id, text_id__in=part).delete()
            drop_unused_texts(part)
        removed += len(part)
        run.progress(done + removed)
    return removed
