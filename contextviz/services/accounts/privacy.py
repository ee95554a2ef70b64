"""Whose a session is: private to its owner, shared by all, and passed by when old sessions are removed."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import F, Q

from contextviz.services.accounts.audit import note
from contextviz.store.models import JobRecord, SessionArtifactRecord, SessionRecord, UploadBatchRecord, UploadRecord
from contextviz.store.values import NotFound, SessionRow
from contextviz.store.viewing import current_viewer


def may_decide(row: SessionRow) -> bool:
    """Whether whoever looks may delete the session or say who sees it: its owner (not a viewer) and admins."""
    viewer = current_viewer()
    return viewer.sees_all or (viewer.role == "operator" and row.owner_id == viewer.user_id)


def set_private(row: SessionRow, *, is_private: bool) -> None:
    """From now on only the owner and admins see the session, or everybody does. One without an owner becomes that of
    whoever hides it. Jobs that name its files follow it. Raises NotFound where nobody could own it."""
    owner_id = row.owner_id or current_viewer().user_id
    if owner_id is None:
        raise NotFound("A session can only be private to somebody. Sign in to hide it.")
    with transaction.atomic():
        changed = SessionRecord.objects.filter(pk=row.id).exclude(is_private=is_private)
        # A page or stream that is open looks again when the revision moves, and then finds nothing.
        if not changed.update(is_private=is_private, owner_id=owner_id, revision=F("revision") + 1):
            return
        _hide_work(row.id, owner_id) if is_private else _show_work(row.id)
        note("privacy_changed", target=f"session {row.id} {'private' if is_private else 'shared'}")


def set_kept(row: SessionRow, *, is_kept: bool) -> None:
    """Whether the removal of old sessions passes this one by."""
    SessionRecord.objects.filter(pk=row.id).update(is_kept=is_kept)


def _batches_of(session_id: int) -> list[UUID]:
    artifacts = SessionArtifactRecord.objects.filter(session_id=session_id).values("artifact_id")
    return list(UploadRecord.objects.filter(artifact_id__in=artifacts).values_list("batch_id", flat=True).distinct())


def _hide_work(session_id: int, owner_id: int) -> None:
    batches = UploadBatchRecord.objects.filter(pk__in=_batches_of(session_id), is_private=False)
    jobs = list(batches.exclude(job=None).values_list("job_id", flat=True))
    batches.update(is_private=True, person_id=owner_id)
    named = JobRecord.objects.filter(Q(pk__in=jobs) | Q(session_id=session_id), is_private=False)
    named.update(is_private=True, person_id=owner_id)


def _show_work(session_id: int) -> None:
    for batch in UploadBatchRecord.objects.filter(pk__in=_batches_of(session_id), is_private=True):
        # Where another session of the same files is still private, the names of its files stay so.
        if not SessionRecord.objects.filter(pk__in=batch.session_ids, is_private=True).exists():
            UploadBatchRecord.objects.filter(pk=batch.pk).update(is_private=False)
            if batch.job_id is not None:
                JobRecord.objects.filter(pk=batch.job_id).update(is_private=False)
    JobRecord.objects.filter(session_id=session_id).exclude(kind="retrieve_original").update(is_private=False)
