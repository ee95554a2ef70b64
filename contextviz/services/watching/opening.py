"""Jobs for files that changed: opened once, however many processes have seen it, and never lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction

from contextviz.services.digest.collecting import import_paths
from contextviz.store.bulk import chunks
from contextviz.store.models import JobRecord, UploadBatchRecord

# Any number that nothing else of ours locks.
_LOCK = 7_305_442_020
UNHEARD = timedelta(seconds=20)
KEPT = timedelta(minutes=10)
MOST_AT_ONCE = 5_000  # more than a worker does between two looks
IN_TRANSACTION = 100
Enqueue = Callable[[UUID], object]


def is_busy(paths: Iterable[str | Path]) -> bool:
    """Whether a job that has not ended reads something at, below or above one of the paths. One query."""
    wanted = [str(path) for path in paths]
    rows = JobRecord.objects.filter(kind="digest", state__in=["queued", "running"]).values_list("params", flat=True)
    read = [path for params in rows for path in params.get("paths") or ()]
    return any(_is_within(one, other) or _is_within(other, one) for one in wanted for other in read)


def _is_within(path: str, other: str) -> bool:
    return path == other or path.startswith(other.rstrip("/") + "/")


def open_alone(
    paths: Sequence[str | Path], area: Sequence[str | Path], enqueue: Enqueue, *, now: datetime,
    base: Path | None = None, is_private: bool = False,
) -> UUID | None:  # fmt: skip
    """A job that reads `paths`; None where a job in the same `area` has not ended: look again when it has. `enqueue` is
    called after the commit. Raises NothingThere."""
    with transaction.atomic():
        _lock()
        if is_busy(area):
            return None
        job_id = import_paths(paths, now=now, is_private=is_private, base=base, is_followed=True)
        transaction.on_commit(partial(enqueue, job_id))
    return job_id


def _lock() -> None:
    """One process at a time from here to the commit. On SQLite the transaction itself is that."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def unheard(*, now: datetime) -> list[UUID]:
    """Jobs for followed files that still wait: their messages may have gone with a broker, or were never sent since
    the process died between two lines. To be enqueued again, which costs nothing where they were not lost."""
    waiting = JobRecord.objects.filter(kind="digest", state="queued", created_at__lt=now - UNHEARD)
    return list(waiting.filter(params__followed=True).order_by("created_at").values_list("pk", flat=True)[:100])


def forget_done(*, now: datetime) -> int:
    """Remove the rows of followed files' jobs that ended well ten minutes ago: there are thousands an hour, and each
    says only that a file grew. How many.

    A hundred in a transaction, by their keys alone: params and result name every file that was read, which as objects
    is 50 KB a job of fifty files, and a worker's main process would keep the memory of the largest removal for good.
    """
    done = JobRecord.objects.filter(kind="digest", state="done", finished_at__lt=now - KEPT, params__followed=True)
    ids = list(done.order_by("finished_at").values_list("pk", flat=True)[:MOST_AT_ONCE])
    for part in chunks(ids, IN_TRANSACTION):
        with transaction.atomic():
            UploadBatchRecord.objects.filter(job_id__in=part, finished_at__isnull=False).only("pk").delete()
            JobRecord.objects.filter(pk__in=part).only("pk").delete()
    return len(ids)
