"""The files of a batch, and how they stand to files that a session was read from before."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from contextviz import __version__
from contextviz.sources.cortext.state import is_state_file
from contextviz.sources.files import NamedPath, probe
from contextviz.sources.registry import detect
from contextviz.store import artifacts
from contextviz.store.models import (
    ArtifactRecord,
    SessionArtifactRecord,
    SessionRecord,
    UploadBatchRecord,
    UploadRecord,
    WaitingLogRecord,
)

Relation = Literal["same", "grown", "shorter", "rewritten", "unrelated"]
LINES = (".jsonl", ".ndjson")
HEAD_BYTES = 4096
# Formats of which several logs of one session are read as that session: put together, or the longest counts and the
# reader tells of the others. Of other formats each file is taken to hold sessions of its own.
_TOGETHER = frozenset({
    "claude-code", "openclaw", "pi", "codex", "copilot-cli", "cursor", "droid", "gemini-cli", "kiro", "openhands",
})  # fmt: skip
_NUMBER = re.compile(r"^\d{1,5}/")


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
    """How a file that came stands to one that a session has: a file that grows keeps its beginning, and what lies at
    the same path by now was written anew. Nothing else takes another file's place because it is called alike: a session
    that was resumed in another folder has two files, and each may hold what the other does not."""
    if old.sha256 == new.sha256:
        return "same"
    if not old.is_in_place and not new.is_in_place and _begin_alike(old, new):
        if old.size <= new.size and artifacts.hash_of([new.path], limit=old.size) == old.sha256:
            return "grown"
        if new.size < old.size and artifacts.hash_of([old.path], limit=new.size) == new.sha256:
            return "shorter"
    if old.is_in_place and new.is_in_place:
        return "rewritten" if old.path == new.path else "unrelated"
    if old.basename != new.basename or _is_history(old, new):
        return "unrelated"
    is_at_its_place = old.source_path != "" and old.source_path == new.source_path
    return "rewritten" if is_at_its_place or not _are_both_kept(old, new) else "unrelated"


def _begin_alike(old: BatchFile, new: BatchFile) -> bool:
    """Whether the first bytes of two files are the same: most that differ do so at once, and need not be hashed."""
    size = min(old.size, new.size, HEAD_BYTES)
    try:
        with old.path.open("rb") as one, new.path.open("rb") as other:
            return one.read(size) == other.read(size)
    except OSError:
        return True  # the hash decides


def _are_both_kept(old: BatchFile, new: BatchFile) -> bool:
    """Whether two files that are called alike and do not lie at one path are two files of a session. Of what stands
    beside sessions (indexes, stores) the newer counts; so does the newer upload of a document, which is written anew
    each time, but not of a log, to which lines are only added."""
    try:
        known = detect(probe(new.path, new.name))
    except OSError:
        return True
    if known is None or known[1].role not in ("session", "archive", "trace"):
        return False
    if old.source_path and new.source_path:
        return True
    is_log = new.name.endswith(LINES) and (known[1].role == "trace" or known[1].format in _TOGETHER)
    return is_log or without_number(old.name) != without_number(new.name)


def without_number(name: str) -> str:
    """A file's name without the number that told it apart from another one of that name (see `distinct`)."""
    return _NUMBER.sub("", name)


def _is_history(old: BatchFile, new: BatchFile) -> bool:
    """Whether both are versions of a file that holds a state: what changed between them is what happened."""
    if old.basename != new.basename or not new.basename.endswith(".json"):
        return False
    return is_state_file(new.path, new.name) and is_state_file(old.path, old.name)


def merged(old: Sequence[BatchFile], new: Sequence[BatchFile]) -> list[BatchFile]:
    """What a session is read from once `new` files came to its `old` ones: of a growing file the longer, of a
    rewritten one the newer, and everything that only one side has. Versions of a state are all kept, in the order they
    came."""
    theirs = contents(new)
    # What is the same on both sides is no version of anything else.
    left = [one for one in old if one.sha256 not in theirs]
    known = {one.sha256: one for one in old}
    result: list[BatchFile] = []
    for one in new:
        same = known.pop(one.sha256, None)
        if same is not None:
            result.append(same)
            continue
        found = next(((other, kind) for other in left if (kind := relation(other, one)) != "unrelated"), None)
        if found is None:
            result.append(one)
            continue
        other, kind = found
        left.remove(other)
        result.append(other if kind == "shorter" else one)
    whole = [*left, *result]  # of two records of one thing the later counts
    states = {one.sha256 for one in result if any(_is_history(other, one) for other in left)}
    states |= {other.sha256 for other in left if any(_is_history(other, one) for one in result)}
    versions = sorted((one for one in whole if one.sha256 in states), key=lambda one: one.artifact_id)
    return distinct([*(one for one in whole if one.sha256 not in states), *versions])


def contents(files: Iterable[BatchFile]) -> frozenset[str]:
    """The set of their hashes."""
    return frozenset(one.sha256 for one in files)


def is_newer_version(of: Sequence[BatchFile], file: BatchFile) -> bool:
    """Whether `file` takes the place of one of these, or is a later state beside an earlier one."""
    return any(relation(one, file) in ("grown", "rewritten") or _is_history(one, file) for one in of)


def replaced_uploads(old: Iterable[BatchFile], new: Sequence[BatchFile]) -> list[BatchFile]:
    """Those of `new` that would take the place of an uploaded document of `old` for its name alone."""
    sent = [one for one in old if not one.source_path and one.name.endswith((".json", ".zip", ".gz", ".zst"))]
    return [one for one in new if not one.source_path and any(relation(other, one) == "rewritten" for other in sent)]


def sessions_made_of(files: Sequence[BatchFile], among: Iterable[int]) -> set[int]:
    """Those of the sessions `among` that are read from one of `files`. One query where there is one."""
    ids = list(among)
    if not ids:
        return set()
    own = [one.artifact_id for one in files]
    links = SessionArtifactRecord.objects.filter(session_id__in=ids, artifact_id__in=own)
    return set(links.values_list("session_id", flat=True))


def hold_several(files: Iterable[BatchFile], session: SessionRecord) -> bool:
    """Whether one of the logs that a session is read from holds others of its format too. One query."""
    logs = [one.artifact_id for one in files if one.name.endswith(LINES)]
    links = SessionArtifactRecord.objects.filter(artifact_id__in=logs, session__format=session.format)
    return links.exclude(session=session).exists()


def called_before(files: Sequence[BatchFile], renamed: Mapping[str, str]) -> list[BatchFile]:
    """`files` as they were called before; `renamed` says by that name what each is called now."""
    before = {new: old for old, new in renamed.items()}
    return [replace(one, name=before[one.name]) for one in files if one.name in before]


def link_files(session_id: int, files: Sequence[BatchFile]) -> None:
    """Let a session be read from these files, and from no others."""
    kept = [one.artifact_id for one in files]
    SessionArtifactRecord.objects.filter(session_id=session_id).exclude(artifact_id__in=kept).delete()
    for one in files:
        link, is_new = link_file(session_id, one)
        if not is_new and link.name != one.name and one.name.endswith(f"/{link.name}"):
            link.name = one.name  # by now it is named relative to a folder further up
            link.save(update_fields=["name"])


def link_file(session_id: int, file: BatchFile) -> tuple[SessionArtifactRecord, bool]:
    """The link of a session to one more file, and whether it is new."""
    named = {"name": file.name, "source_path": file.source_path}
    return SessionArtifactRecord.objects.get_or_create(
        session_id=session_id, artifact_id=file.artifact_id, defaults=named
    )


def named(files: Iterable[BatchFile]) -> frozenset[tuple[str, str]]:
    """The set of their hashes with their names, as far as these say where a file belongs."""
    return frozenset((one.sha256, without_number(one.name)) for one in files)
