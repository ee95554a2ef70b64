"""A watcher in the test's own process, whose jobs are done as soon as they are opened (or when a test says so)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from contextviz.services import digest
from contextviz.services.watching import Watcher
from contextviz.store.models import JobRecord, LiveEventRecord, SessionRecord
from contextviz.store.queries import jobs

LONG_AGO = (1_000_000_000, 1_000_000_000)


def do(job_id: UUID) -> None:
    """A worker: does the job now."""
    assert digest.digest(job_id)
    row = jobs.get_job(job_id)
    assert row.state == "done", row.outcome


@contextmanager
def watching(*roots: Path, enqueue: Callable[[UUID], object] = do, **chosen: Any) -> Iterator[Watcher]:
    """A watcher of the folders; what it says goes to `said`, or is a failure."""
    said = chosen.pop("said", None)
    say = said.append if said is not None else _unexpected
    watcher = Watcher(roots, enqueue, say, **chosen)
    try:
        yield watcher
    finally:
        watcher.close()


def _unexpected(text: str) -> None:
    raise AssertionError(text)


def now() -> datetime:
    return datetime.now(UTC)


def until(watcher: Watcher, condition: Callable[[], object], *, seconds: float = 10.0) -> int:
    """Steps until the condition holds; how many jobs they opened."""
    opened = 0
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not come true; jobs: {list(JobRecord.objects.values('outcome'))}"
        opened += watcher.step(now())
    return opened


def settled(watcher: Watcher, *, steps: int = 2) -> int:
    """Steps until nothing happens any more; how many jobs they opened."""
    opened = quiet = 0
    while quiet < steps:
        more = watcher.step(now())
        opened += more
        quiet = 0 if more else quiet + 1
    return opened


def calls() -> list[int]:
    """The calls of every session, in order of their ids."""
    return list(SessionRecord.objects.order_by("source_id").values_list("call_count", flat=True))


def told(kind: str) -> list[str]:
    """The keys of the feed's rows of a kind, in order."""
    return list(LiveEventRecord.objects.filter(kind=kind).order_by("pk").values_list("key", flat=True))


def old(path: Path) -> Path:
    """The file as if it had been written long ago."""
    os.utime(path, LONG_AGO)
    return path
