"""Files of this machine that were brought in before: an unchanged one is not opened, a grown one costs what came to it.

"Unchanged" is said by size and by the time of the last change that no program can set back (ctime); when in doubt a
file is read, and its hash decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from contextviz.services.receive import shown_name
from contextviz.sources.files import NamedPath
from contextviz.store.growing import growth_of
from contextviz.store.models import ArtifactRecord, SessionArtifactRecord, UploadBatchRecord, UploadRecord

CHANGED_SECONDS = 2.0  # file systems' times are that coarse at worst
MOST_NAMED = 200
GROWING = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Before:
    """A file as it was when it came last, and the name that its sessions know it by."""

    name: str
    artifact_id: int
    sha256: str
    size: int
    received_at: datetime
    is_in_place: bool


class KnownFiles:
    """What sessions are read from below the paths of an import."""

    def __init__(self, paths: Sequence[str]) -> None:
        links = SessionArtifactRecord.objects.exclude(source_path="").exclude(session__status="deleting")
        if len(paths) <= MOST_NAMED:
            wanted = Q()
            for path in paths:
                wanted |= Q(source_path=path) | Q(source_path__startswith=path.rstrip("/") + "/")
            links = links.filter(wanted)
        columns = ("source_path", "name", "artifact_id", "artifact__sha256", "artifact__size",
                   "artifact__received_at", "artifact__path")  # fmt: skip
        rows = links.order_by("artifact_id").values_list(*columns)
        self._files = {
            path: Before(name, artifact_id, sha256, size, received_at, bool(place))
            for path, name, artifact_id, sha256, size, received_at, place in rows.iterator()
        }

    def of(self, path: Path) -> Before | None:
        """The file at `path` as it came last, None where it never did."""
        return self._files.get(str(path))


def take_known(batch: UploadBatchRecord, named: NamedPath, before: Before, *, now: datetime) -> bool:
    """Bring a file that came before into the batch for the cost of what is new in it; false where it must be received
    like any other (it was rewritten, or lies where nothing can be shared). Raises OSError where it cannot be read."""
    if _is_untouched(named.path, before):
        _note(batch, named, before.artifact_id, now)
        return True
    if before.is_in_place or not named.path.name.endswith(GROWING) or named.path.stat().st_size <= before.size:
        return False
    growth = growth_of(named.path, before.sha256, before.size, most=settings.MAX_UPLOAD_BYTES)
    if growth is None:
        return False
    with growth.tail:
        if growth.size == before.size:
            _note(batch, named, before.artifact_id, now)
            return True
        with transaction.atomic():
            artifact, _ = ArtifactRecord.objects.get_or_create(
                sha256=growth.sha256,
                defaults={"name": shown_name(named.name), "size": growth.size, "received_at": now},
            )
            if not growth.place():
                transaction.set_rollback(True)
                return False
            _note(batch, named, artifact.pk, now)
    return True


def _is_untouched(path: Path, before: Before) -> bool:
    found = path.stat()
    changed = max(found.st_ctime, found.st_mtime)
    if before.is_in_place:
        log = path.with_name(path.name + "-wal")
        changed = max(changed, log.stat().st_ctime) if log.exists() else changed
    return found.st_size == before.size and changed < before.received_at.timestamp() - CHANGED_SECONDS


def _note(batch: UploadBatchRecord, named: NamedPath, artifact_id: int, now: datetime) -> None:
    UploadRecord.objects.create(
        batch=batch, name=shown_name(named.name), state="received", artifact_id=artifact_id,
        source_path=str(named.path.absolute()), started_at=now, finished_at=now,
    )  # fmt: skip
