"""Files of this machine that were brought in before: an unchanged one is not opened, a grown one costs what came to it.

"Unchanged" is said by size and by the time of the last change that no program can set back (ctime); when in doubt a
file is read, and its hash decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from contextviz.services.digest.batch import LINES, BatchFile, without_number
from contextviz.services.receive import shown_name
from contextviz.sources.files import NamedPath
from contextviz.store.growing import growth_of
from contextviz.store.models import ArtifactRecord, SessionArtifactRecord, UploadBatchRecord, UploadRecord

CHANGED_SECONDS = 2.0  # file systems' times are that coarse at worst
MOST_NAMED = 200
GROWING = LINES


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
    """What sessions are read from below the paths of an import, and beside those of them that are files unless the
    folder `base` says how files are named."""

    def __init__(self, paths: Sequence[str], base: str = "") -> None:
        links = SessionArtifactRecord.objects.exclude(source_path="").exclude(session__status="deleting")
        if len(paths) <= MOST_NAMED:
            wanted = Q()
            for path in paths:
                is_alone = not base and Path(path).is_file()
                folder = path.rpartition("/")[0] if is_alone else path.rstrip("/")
                wanted |= Q(source_path=path) | Q(source_path__startswith=folder + "/")
            links = links.filter(wanted)
        columns = ("source_path", "name", "artifact_id", "artifact__sha256", "artifact__size",
                   "artifact__received_at", "artifact__path")  # fmt: skip
        rows = links.order_by("artifact_id").values_list(*columns)
        self._files = {
            path: Before(name, artifact_id, sha256, size, received_at, bool(place))
            for path, name, artifact_id, sha256, size, received_at, place in rows.iterator()
        }
        roots = {root_of(path, before.name) for path, before in self._files.items()}
        self._roots = sorted((one for one in roots if one is not None), key=len)

    def of(self, path: Path) -> Before | None:
        """The file at `path` as it came last, None where it never did."""
        return self._files.get(str(path))

    def named(self, found: NamedPath) -> NamedPath:
        """A file named from as far up as anything of this import ever was: names say what belongs together, so they
        must not depend on how much of a folder was imported when."""
        path, before = str(found.path), self.of(found.path)
        own = root_of(path, found.name)
        if own is None or (before is not None and root_of(path, before.name) is None):
            return found if before is None else NamedPath(found.path, before.name)
        root = next((up for up in self._roots if own.startswith(up)), own)
        return NamedPath(found.path, path.removeprefix(root))


def root_of(path: str, name: str) -> str | None:
    """The folder, ending in a slash, that the file at `path` is named relative to; None where the name is not a part
    of the path. A number that tells equal names apart is no part of it."""
    plain = without_number(name)
    for one in (name, plain):
        if path.endswith("/" + one):
            return path.removesuffix(one)
    return None


def roots_of(among: Iterable[BatchFile]) -> list[str]:
    """The folders that files of this machine are named relative to, those furthest up first."""
    roots = {root_of(one.source_path, one.name) for one in among if one.source_path}
    return sorted((one for one in roots if one is not None), key=len)


def rooted(files: Sequence[BatchFile], higher: Sequence[str]) -> list[BatchFile]:
    """`files` named relative to the folders `higher` (see `roots_of`), where those are further up."""
    found = []
    for one in files:
        own = root_of(one.source_path, one.name) if one.source_path else None
        root = next((up for up in higher if own is not None and own.startswith(up)), own)
        is_higher = root is not None and root != own
        found.append(replace(one, name=one.source_path.removeprefix(root or "")) if is_higher else one)
    return found


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
