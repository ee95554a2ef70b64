"""What the library knows of files that are followed: how they were when they were read last, and by which sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from contextviz.services.watching.files import Mark, changed_at
from contextviz.store.bulk import chunks
from contextviz.store.models import SessionArtifactRecord

AT_ONCE = 500
# A session of more files is given the changed ones alone: the rest would be looked at each time.
MOST_BESIDE = 30
RECENT = timedelta(days=1)
MOST_RECENT = 300


@dataclass(slots=True)
class Known:
    """A file as it was read last."""

    size: int = -1
    received_at: float = 0.0
    sessions: set[int] = field(default_factory=set)
    is_private: bool = True

    def is_still(self, mark: Mark) -> bool:
        """Whether the file is as it was read, by its size and the times of its last change."""
        return mark[0] == self.size and changed_at(mark) < self.received_at


def known_files(paths: Iterable[str]) -> dict[str, Known]:
    """Those of the paths that sessions are read from. One query for 500 of them."""
    links = SessionArtifactRecord.objects.exclude(session__status="deleting")
    columns = ("source_path", "artifact__size", "artifact__received_at", "session_id", "session__is_private")
    found: dict[str, Known] = {}
    for part in chunks(paths, AT_ONCE):
        rows = links.filter(source_path__in=part).order_by("id").values_list(*columns)
        for path, size, received_at, session_id, is_private in rows:
            one = found.setdefault(path, Known())
            # Of a file whose versions are all kept the last one is what it was read as.
            one.size, one.received_at = size, received_at.timestamp()
            one.sessions.add(session_id)
            one.is_private = one.is_private and is_private
    return found


def files_beside(sessions: Iterable[int]) -> set[str]:
    """The other files of these sessions, so that each is read whole at once. One query for 500 of them."""
    by_session: dict[int, set[str]] = {}
    for part in chunks(sessions, AT_ONCE):
        links = SessionArtifactRecord.objects.filter(session_id__in=part).exclude(source_path="")
        for session_id, path in links.values_list("session_id", "source_path"):
            by_session.setdefault(session_id, set()).add(path)
    return {path for paths in by_session.values() if len(paths) <= MOST_BESIDE for path in paths}


def recent_files(folder: Path, now: datetime) -> Sequence[str]:
    """Files of sessions below a folder that changed within a day: what a configuration in it may speak of."""
    links = SessionArtifactRecord.objects.filter(
        source_path__startswith=f"{folder}/", session__updated_at__gte=now - RECENT, session__is_private=False
    )
    rows = links.order_by("-session__updated_at", "id").values_list("source_path", flat=True)
    return list(dict.fromkeys(rows[:MOST_RECENT]))
