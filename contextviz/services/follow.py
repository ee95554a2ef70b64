"""Following files that still grow: the files of recent sessions are looked at, and read again when they changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from contextviz.services.digest.collecting import NothingThere, as_owner
from contextviz.services.watching.opening import open_alone
from contextviz.services.watching.telling import is_watched, watched_roots
from contextviz.store.models import JobRecord, SessionArtifactRecord

FOLLOWED = timedelta(days=1)
MOST_FILES = 500
Signature = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    size: int
    received_at: datetime


@dataclass(slots=True)
class Follower:
    """Remembers what it has already had read, so that a file is read once for each time it changed."""

    _read: dict[Path, Signature] = field(default_factory=dict)
    _jobs: dict[int, UUID] = field(default_factory=dict)

    def follow_once(self, now: datetime, enqueue: Callable[[UUID], object]) -> int:
        """Open a job for every session whose files changed since they were read; how many.

        One query and a stat for each file when nothing changed. `enqueue` is called after the commit. Sessions that
        were not changed for a day are left alone, and those whose files a watcher follows; a session whose job still
        waits is looked at again later.
        """
        started = 0
        for session_id, sources in self._recent(now).items():
            marks = {one.path: mark for one in sources if (mark := signature(one.path)) is not None}
            if not any(self._has_changed(one, marks.get(one.path)) for one in sources):
                continue
            if self._is_busy(session_id):
                continue
            self._read.update(marks)
            started += self._start(session_id, list(marks), now, enqueue)
        return started

    def _recent(self, now: datetime) -> dict[int, list[_Source]]:
        links = SessionArtifactRecord.objects.exclude(source_path="").exclude(session__status="deleting")
        recent = links.filter(session__updated_at__gte=now - FOLLOWED).order_by("-session__updated_at", "id")
        found: dict[int, dict[str, _Source]] = defaultdict(dict)
        columns = ("session_id", "source_path", "artifact__size", "artifact__received_at", "session__is_private")
        roots = watched_roots()
        for session_id, path, size, received_at, is_private in recent.values_list(*columns)[:MOST_FILES]:
            if not is_private and is_watched(Path(path), roots):
                continue
            # Of a file whose versions are all kept the last one is what it was read as.
            found[session_id][path] = _Source(Path(path), size, received_at)
        return {session_id: list(sources.values()) for session_id, sources in found.items()}

    def _has_changed(self, source: _Source, mark: Signature | None) -> bool:
        if mark is None or self._read.get(source.path) == mark:
            return False
        newest = max(modified for _, modified in mark) / 1e9
        return mark[0][0] != source.size or newest > source.received_at.timestamp()

    def _is_busy(self, session_id: int) -> bool:
        job = self._jobs.get(session_id)
        return job is not None and JobRecord.objects.filter(pk=job, state__in=["queued", "running"]).exists()

    def _start(self, session_id: int, paths: list[Path], now: datetime, enqueue: Callable[[UUID], object]) -> int:
        # A client may have begun a folder beside its transcript meanwhile (sub-agents).
        folders = [path.with_suffix("") for path in paths if path.suffix and path.with_suffix("").is_dir()]
        try:
            with as_owner(session_id) as is_private:
                job_id = open_alone([*paths, *folders], paths, enqueue, now=now, is_private=is_private)
        except NothingThere:
            return 0  # it went away between two looks
        if job_id is None:
            for path in paths:
                self._read.pop(path, None)  # somebody reads one of them now; looked at again when that is done
            return 0
        self._jobs[session_id] = job_id
        return 1


def signature(path: Path) -> Signature | None:
    """Size and modification time (ns) of a file and of the log beside a SQLite store; None where it is not there."""
    marks = []
    for one in (path, path.with_name(path.name + "-wal")):
        try:
            found = one.stat()
        except OSError:
            continue
        marks.append((found.st_size, found.st_mtime_ns))
    return tuple(marks) if marks and path.is_file() else None
