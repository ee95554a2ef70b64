"""Rows in: each is kept once, in the order in which it came, and a digest of its stream is opened when none waits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from django.db import transaction

from contextviz.services.jobs import open_job
from contextviz.services.receive import open_batch
from contextviz.store.bulk import bounded, chunks
from contextviz.store.models import InboxRecord, InboxStreamRecord, JobRecord, SessionRecord, UploadBatchRecord
from contextviz.store.viewing import current_viewer, viewer_of_id, viewing

Source = Literal["events", "otlp"]
QUERY_ROWS = 500
MOST_NAME = 255


@dataclass(frozen=True, slots=True)
class Posted:
    """One event or span: `body` is one JSON object in UTF-8 without a line feed, `identity` what makes it one among
    those of its stream (hashed, so of any length)."""

    identity: str
    body: bytes

    @property
    def dedupe(self) -> str:
        """The identity as the store keeps it."""
        return hashlib.sha256(self.identity.encode("utf-8", errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """What came of a post: how many rows were new, how many were here before, and the digest to enqueue after the
    commit (None where one waits already, or nothing was new)."""

    stream: int
    new: int
    known: int
    job_id: UUID | None


def accept(
    source: Source, name: str, rows: Sequence[Posted], *, now: datetime, is_private: bool = False, sender: str = ""
) -> Accepted:
    """Keep what was posted for the session that its sender calls `name`. Call it inside a transaction.

    The stream's row is locked, so that rows get their numbers in the order in which they are committed. `sender` keeps
    streams of one name apart where they must not meet.
    """
    person_id = current_viewer().user_id
    stream, _ = InboxStreamRecord.objects.get_or_create(
        source=source, sender=sender, name=bounded(name, MOST_NAME),
        defaults={"person_id": person_id, "is_private": is_private and person_id is not None,
                  "created_at": now, "posted_at": now},
    )  # fmt: skip
    stream = InboxStreamRecord.objects.select_for_update().get(pk=stream.pk)
    if _is_hidden(stream, person_id):
        # Its session was made private to somebody else since: whoever sends now has a session of their own.
        return accept(source, name, rows, now=now, is_private=is_private, sender=f"person-{person_id or 0}")
    by_key = {row.dedupe: row for row in rows}
    known = _known(stream.pk, by_key)
    fresh = [
        InboxRecord(stream=stream, dedupe=dedupe, body=row.body, received_at=now)
        for dedupe, row in by_key.items()
        if dedupe not in known
    ]
    InboxRecord.objects.bulk_create(fresh, batch_size=QUERY_ROWS)
    if fresh:
        stream.posted_at = now
        stream.save(update_fields=["posted_at"])
    return Accepted(stream.pk, len(fresh), len(rows) - len(fresh), _open(stream, now) if fresh else None)


def _is_hidden(stream: InboxStreamRecord, person_id: int | None) -> bool:
    if stream.session_id is None or stream.sender:
        return False
    private = SessionRecord.objects.filter(pk=stream.session_id, is_private=True).exclude(owner_id=person_id)
    return private.exists()


def _known(stream_id: int, keys: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for part in chunks(keys, QUERY_ROWS):
        found.update(InboxRecord.objects.filter(stream_id=stream_id, dedupe__in=part).values_list("dedupe", flat=True))
    return found


def _open(stream: InboxStreamRecord, now: datetime) -> UUID | None:
    """A digest of the stream, where none is queued; one that runs may have looked before the last rows came."""
    if _has_job(stream, "queued"):
        return None
    with viewing(viewer_of_id(stream.person_id)):
        batch_id = open_batch(now=now, origin="api", is_private=stream.is_private)
        params = {"batch": str(batch_id), "stream": stream.pk}
        job_id = open_job("digest", now=now, params=params, is_private=stream.is_private)
    UploadBatchRecord.objects.filter(pk=batch_id).update(job_id=job_id)
    stream.job_id = job_id
    stream.save(update_fields=["job"])
    return job_id


def _has_job(stream: InboxStreamRecord, *states: str) -> bool:
    if stream.job_id is None:
        return False
    return JobRecord.objects.filter(pk=stream.job_id, state__in=states).exists()


def open_waiting(*, now: datetime) -> list[UUID]:
    """Digests for streams that have rows no digest took (a worker died, a job was cancelled); the ids to enqueue."""
    opened: list[UUID] = []
    for stream_id in _behind():
        with transaction.atomic():
            stream = InboxStreamRecord.objects.select_for_update().get(pk=stream_id)
            job_id = None if _has_job(stream, "queued", "running") else _open(stream, now)
        if job_id is not None:
            opened.append(job_id)
    return opened


def _behind() -> list[int]:
    streams = InboxStreamRecord.objects.values_list("pk", "digested")
    return [pk for pk, digested in streams if InboxRecord.objects.filter(stream_id=pk, id__gt=digested).exists()]
