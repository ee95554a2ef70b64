"""Celery's functions: ids in, a service called. Delivery is at least once; claiming the job's row makes it once."""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module
from typing import Any
from uuid import UUID

from celery import current_app, shared_task
from celery.signals import worker_ready
from django.db import DatabaseError, connections
from django.utils import timezone

from contextviz.services import alerts, delete, digest, expand, inbox, indexing, jobs, live, retrieve, watching
from contextviz.services.budget.costs import refresh_costs
from contextviz.services.export import looking
from contextviz.services.follow import Follower
from contextviz.services.keeping import retention, workers
from contextviz.services.outages.telling import TELLER
from contextviz.store.memory import give_back

logger = logging.getLogger("contextviz.tasks")
RECOVER_SECONDS = 30.0
FOLLOW_SECONDS = 1.0
RETENTION_SECONDS = 600.0
STUCK_SECONDS = 30.0
_follower = Follower()


@shared_task(name="contextviz.digest")
def run_digest(*, job_id: str, **_: Any) -> None:
    """Read a batch of files."""
    digest.digest(job_id)
    _call_webhooks()
    _index_behind()


@shared_task(name="contextviz.expand_summary")
def run_expand_summary(*, job_id: str, **_: Any) -> None:
    """Expand a summary."""
    expand.expand_summary(job_id)


@shared_task(name="contextviz.retrieve_original")
def run_retrieve_original(*, job_id: str, **_: Any) -> None:
    """Get an original back."""
    retrieve.retrieve_original(job_id)


@shared_task(name="contextviz.delete_session")
def run_delete_session(*, job_id: str, **_: Any) -> None:
    """Delete a session."""
    delete.delete_session(job_id)


@shared_task(name="contextviz.index_texts")
def run_index_texts(*, job_id: str, **_: Any) -> None:
    """Index texts for search."""
    indexing.index_texts(job_id)


@shared_task(name="contextviz.look_through")
def run_look_through(*, job_id: str, **_: Any) -> None:
    """Look a session through before its export."""
    looking.look(job_id)


@shared_task(name="contextviz.send_webhook")
def run_send_webhook(*, job_id: str, **_: Any) -> None:
    """Call an alert's webhook."""
    alerts.send_webhook(job_id)


@shared_task(name="contextviz.replay")
def run_replay(*, job_id: str, **_: Any) -> None:
    """Replay a session by a context engine."""
    # By name: the engines and what they stand on are 27 MB, which a worker that only imports does not have to hold.
    import_module("contextviz.services.replay").execute_run(job_id)
    _index_behind()


@shared_task(name="contextviz.recover")
def recover(*, include_queued: bool = False, **_: Any) -> None:
    """Queue again what dead processes left."""
    for job_id in jobs.recover_stale(now=timezone.now(), include_queued=include_queued):
        enqueue(job_id)
    for job_id in inbox.open_waiting(now=timezone.now()):
        enqueue(job_id)
    _index_behind(with_sessions=include_queued)


def _call_webhooks() -> None:
    """Have the webhooks called of the alerts that were written just now, or that are due for another try."""
    for job_id in alerts.waiting_webhooks(now=timezone.now()):
        enqueue(job_id)


def _index_behind(*, with_sessions: bool = False) -> None:
    """Have the texts indexed that an import, a crash or an upgrade left for later."""
    job_id = indexing.open_if_waiting(now=timezone.now(), with_sessions=with_sessions)
    if job_id is not None:
        enqueue(job_id)


TASKS = {
    "digest": run_digest,
    "expand_summary": run_expand_summary,
    "retrieve_original": run_retrieve_original,
    "delete_session": run_delete_session,
    "index_texts": run_index_texts,
    "look_through": run_look_through,
    "send_webhook": run_send_webhook,
    "replay": run_replay,
}


def enqueue(job_id: UUID | str) -> None:
    """Tell a worker of a job, once its row is committed: `transaction.on_commit(partial(enqueue, job_id))`.

    It takes a second at most, and whatever keeps the broker from answering raises nothing: the row is there, and
    `recover` tells of it again. Raises NotFound.
    """
    try:
        task = TASKS[jobs.kind_of(job_id)]
    except DatabaseError as error:
        logger.warning("a job could not be looked at to tell a worker of it, it waits job=%s: %s", job_id, error)
        return
    if current_app.conf.task_always_eager:
        task.delay(job_id=str(job_id))
    else:
        TELLER.tell(partial(task.delay, job_id=str(job_id)), job=str(job_id))


@worker_ready.connect
def recover_at_start(sender: Any = None, **_: Any) -> None:
    """A worker begins with what was left by those before it, and looks again every half minute."""
    _recover_here(include_queued=True)
    _price_here()
    _beat_here()
    timer = getattr(sender, "timer", None)
    if timer is not None:
        timer.call_repeatedly(RECOVER_SECONDS, _recover_here)
        timer.call_repeatedly(FOLLOW_SECONDS, _follow_here)
        timer.call_repeatedly(workers.BEAT_SECONDS, _beat_here)
        timer.call_repeatedly(RETENTION_SECONDS, _remove_old_here)
        timer.call_repeatedly(STUCK_SECONDS, _look_for_stuck_here)


def _recover_here(*, include_queued: bool = False) -> None:
    try:
        recover(include_queued=include_queued)
    except Exception:
        logger.exception("what dead processes left could not be queued again")
    finally:
        connections.close_all()  # this is the worker's main process; its children must not inherit a connection


def _price_here() -> None:
    """A version with other prices than the last has them in every list from its first start on."""
    try:
        refresh_costs()
    except Exception:
        logger.exception("the costs of sessions could not be worked out again")
    finally:
        connections.close_all()


def _follow_here() -> None:
    try:
        _follower.follow_once(timezone.now(), enqueue)
    except Exception:
        logger.exception("growing files could not be looked at")
    finally:
        connections.close_all()


def _beat_here() -> None:
    try:
        workers.beat(now=timezone.now())
    except Exception:
        logger.exception("this worker could not say that it runs")
    finally:
        connections.close_all()


def _remove_old_here() -> None:
    try:
        for job_id in retention.remove_due(now=timezone.now()):
            enqueue(job_id)
        retention.forget_waiting_logs(now=timezone.now())
        live.forget_old(now=timezone.now())
        watching.forget_done(now=timezone.now())
    except Exception:
        logger.exception("old sessions could not be looked at")
    finally:
        connections.close_all()
        give_back()  # SQLite's cache of many rows; this process needs as much ten minutes from now at the earliest


def _look_for_stuck_here() -> None:
    try:
        alerts.look_for_stuck(now=timezone.now())
        _call_webhooks()
    except Exception:
        logger.exception("sessions that are stuck could not be looked for")
    finally:
        connections.close_all()
