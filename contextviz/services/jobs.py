"""Jobs: opened, claimed, watched, finished. The row is the truth; the broker's message is only a hint to look.

Delivery is at least once, so a job is claimed by one conditional UPDATE: of several messages for it one runs, the
others find nothing to do. A process that dies leaves a row whose owner is gone; whoever looks next takes it over.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import DatabaseError, connection
from django.db import Error as DjangoError
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from contextviz.services.outages.trouble import trouble_of
from contextviz.services.owners import is_gone, own_name
from contextviz.store.bulk import clean_deep
from contextviz.store.models import JobLogRecord, JobRecord, SessionRecord
from contextviz.store.values import JobKind, NotFound
from contextviz.store.viewing import SYSTEM, current_viewer, viewing

logger = logging.getLogger("contextviz.services.jobs")
MOST_ATTEMPTS = 3
MOST_LINES = 500
BEAT_SECONDS = 15.0
END_SECONDS = 60.0  # how long the end of a job is tried to be written while the store takes nothing
PAUSE_SECONDS = 2.0
PROGRESS_SECONDS = 1.0
LATE = timedelta(minutes=1)
MOST_LATE = 20
_running: set[UUID] = set()  # what this process works on, to tell it from what an earlier try left behind


class JobCancelled(Exception):
    """A person asked for the job to stop."""


class JobFailed(Exception):
    """The job cannot be done; the text is a sentence for a person. `can_retry`: another try may end otherwise."""

    def __init__(self, sentence: str, *, can_retry: bool = True) -> None:
        super().__init__(sentence)
        self.can_retry = can_retry


class JobLost(Exception):
    """Another process took the job over, since this one seemed to be gone."""


def open_job(
    kind: JobKind, *, now: datetime, params: Mapping[str, Any] | None = None, session_id: int | None = None,
    is_private: bool = False,
) -> UUID:  # fmt: skip
    """A queued job of whoever asks for it; the caller enqueues it after its commit (tasks.enqueue).

    With `is_private` only that person and admins see it. A job on a private session is private to its owner.
    """
    person_id = current_viewer().user_id
    if session_id is not None:
        owner = SessionRecord.objects.filter(pk=session_id, is_private=True).values_list("owner_id", flat=True).first()
        person_id, is_private = (person_id, is_private) if owner is None else (owner, True)
    record = JobRecord.objects.create(
        kind=kind, params=clean_deep(dict(params or {})), session_id=session_id, created_at=now,
        person_id=person_id, is_private=is_private and person_id is not None,
    )  # fmt: skip
    return record.pk


class JobRun:
    """One try at a job, in the hands of the service that does the work."""

    def __init__(self, record: JobRecord, owner: str) -> None:
        self.id: UUID = record.pk
        self.params: dict[str, Any] = record.params
        self.session_id: int | None = record.session_id
        self.attempts: int = record.attempts
        self.person_id: int | None = record.person_id
        self.result: dict[str, Any] = {}
        self._told = 0
        self._owner = owner
        self._told_at = float("-inf")

    def progress(self, done: int, total: int | None = None, *, force: bool = False) -> None:
        """Say how far it is, and which files of `result` are done, at most once a second; raises JobCancelled when a
        person asked to stop.

        Not inside a transaction: nobody would see it, and the row would stay locked.
        """
        if not force and time.monotonic() - self._told_at < PROGRESS_SECONDS:
            return
        self._told_at = time.monotonic()
        values: dict[str, Any] = {"progress": done, "heartbeat_at": timezone.now()}
        if total is not None:
            values["total"] = total
        if len(self.result.get("files") or ()) != self._told:
            values["result"] = clean_deep(self.result)
            self._told = len(self.result["files"])
        self._update(**values)
        if JobRecord.objects.filter(pk=self.id, is_cancel_asked=True).exists():
            raise JobCancelled

    def log(self, text: str) -> None:
        """A line for the job's log; after 500 lines no more are kept."""
        if JobLogRecord.objects.filter(job_id=self.id).count() < MOST_LINES:
            JobLogRecord.objects.create(job_id=self.id, at=timezone.now(), text=text.replace("\x00", "\ufffd"))

    def _update(self, **values: Any) -> None:
        mine = JobRecord.objects.filter(pk=self.id, state="running", owner=self._owner)
        if not mine.update(**values):
            raise JobLost

    def finish(self, state: str, outcome: str, *, can_retry: bool = True) -> None:
        """The end of it, in a sentence."""
        values: dict[str, Any] = {"progress": Coalesce(F("total"), F("progress"))} if state == "done" else {}
        self._update(
            state=state, outcome=outcome.replace("\x00", "\ufffd"), result=clean_deep(self.result),
            can_retry=can_retry, finished_at=timezone.now(), **values,
        )  # fmt: skip


def perform(job_id: UUID | str, work: Callable[[JobRun], str]) -> bool:
    """Claim a job, do its work, and write how it ended; false where there was nothing to claim.

    `work` returns the outcome as a sentence. This is the door: unexpected errors are logged here once, with the id.
    Where the store does not take even the end of the job for a minute this process exits: only then does another see
    that nobody does the job any more.
    """
    run = claim(UUID(str(job_id)), now=timezone.now())
    if run is None:
        return False
    _running.add(run.id)
    try:
        with _beating(run), viewing(SYSTEM):
            _carry_out(run, work)
    except JobLost:
        logger.warning("job taken over by another process job=%s", run.id)
    finally:
        _running.discard(run.id)
    return True


def _carry_out(run: JobRun, work: Callable[[JobRun], str]) -> None:
    try:
        _end(run, "done", work(run))
    except JobCancelled:
        _end(run, "cancelled", "Cancelled. Nothing of what was there before is changed.")
    except JobFailed as error:
        _end(run, "failed", str(error), can_retry=error.can_retry)
    except SoftTimeLimitExceeded:
        _end(run, "failed", "It took longer than a job may. Try again, or raise CONTEXTVIZ_JOB_TIME_LIMIT_SECONDS.")
    except JobLost:
        raise
    except Exception as error:
        trouble = trouble_of(error)
        if trouble is None:
            logger.exception("job failed job=%s", run.id)
            sentence = f"An error of contextviz's own; the server's log has it under job {run.id}. Try again."
        else:
            logger.error("job failed job=%s: %s", run.id, error)
            sentence = trouble.of_job
        _end(run, "failed", sentence)


def _end(run: JobRun, state: str, outcome: str, *, can_retry: bool = True) -> None:
    """Write how the job ended; again and again for a minute while the disk is full, the database locked or away."""
    give_up_at = time.monotonic() + END_SECONDS
    while True:
        try:
            run.finish(state, outcome, can_retry=can_retry)
            return
        except DjangoError as error:
            if trouble_of(error) is None:
                raise
            if time.monotonic() >= give_up_at:
                logger.critical("a job's end could not be written, this process exits job=%s: %s", run.id, error)
                raise SystemExit(1) from error
        time.sleep(PAUSE_SECONDS)
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # one that the server ended would fail for ever


def claim(job_id: UUID, *, now: datetime) -> JobRun | None:
    """Make this process the one that runs the job; None where it is finished, taken or given up."""
    record = JobRecord.objects.filter(pk=job_id).first()
    if record is None or record.state not in ("queued", "running"):
        return None
    if record.state == "running" and (not _is_left(record, now) or _give_up(record, now)):
        return None
    owner = own_name()
    as_seen = JobRecord.objects.filter(pk=job_id, state=record.state, owner=record.owner, attempts=record.attempts)
    taken = as_seen.update(
        state="running", owner=owner, attempts=F("attempts") + 1, started_at=now, heartbeat_at=now, progress=0,
        outcome="",
    )  # fmt: skip
    return JobRun(JobRecord.objects.get(pk=job_id), owner) if taken else None


def _is_left(record: JobRecord, now: datetime) -> bool:
    if record.owner == own_name():
        return record.pk not in _running
    return is_gone(record.owner, heartbeat_at=record.heartbeat_at, now=now)


def _give_up(record: JobRecord, now: datetime) -> bool:
    """End a job whose worker died and that should not be tried again; whether it was ended."""
    left = JobRecord.objects.filter(pk=record.pk, state="running", owner=record.owner, attempts=record.attempts)
    if record.is_cancel_asked:
        left.update(state="cancelled", outcome="Cancelled.", finished_at=now)
        return True
    if record.attempts >= MOST_ATTEMPTS:
        sentence = f"The worker was stopped {record.attempts} times while it did this. Look at the log, then try again."
        left.update(state="failed", outcome=sentence, finished_at=now)
        return True
    return False


def recover_stale(*, now: datetime, include_queued: bool) -> list[UUID]:
    """Queue again what dead processes left running (after three tries it fails, with a retry); the ids to enqueue.

    `include_queued` adds all that wait: at a worker's start their messages may be lost.
    """
    ready: list[UUID] = []
    for record in JobRecord.objects.filter(state__in=["queued", "running"]).order_by("created_at", "id"):
        if record.state == "queued":
            # A broker's message may be lost at any time; of many that wait only the oldest are told of again.
            # Webhooks wait on purpose, until they are due.
            is_late = record.created_at < now - LATE and record.kind != "send_webhook" and len(ready) < MOST_LATE
            if include_queued or is_late:
                ready.append(record.pk)
            continue
        if not _is_left(record, now) or _give_up(record, now):
            continue
        left = JobRecord.objects.filter(pk=record.pk, state="running", owner=record.owner, attempts=record.attempts)
        if left.update(state="queued", owner="", heartbeat_at=None):
            logger.info("job of a dead process queued again job=%s kind=%s", record.pk, record.kind)
            ready.append(record.pk)
    return ready


def cancel(job_id: UUID | str, *, now: datetime) -> bool:
    """Ask a job to stop: at once where it waits, at its next step where it runs. False where it has ended."""
    found = JobRecord.objects.filter(pk=UUID(str(job_id)))
    if found.filter(state="queued").update(state="cancelled", outcome="Cancelled before it began.", finished_at=now):
        return True
    return bool(found.filter(state="running").update(is_cancel_asked=True))


def retry(job_id: UUID | str) -> bool:
    """Queue a failed or cancelled job again; the caller enqueues it. False where there is nothing to retry."""
    ended = JobRecord.objects.filter(pk=UUID(str(job_id)), state__in=["failed", "cancelled"], can_retry=True)
    return bool(
        ended.update(
            state="queued", owner="", attempts=0, progress=0, total=None, outcome="", result={}, is_cancel_asked=False,
            heartbeat_at=None, started_at=None, finished_at=None,
        )
    )  # fmt: skip


def kind_of(job_id: UUID | str) -> str:
    """Which kind of job it is; raises NotFound."""
    found = JobRecord.objects.filter(pk=UUID(str(job_id))).values_list("kind", flat=True).first()
    if found is None:
        raise NotFound("There is no such job here.")
    return found


@contextmanager
def _beating(run: JobRun) -> Iterator[None]:
    # Within one host the process itself tells whether it lives; a second connection would only wait for SQLite's lock.
    if connection.vendor == "sqlite":
        yield
        return
    stop = threading.Event()
    beat = threading.Thread(target=_beat, args=(run, stop), daemon=True)
    beat.start()
    try:
        yield
    finally:
        stop.set()
        beat.join(BEAT_SECONDS)


def _beat(run: JobRun, stop: threading.Event) -> None:
    while not stop.wait(BEAT_SECONDS):
        try:
            JobRecord.objects.filter(pk=run.id, owner=run._owner, state="running").update(heartbeat_at=timezone.now())
        except DatabaseError:
            logger.warning("a heartbeat could not be written job=%s", run.id, exc_info=True)
        finally:
            connection.close()
