"""The files of a batch, and how they stand to files that a session was read from before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from contextviz import __version__
from contextviz.sources.cortext.state import is_state_file
from contextviz.sources.files import NamedPath
from contextviz.store import artifacts
from contextviz.store.models import (
    ArtifactRecord,
    SessionArtifactRecord,
    UploadBatchRecord,
    UploadRecord,
    WaitingLogRecord,
)

Relation = Literal["same", "grown", "shorter", "rewritten", "unrelated"]


@dataclass(frozen=True, slots=True)
class BatchFile:
    """One raw file with the name people know it by; names are distinct within a batch."""

    artifact_id: int
    sha256: str
    size: int
    name: str
    source_path: str
    path: Path
    is_in_place: bool

    @property
    def basename(self) -> str:
        """The last part of the name."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def named(self) -> NamedPath:
        """The file as readers take it."""
        return NamedPath(self.path, self.name)


def files_of_batch(batch: UploadBatchRecord) -> list[BatchFile]:
    """The files that arrived in a batch, the same content once."""
    uploads = UploadRecord.objects.filter(batch=batch, state="received", artifact__isnull=False)
    found = [
        _file(upload.artifact, upload.name, upload.source_path)
        for upload in uploads.select_related("artifact").order_by("started_at", "id")
        if upload.artifact
    ]
    return distinct(found)


def files_of_session(session_id: int) -> list[BatchFile]:
    """The files that a session is read from now."""
    links = SessionArtifactRecord.objects.filter(session_id=session_id).select_related("artifact").order_by("id")
    return [of_link(link) for link in links]


def of_link(link: SessionArtifactRecord | WaitingLogRecord) -> BatchFile:
    """The file of a session behind a link, or one that waits for its session."""
    return _file(link.artifact, link.name, link.source_path)


def path_of(artifact: ArtifactRecord) -> Path:
    """Where a raw file's bytes are: where it was found, or in the store."""
    return Path(artifact.path) if artifact.path else artifacts.path_of(artifact.sha256)


def _file(artifact: ArtifactRecord, name: str, source_path: str) -> BatchFile:
    path = path_of(artifact)
    return BatchFile(
        artifact.pk, artifact.sha256, artifact.size, name, source_path or artifact.path, path, bool(artifact.path)
    )


def distinct(files: Iterable[BatchFile]) -> list[BatchFile]:
    """Each content once, and different contents of one name told apart by a number before it. Of names for one content
    the shortest: a copy is called after what it was copied from (`x.jsonl.bak.…`, `x.checkpoint.….jsonl`).

    JSON documents of one content in several folders stay apart: of formats that keep a folder of documents for each
    conversation (an event each), the same one may be part of two."""
    chosen: dict[tuple[str, str], BatchFile] = {}
    for one in files:
        place = (one.sha256, one.name.rpartition("/")[0] if one.name.endswith(".json") else "")
        known = chosen.setdefault(place, one)
        if len(one.basename) < len(known.basename):
            chosen[place] = one
    result: list[BatchFile] = []
    names: set[str] = set()
    for one in chosen.values():
        name, number = one.name, 1
        while name in names:
            number += 1
            name = f"{number}/{one.name}"
        names.add(name)
        result.append(replace(one, name=name))
    return result


def fingerprint_of(files: Iterable[BatchFile]) -> str:
    """The set of contents and the version that reads them; the same again needs no reading."""
    parts = [__version__, *sorted(one.sha256 for one in files)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def relation(old: BatchFile, new: BatchFile) -> Relation:
    """How a file that came stands to one that a session has: a file that grows keeps its beginning."""
    if old.sha256 == new.sha256:
        return "same"
    if not old.is_in_place and not new.is_in_place:
        if old.size <= new.size and artifacts.hash_of([new.path], limit=old.size) == old.sha256:
            return "grown"
        if new.size < old.size and artifacts.hash_of([old.path], limit=new.size) == new.sha256:
            return "shorter"
    if old.is_in_place and new.is_in_place:
        return "rewritten" if old.path == new.path else "unrelated"
    if old.basename != new.basename or _is_history(old, new):
        return "unrelated"
    return "rewritten"


def _is_history(old: BatchFile, new: BatchFile) -> bool:
    """Whether both are versions of a file that holds a state: what changed between them is what happened."""
    if old.basename != new.basename or not new.basename.endswith(".json"):
        return False
    return is_state_file(new.path, new.name) and is_state_file(old.path, old.name)


def merged(old: Sequence[BatchFile], new: Sequence[BatchFile]) -> list[BatchFile]:
    """What a session is read from once `new` files came to its `old` ones: of a growing file the longer, of a
    rewritten one the newer, and everything that only one side has. Versions of a state are all kept, in the order they
    came."""
    left = list(old)
    result: list[BatchFile] = []
    for one in new:
        found = next(((other, kind) for other in left if (kind := relation(other, one)) != "unrelated"), None)
        if found is None:
            result.append(one)
            continue
        other, kind = found
        left.remove(other)
        result.append(other if kind in ("same", "shorter") else one)
    whole = [*result, *left]
    states = {one.sha256 for one in result if any(_is_history(other, one) for other in left)}
    states |= {other.sha256 for other in left if any(_is_history(other, one) for one in result)}
    versions = sorted((one for one in whole if one.sha256 in states), key=lambda one: one.artifact_id)
    return distinct([*(one for one in whole if one.sha256 not in states), *versions])


def contents(files: Iterable[BatchFile]) -> frozenset[str]:
    """The set of their hashes."""
    return frozenset(one.sha256 for one in files)
