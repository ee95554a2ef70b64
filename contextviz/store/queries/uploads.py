"""Raw files: what was sent together, and one file by the hash of its content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from contextviz.store import artifacts
from contextviz.store.growing import settle
from contextviz.store.models import ArtifactRecord, SessionArtifactRecord, UploadBatchRecord, UploadRecord
from contextviz.store.values import NotFound
from contextviz.store.viewing import current_viewer, seen_sessions, seen_work

MOST_NAMES = 20_000


@dataclass(frozen=True, slots=True)
class RawFile:
    """A raw file: `size` in bytes; `path` is where its bytes lie, None where they are not ours to hand out."""

    sha256: str
    name: str
    size: int
    path: Path | None


def names_of_batches(batch_ids: Iterable[str]) -> dict[str, list[str]]:
    """The names of the files of each batch, in the order they came. One query for all of them."""
    known = [key for text in batch_ids if (key := _uuid(text)) is not None]
    found: dict[str, list[str]] = {str(key): [] for key in known}
    rows = UploadRecord.objects.filter(batch_id__in=known).order_by("started_at", "id")
    for batch_id, name in rows.values_list("batch_id", "name")[:MOST_NAMES]:
        found[str(batch_id)].append(name)
    return found


def job_of_batch(batch_id: UUID) -> UUID | None:
    """The job that reads a batch's files, None while they still come; raises NotFound. One query."""
    found = UploadBatchRecord.objects.filter(seen_work(), pk=batch_id).values_list("job_id").first()
    if found is None:
        raise NotFound("There is no such upload here.")
    return found[0]


def get_raw_file(sha256: str) -> RawFile:
    """One raw file that is kept here, by the SHA-256 of its content; raises NotFound. Two queries.

    It is seen by whoever sees a session that is read from it; where there is none, by whoever sees its upload.
    `path` is None for a database that is read where it lies: it belongs to its agent and may hold credentials.
    """
    record = ArtifactRecord.objects.filter(sha256=sha256.lower()).first() if len(sha256) == 64 else None
    if record is None or not _is_seen(record):
        raise NotFound(f"There is no file with the hash {sha256[:64]} here; it may have been deleted with its session.")
    if not record.path:
        settle(record.sha256, record.size)
    path = None if record.path else artifacts.path_of(record.sha256)
    return RawFile(record.sha256, record.name, record.size, path)


def _is_seen(record: ArtifactRecord) -> bool:
    if current_viewer().sees_all:
        return True
    links = SessionArtifactRecord.objects.filter(artifact=record)
    if links.filter(seen_sessions("session__")).exists():
        return True
    uploads = UploadRecord.objects.filter(seen_work("batch__"), artifact=record)
    return not links.exists() and uploads.exists()


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None
