"""Files of this machine: what is found in the usual agent homes, and bringing it in.

Transcripts are copied, so that a session stays whole when its agent rotates or deletes the file. Agents' databases
are read where they lie: they hold credential tables beside the conversations, and those never leave their file.
Only files that a reader knows are looked at further than their first lines; nothing else is kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from contextviz.services.digest.audience import audience_of
from contextviz.services.digest.known import Before, KnownFiles, take_known
from contextviz.services.digest.lost import note_emptied
from contextviz.services.jobs import JobFailed, JobRun, open_job
from contextviz.services.receive import UploadRefused, open_batch, receive, shown_name
from contextviz.sources.configuration.document import is_never_opened
from contextviz.sources.configuration.reader import FORMAT as CONFIGURATION
from contextviz.sources.files import NamedPath, is_special, printable, probe, walk, why_ignored
from contextviz.sources.registry import detect
from contextviz.sources.sqlite import MAGIC
from contextviz.sources.unpack import packing_of
from contextviz.store import artifacts
from contextviz.store.models import (
    ArtifactRecord,
    SessionArtifactRecord,
    SessionRecord,
    UploadBatchRecord,
    UploadRecord,
)
from contextviz.store.viewing import SYSTEM, viewer_of_id, viewing

MOST_FILES = 20_000
MOST_FOUND = 5000
CHUNK_BYTES = 1024 * 1024
EMPTIED_WORDS = (
    "nothing that can be read is in it any more; what was read of it before is kept, and its session says so."
)
MOST_NAMED = 20
READ_SUFFIXES = frozenset({".jsonl", ".ndjson", ".db", ".sqlite"})
# Where agents keep transcripts, below the home folder; a pattern is one level of names, `**` any number.
_HOMES = (
    (
        "OpenClaw",
        ".openclaw",
        (
            "agents/*/agent/openclaw-agent.sqlite",
            "agents/*/sessions/*.jsonl",
            "lcm.db",
            "logs/cache-trace.jsonl",
            "flowctx.sqlite",
            "memory/flowctx.sqlite",
            "cortext/*/compaction.json",
            "cortext/*/*.sqlite",
        ),
    ),
    ("Claude Code", ".claude", ("projects/*/*.jsonl",)),
    (
        "Codex",
        ".codex",
        (
            "sessions/**/*.jsonl",
            "sessions/**/*.jsonl.zst",
            "archived_sessions/**/*.jsonl",
            "archived_sessions/**/*.jsonl.zst",
        ),
    ),
    ("pi", ".pi", ("agent/sessions/**/*.jsonl",)),
    ("Gemini CLI", ".gemini", ("tmp/*/chats/*.json", "tmp/*/chats/*.jsonl")),
    ("OpenCode", ".local/share/opencode", ("opencode.db", "storage/session/**/*.json")),
    ("OpenHands", ".openhands/conversations", ("*/events/*.json",)),
    ("OpenHands", ".openhands/sessions", ("*/events/*.json",)),  # before version 1
    ("GitHub Copilot CLI", ".copilot/session-state", ("*/events.jsonl", "*.jsonl")),
    ("GitHub Copilot CLI", ".copilot/history-session-state", ("*.json",)),  # its first versions
    ("Factory Droid", ".factory/sessions", ("**/*.jsonl",)),
    ("Kiro", ".kiro/sessions/cli", ("*.jsonl",)),
    ("Cursor", ".cursor/projects", ("*/agent-transcripts/*.jsonl", "*/agent-transcripts/*/*.jsonl")),
)


class NothingThere(UploadRefused):
    """A path that is not there, or is neither a file nor a folder; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class FoundHome:
    """An agent's home with transcripts in it. `files` stops counting at 5,000 (`is_more`)."""

    agent: str
    path: str
    files: int
    is_more: bool


def discover_homes(home: Path | None = None) -> list[FoundHome]:
    """The usual agent homes that hold transcripts: names and counts only, symbolic links not followed."""
    base = Path.home() if home is None else home
    found = []
    for agent, folder, patterns in _HOMES:
        root = base / folder
        if root.is_symlink() or not root.is_dir():
            continue
        count = 0
        for count, _ in enumerate(_matching(root, patterns), start=1):  # the last number is the count
            if count >= MOST_FOUND:
                break
        if count:
            found.append(FoundHome(agent, str(root), count, count >= MOST_FOUND))
    return found


def home_folders(home: Path | None = None) -> list[Path]:
    """The usual homes of agents, whether they are there or not."""
    base = Path.home() if home is None else home
    return [base / folder for _, folder, _ in _HOMES]


def _matching(root: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from _below(root, pattern.split("/"))


def _below(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    first, rest = parts[0], parts[1:]
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if first == "**":
                yield from _below(path, parts)
            elif rest and path.match(first):
                yield from _below(path, rest)
        elif entry.is_file(follow_symlinks=False):
            last = rest if first == "**" else parts
            if len(last) == 1 and path.match(last[0]):
                yield path


def import_paths(
    paths: Iterable[str | Path], *, now: datetime, origin: str = "import", is_private: bool = False,
    base: Path | None = None, is_followed: bool = False,
) -> UUID:  # fmt: skip
    """Open a job that brings in the transcripts at or below `paths` and reads them together; enqueue it after commit.

    Files are named relative to the folder `base` they lie below, where one is given: as when that folder is imported.
    `is_followed` says that nobody asked for it but a file that changed. Raises NothingThere, with a sentence, before
    anything is opened.
    """
    whole = [Path(path).expanduser().absolute() for path in paths]
    if not whole:
        raise NothingThere("No file or folder was named. Name the transcripts to import.")
    for path in whole:
        if not path.exists():
            raise NothingThere(f"There is no file or folder at {path}. Check the path.")
        if is_special(path):
            raise NothingThere(f"{path} is neither a file nor a folder. Name a transcript or a folder of them.")
    with transaction.atomic():
        batch_id = open_batch(now=now, origin=origin, is_private=is_private)
        params: dict[str, Any] = {"batch": str(batch_id), "paths": [str(path) for path in whole]}
        params |= ({"base": str(base)} if base else {}) | ({"followed": True} if is_followed else {})
        job_id = open_job("digest", now=now, params=params, is_private=is_private)
        UploadBatchRecord.objects.filter(pk=batch_id).update(job_id=job_id)
    return job_id


def refresh(session_id: int, *, now: datetime) -> UUID | None:
    """Open a job that reads a session's files again where one of them has grown on this machine; else None."""
    links = SessionArtifactRecord.objects.filter(session_id=session_id).exclude(source_path="")
    # Of a file whose versions are all kept the last one is what it was read as.
    sources = {Path(link.source_path): link.artifact for link in links.select_related("artifact").order_by("id")}
    if not any(_has_changed(path, artifact) for path, artifact in sources.items()):
        return None
    there = [path for path in sources if path.is_file()]
    with as_owner(session_id) as is_private:
        return import_paths(there, now=now, is_private=is_private)


@contextmanager
def as_owner(session_id: int) -> Iterator[bool]:
    """Work on a session's files as its owner does, so that what comes of a private one stays private; whether it is."""
    found = SessionRecord.objects.filter(pk=session_id, is_private=True).values_list("owner_id", flat=True).first()
    with viewing(SYSTEM if found is None else viewer_of_id(found)):
        yield found is not None


def _has_changed(path: Path, artifact: ArtifactRecord) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return found.st_size != artifact.size or found.st_mtime > artifact.received_at.timestamp()


def collect(run: JobRun, batch: UploadBatchRecord) -> list[str]:
    """Bring the files of an import job into its batch. Doing it again adds only what is missing.

    Returns the names of files of sessions that hold nothing any more; the sessions are told of it. Raises JobFailed
    where nothing came, unless a watcher asked for no more than such files.
    """
    have = set(UploadRecord.objects.filter(batch=batch, state="received").values_list("source_path", flat=True))
    known = KnownFiles(run.params["paths"], run.params.get("base", ""))
    count = kept = 0
    passed: list[str] = []
    emptied: list[str] = []
    for found in _walk_all(run.params["paths"], run.params.get("base", "")):
        before = known.of(found.path)
        # Under the name that its sessions know it by: the same file by another way is no other file.
        named = known.named(found)
        count += 1
        if count > MOST_FILES:
            run.log(f"only the first {MOST_FILES} files were looked at; name a smaller folder for the rest")
            break
        run.progress(0)
        if str(named.path) in have or _take(run, batch, named, before):
            kept += 1
        elif before is not None and _holds_nothing(named) and _tell_emptied(batch, named):
            emptied.append(named.name)
        elif len(passed) < MOST_NAMED:
            passed.append(_passed_by(named, is_asked_for=str(named.path) in run.params["paths"]))
    if passed and kept:
        more = f" and {count - kept - len(passed)} more" if count - kept > len(passed) else ""
        run.log(f"passed by, since they are no transcripts: {', '.join(passed)}{more}")
    if emptied:
        run.log(f"{', '.join(emptied[:MOST_NAMED])}: {EMPTIED_WORDS}")
    if not kept and emptied and run.params.get("followed"):
        return emptied
    if not kept and emptied:
        raise JobFailed(f"Nothing to read: {', '.join(emptied[:3])}: {EMPTIED_WORDS}", can_retry=False)
    if not kept:
        names = ", ".join(run.params["paths"][:3])
        looked = "1 file" if count == 1 else f"{count} files"
        why = f" Passed by: {', '.join(passed[:3])}." if any("(" in one for one in passed[:3]) else ""
        raise JobFailed(f"Looked at {looked} in {names}: none is a transcript that contextviz can read.{why}")
    return emptied


def _holds_nothing(named: NamedPath) -> bool:
    """Whether a file that was read before is there and is nothing that is read."""
    try:
        looked = probe(named.path, named.name)
    except OSError:
        return False
    return packing_of(looked.head) is None and detect(looked) is None


def _tell_emptied(batch: UploadBatchRecord, named: NamedPath) -> bool:
    return note_emptied(str(named.path.absolute()), audience_of(batch), now=timezone.now()) > 0


def _passed_by(named: NamedPath, *, is_asked_for: bool) -> str:
    """A file that is not taken, with the reason where somebody may wonder: it was named, or is called like one of
    those that are read."""
    if is_never_opened(named.name) or not (is_asked_for or named.path.suffix in READ_SUFFIXES):
        return named.name
    try:
        looked = probe(named.path, named.name)
        if packing_of(looked.head) is None:
            return f"{named.name} ({why_ignored(looked)})"
        # One that was named is opened, so it was refused, and the log has the reason.
        return named.name if is_asked_for else f"{named.name} (it is packed: name it to have it opened)"
    except OSError:
        return named.name


# Transcripts that agents compress themselves: `x.jsonl.zst`, `x.jsonl.reset.<time>.zst`.
_PACKED = re.compile(r"\.jsonl?(?:\.[\w.:-]{1,80})?\.(?:gz|zst)$")


def _walk_all(paths: Sequence[str], base: str) -> Iterator[NamedPath]:
    for text in paths:
        path = Path(text)
        prefix = _prefix(path, Path(base)) if base else f"{path.name}/" if path.is_dir() and len(paths) > 1 else ""
        for named in walk(path):
            yield NamedPath(named.path, prefix + named.name)


def _prefix(path: Path, base: Path) -> str:
    """What comes before the names that `walk` gives below `path`, so that they are relative to `base`."""
    folder = path if path.is_dir() else path.parent
    inside = printable(str(folder.relative_to(base))) if folder.is_relative_to(base) else "."
    return "" if inside == "." else f"{inside}/"


def _take(run: JobRun, batch: UploadBatchRecord, named: NamedPath, before: Before | None) -> bool:
    if is_never_opened(named.name):
        return False
    try:
        if before is not None and take_known(batch, named, before, now=timezone.now()):
            return True
        looked = probe(named.path, named.name)
        known = detect(looked)
        if packing_of(looked.head) is not None:
            if str(named.path) not in run.params["paths"] and _PACKED.search(named.name) is None:
                return False  # an archive is opened where somebody names it; in a folder only what says that it is one
        elif known is None or known[1].role == "ignored":
            return False
        if looked.head.startswith(MAGIC):
            _take_in_place(batch, named)
        else:
            with named.path.open("rb") as stream:
                chunks = iter(lambda: stream.read(CHUNK_BYTES), b"")
                # Of a configuration an extract is kept, whose size tells nothing of whether the file has changed.
                is_followed = known is None or known[1].format != CONFIGURATION
                path = str(named.path.absolute()) if is_followed else ""
                receive(chunks, named.name, batch_id=batch.pk, now=timezone.now(), source_path=path)
    except UploadRefused as refusal:
        run.log(str(refusal))
        return False
    except OSError as error:
        run.log(f"{named.name} cannot be read: {error.strerror}")
        return False
    return True


def _take_in_place(batch: UploadBatchRecord, named: NamedPath) -> None:
    path = named.path.absolute()
    now = timezone.now()  # before its bytes: what is written from here on is a change
    # A store in WAL mode has its newest rows beside it.
    beside = [path, *(extra for extra in [path.with_name(path.name + "-wal")] if extra.exists())]
    sha256 = artifacts.hash_of(beside)
    with transaction.atomic():
        artifact, _ = ArtifactRecord.objects.get_or_create(
            sha256=sha256,
            defaults={
                "name": shown_name(named.name),
                "size": path.stat().st_size,
                "path": str(path),
                "received_at": now,
            },
        )
        UploadRecord.objects.create(
            batch=batch, name=shown_name(named.name), state="received", artifact=artifact, source_path=str(path),
            started_at=now, finished_at=now,
        )  # fmt: skip
