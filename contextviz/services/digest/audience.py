"""For whom a batch is read: which sessions it may add to, and whose its new ones are.

A session is one by its key. Where the session of that key is not of this batch's audience (it is private to somebody
else, or the batch is private and the session is not), the batch gets a session of its own: nobody's private words join
a shared session, and nobody's upload changes a session that its sender may not see.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from contextviz.store.models import JobRecord, SessionRecord, UploadBatchRecord
from contextviz.store.viewing import seen_sessions, viewer_of_id, viewing


@dataclass(frozen=True, slots=True)
class Audience:
    """Who sent a batch (None: a command or a worker), and whether it is for that person alone."""

    person_id: int | None = None
    is_private: bool = False

    def joins(self, path: str = "") -> Q:
        """The condition on sessions, at `path` from the row, that this batch may add to."""
        if self.is_private:
            return Q(**{f"{path}is_private": True, f"{path}owner_id": self.person_id})
        with viewing(viewer_of_id(self.person_id)):
            return seen_sessions(path)

    def key(self, key: str) -> str:
        """The key under which this batch keeps a session whose own key is `key`. One query, rarely more."""
        taken = SessionRecord.objects.filter(key=key)
        if self.person_id is None or not taken.exists() or taken.filter(self.joins()).exists():
            return key
        return hashlib.sha256(f"{key} of {self.person_id}".encode()).hexdigest()


def audience_of(batch: UploadBatchRecord) -> Audience:
    """For whom a batch is read."""
    return Audience(batch.person_id, batch.is_private)


def keep_private(job_id: UUID, batch: UploadBatchRecord, session_ids: list[int]) -> None:
    """A job that read a private session names its files, so it is its owner's alone too."""
    private = SessionRecord.objects.filter(pk__in=session_ids, is_private=True).values_list("owner_id", flat=True)
    owner_id = private.order_by("pk").first()
    if owner_id is not None:
        for rows in (JobRecord.objects.filter(pk=job_id), UploadBatchRecord.objects.filter(pk=batch.pk)):
            rows.update(person_id=owner_id, is_private=True)
