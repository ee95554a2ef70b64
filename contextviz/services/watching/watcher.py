"""The watcher: what changed below its folders becomes jobs, one at a time for each folder, with all that changed since
the last. It holds nothing that cannot be found again: after a restart every file is looked at."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from contextviz.services.digest.collecting import NothingThere
from contextviz.services.watching.looking import MOST_FILES, Reading, Root
from contextviz.services.watching.notices import Notices
from contextviz.services.watching.opening import Enqueue, is_busy, open_alone, unheard
from contextviz.services.watching.telling import Told
from contextviz.store.models import JobRecord

logger = logging.getLogger("contextviz.watching")
# The system's notices may be lost (its queue has an end), so every file is looked at now and then all the same.
SCAN_SECONDS = 30.0
POLLED_SCAN_SECONDS = 2.0
# A scan may take that share of the time at most.
SCAN_SHARE = 20
UNHEARD_SECONDS = 10.0
RETRY_SECONDS = 10.0
MOST_TRIES = 3


@dataclass(slots=True)
class _Followed:
    """A root with its job under way, and when it is looked at next."""

    root: Root
    scan_at: float = 0.0
    job: UUID | None = None
    reading: Reading | None = None
    tries: int = 0
    retry_at: float = 0.0
    is_told: bool = False


@dataclass(slots=True)
class Watcher:
    """Follows `roots`. `say` is told, in a sentence, what a person should know."""

    roots: Sequence[Path]
    enqueue: Enqueue
    say: Callable[[str], None] = logger.warning
    is_polling: bool = False
    _notices: Notices = field(init=False)
    _followed: list[_Followed] = field(init=False)
    _told: Told = field(init=False)
    _unheard_at: float = 0.0

    def __post_init__(self) -> None:
        self._notices = Notices(is_polling=self.is_polling, say=self.say)
        self._followed = [_Followed(Root(path)) for path in self.roots]
        self._told = Told(self.roots)

    def step(self, now: datetime) -> int:
        """Wait for changes, a quarter of a second at most, and open jobs for what changed; how many."""
        self._told.tell()
        if self._notices.follow([path for path in self.roots if path.is_dir()]):
            for one in self._followed:
                one.scan_at = 0.0
        changed = self._notices.wait()
        if not self._notices.is_watching:
            time.sleep(0.25)
        if time.monotonic() >= self._unheard_at:
            self._unheard_at = time.monotonic() + UNHEARD_SECONDS
            for job_id in unheard(now=now):
                self.enqueue(job_id)
        return sum(self._advance(one, changed, now) for one in self._followed)

    def close(self) -> None:
        """Let go of the system's watches."""
        self._notices.close()
        self._told.close()

    def _advance(self, one: _Followed, changed: set[str], now: datetime) -> int:
        self._look(one, changed)
        if one.job is not None and not self._has_ended(one, one.job):
            return 0
        if one.retry_at and time.monotonic() >= one.retry_at and one.reading is not None:
            one.root.touch(one.reading.marks)
            one.retry_at = 0.0
        if not one.root.dirty or is_busy([one.root.path]):
            return 0
        reading = one.root.next_reading(now)
        return 0 if reading is None else self._open(one, reading, now)

    def _look(self, one: _Followed, changed: set[str]) -> None:
        one.root.hear(changed)
        began = time.monotonic()
        if began < one.scan_at and not one.root.path.is_file():
            return
        one.root.scan()
        if one.root.is_over and not one.is_told:
            one.is_told = True
            self.say(
                f"{one.root.path} holds more than {MOST_FILES:,} files that may be transcripts; the first of them are "
                "followed. Name the folders inside that matter."
            )
        pause = POLLED_SCAN_SECONDS if self._notices.is_polling else SCAN_SECONDS
        one.scan_at = time.monotonic() + max(pause, (time.monotonic() - began) * SCAN_SHARE)

    def _has_ended(self, one: _Followed, job_id: UUID) -> bool:
        found = JobRecord.objects.filter(pk=job_id).values_list("state", "can_retry").first()
        state, can_retry = found or ("done", False)
        if state in ("queued", "running"):
            return False
        one.job = None
        if state == "failed" and can_retry and one.tries < MOST_TRIES:
            one.tries += 1
            one.retry_at = time.monotonic() + RETRY_SECONDS * one.tries
        elif state != "failed":
            one.tries, one.retry_at = 0, 0.0
        return True

    def _open(self, one: _Followed, reading: Reading, now: datetime) -> int:
        root = one.root.path
        base = root if root.is_dir() else root.parent
        try:
            job_id = open_alone(reading.paths, [root], self.enqueue, now=now, base=base)
        except NothingThere:
            return 0  # it went away between two looks
        if job_id is None:
            return 0
        one.root.began(reading)
        one.job, one.reading = job_id, reading
        return 1
