"""One folder or file that is followed: what it held when it was looked at last, and what is to be read of it now."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path

from django.conf import settings

from contextviz.events.session import FileRole
from contextviz.services.watching.files import (
    Mark,
    changed_at,
    files_below,
    group_of,
    is_passed,
    is_wanted,
    mark_of,
    subject_of,
)
from contextviz.services.watching.known import Known, files_beside, known_files, recent_files
from contextviz.sources.files import probe
from contextviz.sources.registry import detect
from contextviz.sources.unpack import packing_of

logger = logging.getLogger("contextviz.watching")
MOST_FILES = 20_000
MOST_IN_JOB = 500
# Indexes and configurations change with what they are of, so they wait for it that long.
ASIDE_SECONDS = 5.0
MOST_BESIDE_ASIDE = 30
MOST_SESSIONS = 50  # of a log that many sessions are read with, the sessions are found by its reader
_ASIDE: frozenset[FileRole] = frozenset({"index", "trace"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What one job is to read: `paths`, of which `marks` are those that changed, as they are now."""

    paths: list[str]
    marks: dict[str, Mark]


@dataclass(slots=True)
class Root:
    """A followed folder or file. `dirty` are paths that changed, and since when (monotonic seconds)."""

    path: Path
    marks: dict[str, Mark] = field(default_factory=dict)
    dirty: dict[str, float] = field(default_factory=dict)
    roles: dict[str, FileRole | None] = field(default_factory=dict)
    is_over: bool = False

    def scan(self) -> None:
        """Look at every file, the first 20,000 of them."""
        found = list(islice(files_below(self.path), MOST_FILES + 1))
        self.is_over = len(found) > MOST_FILES
        for path in found[:MOST_FILES]:
            self._look(path)
        for path in self.marks.keys() - set(found):
            self._forget(path)

    def hear(self, changed: Iterable[str]) -> None:
        """Look at what the system says has changed."""
        inside = str(self.path) + "/"
        for path in changed:
            if not path.startswith(inside) or is_passed(path, self.path):
                continue
            subject = subject_of(path)
            if is_wanted(subject):
                self._look(subject)
            elif Path(path).is_dir() and not Path(path).is_symlink():
                # It came with files that were there before anybody watched it.
                for one in islice(files_below(Path(path)), MOST_FILES):
                    self._look(one)

    def touch(self, paths: Iterable[str]) -> None:
        """Have these read again, though they did not change: reading them failed."""
        for path in paths:
            if self.marks.pop(path, None) is not None:
                self.dirty.setdefault(path, time.monotonic())

    def _look(self, path: str) -> None:
        mark = mark_of(path)
        if mark is None:
            self._forget(path)
        elif self.marks.get(path) != mark and (path in self.marks or len(self.marks) < MOST_FILES):
            self.dirty.setdefault(path, time.monotonic())

    def _forget(self, path: str) -> None:
        for held in (self.marks, self.dirty, self.roles):
            held.pop(path, None)

    def next_reading(self, now: datetime) -> Reading | None:
        """What is to be read now; None where nothing is. What is as the library knows it is settled on the way."""
        while self.dirty:
            taken = list(self.dirty)[:MOST_IN_JOB]
            reading = self._reading(taken, now)
            if reading is not None:
                return reading
            if not self.dirty.keys().isdisjoint(taken):
                return None  # what is left of them waits
        return None

    def began(self, reading: Reading) -> None:
        """A job was opened for it: what changes from here on is a change."""
        self.marks.update(reading.marks)
        for path in reading.marks:
            self.dirty.pop(path, None)

    def _settle(self, path: str, mark: Mark | None) -> None:
        self.dirty.pop(path, None)
        if mark is not None:
            self.marks[path] = mark

    def _reading(self, taken: list[str], now: datetime) -> Reading | None:
        known = known_files(taken)
        eager: dict[str, Mark] = {}
        aside: dict[str, Mark] = {}
        for path in taken:
            mark, before = mark_of(path), known.get(path)
            if mark is None or self._is_settled(mark, before, now):
                self._settle(path, mark)
                continue
            role = self._role_of(path, is_known=before is not None)
            if role is None:
                self._settle(path, mark)
            elif role in _ASIDE and not (role == "trace" and before is not None):
                aside[path] = mark
            else:
                eager[path] = mark
        if eager:
            return Reading(self._with_others({**eager, **aside}, known), {**eager, **aside})
        return self._reading_of_aside(aside, now) if aside else None

    def _is_settled(self, mark: Mark, before: Known | None, now: datetime) -> bool:
        if before is None:
            # What retention removes must not come back at the next start.
            days = settings.RETENTION_DAYS
            return bool(days) and changed_at(mark) < now.timestamp() - days * 86_400
        # A person's own session is followed by services.follow, in that person's name.
        return before.is_private or before.is_still(mark)

    def _role_of(self, path: str, *, is_known: bool) -> FileRole | None:
        """What the file is; None where no reader has a use for it. A known one but for JSON is not opened."""
        if is_known and path in self.roles:
            return self.roles[path]
        if is_known and not path.endswith(".json"):
            return "trace" if self.roles.get(path) == "trace" else "session"
        try:
            looked = probe(Path(path), path[len(str(self.path)) + 1 :] or None)
        except OSError:
            return None  # it went away, or is not ours to read
        found = detect(looked)
        role: FileRole | None = None if found is None else found[1].role
        if found is None and packing_of(looked.head) is not None:
            role = "archive"
        self.roles[path] = None if role == "ignored" else role
        return self.roles[path]

    def _with_others(self, marks: dict[str, Mark], known: dict[str, Known]) -> list[str]:
        """The changed files, those that their sessions are read from too, and what belongs to no session yet."""
        sessions = {
            one
            for path in marks
            if (before := known.get(path)) is not None and len(before.sessions) <= MOST_SESSIONS
            for one in before.sessions
        }
        groups = {group_of(path, self.path) for path in marks}
        loose = [path for path, role in self.roles.items() if role in _ASIDE or role == "store"]
        unlinked = set(loose[:MOST_IN_JOB]) - known_files(loose[:MOST_IN_JOB]).keys()
        wanted = {*marks, *groups, *files_beside(sessions), *unlinked}
        return [path for path in sorted(wanted) if Path(path).exists()]

    def _reading_of_aside(self, aside: dict[str, Mark], now: datetime) -> Reading | None:
        """Indexes, configurations and logs that changed alone: read with the sessions that they may speak of."""
        ready = {path: mark for path, mark in aside.items() if time.monotonic() - self.dirty[path] >= ASIDE_SECONDS}
        if not ready:
            return None
        beside = [path for path in recent_files(self.path, now)[:MOST_BESIDE_ASIDE] if Path(path).exists()]
        if not beside:
            for path, mark in ready.items():
                self._settle(path, mark)  # it goes with the first session that comes
            return None
        return Reading(sorted({*ready, *beside}), ready)
