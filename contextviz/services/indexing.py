"""Keeping the search index up with the texts: at once while a batch is read, or behind it as a job that people see.

SQLite writes fast and has one writer, so its index is there when a session is. PostgreSQL takes several times longer;
there a large import's texts are left to a job, and search says how much is still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from contextviz.services.jobs import JobRun, open_job, perform
from contextviz.store import search
from contextviz.store.models import JobRecord, PlaceRecord, SessionRecord, TextUseRecord
from contextviz.store.queries.transcripts import load_transcript
from contextviz.store.values import NotFound
from contextviz.store.writes import save_places

AT_ONCE_BYTES = 4 * 1024 * 1024
# While a file is read: about 0.1 s, in which nothing else is written.
STEP_BYTES = 4 * 1024 * 1024
# Texts that are indexed beside the analyses. SQLite takes some 25 MB of memory for it, when a large session needs all
# there is: its texts wait until it is saved.
BESIDE_BYTES = 512 * 1024
MOST_BESIDE_BYTES = 96 * 1024 * 1024
UNFINISHED = ("queued", "running")


def index_some(after: int) -> None:
    """Index a little of what was written behind pack `after`, where that is enough: a moment's work for a thread that
    writes texts while more are read. Nothing where the index is left to a job."""
    if not _is_slow() and search.waiting().size >= STEP_BYTES:
        search.index_packs(after=after, most=STEP_BYTES)


@contextmanager
def indexing_beside(after: int, *, size: int = 0) -> Iterator[None]:
    """Index what was written behind pack `after` in a thread, while what is inside goes on; done when it ends.

    Only where that is much, but not after a session whose texts (`size` bytes) are so many that it needs the memory,
    and where SQLite's one writer is not wanted inside. What is not done here is left to
    `index_fresh`.
    """
    if _is_slow() or connection.in_atomic_block or not _is_beside(search.waiting().size, size):
        yield
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="search-index") as thread:
        indexed = thread.submit(_index_here, after)
        yield
        indexed.result()


def _is_beside(waiting: int, size: int) -> bool:
    return waiting >= BESIDE_BYTES and max(waiting, size) <= MOST_BESIDE_BYTES


def _index_here(after: int) -> None:
    try:
        while search.index_packs(after=after).packs:
            pass
    finally:
        connection.close()  # this thread's own


def index_fresh(after: int, beat: Callable[[], None]) -> None:
    """Index what was written behind pack `after` (`store.search.last_pack` from before), unless it is left to a job.

    `beat` is called between transactions.
    """
    if _is_slow() and search.waiting().size > AT_ONCE_BYTES:
        return
    while search.index_packs(after=after).packs:
        beat()


def _is_slow() -> bool:
    return connection.vendor == "postgresql"


def open_if_waiting(*, now: datetime, with_sessions: bool = False) -> UUID | None:
    """A job for texts that nobody indexes: after a large import, a crash, an upgrade (`with_sessions`: also where
    sessions were saved before there was a search). None where there is no need. Enqueue it after commit."""
    if not search.waiting().packs and not (with_sessions and _sessions_without_places().exists()):
        return None
    unfinished = JobRecord.objects.filter(state__in=UNFINISHED)
    # On SQLite an import indexes its own texts in a moment.
    busy = ("index_texts",) if _is_slow() else ("index_texts", "digest")
    if unfinished.filter(kind__in=busy).exists():
        return None
    return open_job("index_texts", now=now, params={"title": "Search index"})


def index_texts(job_id: UUID | str) -> bool:
    """Do an index job; doing it again goes on where it was stopped."""
    return perform(job_id, _index)


def _index(run: JobRun) -> str:
    total = search.waiting().size
    run.progress(0, total, force=True)
    done = 0
    while (part := search.index_packs()).packs:
        done += part.size
        run.progress(min(done, total))
    for number in list(_sessions_without_places().values_list("pk", flat=True)):
        run.progress(done)
        _place(run, number)
    return "All texts can be found by search."


def _sessions_without_places() -> QuerySet[SessionRecord]:
    places = PlaceRecord.objects.filter(session=OuterRef("pk"))
    texts = TextUseRecord.objects.filter(session=OuterRef("pk"), text__size__gt=0)
    return SessionRecord.objects.filter(~Exists(places), Exists(texts), detail__isnull=False).exclude(status="deleting")


def _place(run: JobRun, session_id: int) -> None:
    with transaction.atomic():
        try:
            save_places(load_transcript(session_id), session_id)
        except NotFound:
            run.log(f"session {session_id} was deleted meanwhile")
