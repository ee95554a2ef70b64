"""Doing a replay: the session read, the engine run, the run scored and saved whole.

A worker that is killed leaves nothing of the run; the next one replays it from the start, and since a replay is
deterministic it comes to the same hash.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from contextviz.analysis.composition.categories import category_of
from contextviz.charts import words
from contextviz.engines.material import NOTHING_TO_REPLAY
from contextviz.engines.oracle import Oracle
from contextviz.engines.recording import failures_of
from contextviz.engines.registry import NoSuchEngine, named
from contextviz.engines.replay import replay
from contextviz.engines.scoring.registry import DEFAULT as DEFAULT_SCORER
from contextviz.engines.scoring.registry import scorer
from contextviz.engines.scoring.scorer import NoSuchScorer
from contextviz.engines.summaries import SummariserFailed
from contextviz.engines.summarising.registry import NoSuchSummariser
from contextviz.events.run import Run
from contextviz.services.cleaning import drop_unused_texts
from contextviz.services.indexing import index_fresh
from contextviz.services.jobs import JobFailed, JobRun, perform
from contextviz.services.replay.loading import Loaded, NotReplayable, load
from contextviz.services.replay.scoring import scored, yardstick_of
from contextviz.services.replay.starting import request_of
from contextviz.services.replay.summarisers import Remembering, summariser_for
from contextviz.services.yardstick import Yardstick, with_foreknowledge
from contextviz.store import search
from contextviz.store.models import RunRecord
from contextviz.store.runs import RunGone, SessionChanged, save_run
from contextviz.store.texts import StoreTextPool, ids_of
from contextviz.store.values import NotFound
from contextviz.store.writes import MissingTexts

SAVES = 3
CHANGED = "The session has changed since this was asked for. Start the replay again."


def execute_run(job_id: UUID | str) -> bool:
    """Do the job of a run; its result is `{run, hash}`. False where another process has it or it has ended."""
    return perform(job_id, _execute)


def _execute(job: JobRun) -> str:
    record = RunRecord.objects.filter(job_id=job.id).first()
    if record is None:
        raise JobFailed("This run was deleted, or its session was.", can_retry=False)
    if record.finished_at is None:  # else its worker was killed between saving it and saying so
        _replay(job, record)
        record.refresh_from_db()
    job.result = {"run": str(record.pk), "hash": record.hash}
    return (
        f"Replayed {words.counted(record.message_count, 'message')} by {record.label}:"
        f" {words.counted(record.call_count, 'call')}, {words.counted(record.boundary_count, 'compaction')}."
    )


def _replay(job: JobRun, record: RunRecord) -> None:
    job.progress(0, force=True)
    try:
        loaded = load(record.session_id)
        if loaded.revision != record.session_revision:
            raise JobFailed(CHANGED, can_retry=False)
        if not loaded.material.points:  # its speakers are sub-agents
            raise JobFailed(NOTHING_TO_REPLAY, can_retry=False)
        known = yardstick_of(loaded, request_of(job.params))
        made = _made(job, record, loaded, known)
        card = scored(made, loaded, known)
        job.progress(len(made.messages), len(made.messages), force=True)
        before = search.last_pack()
        _save(record, made, loaded, card)
        # What the engine wrote stands in no message, but a text without an index would look like one left behind.
        index_fresh(before, lambda: None)
    except (NotFound, NoSuchEngine, NoSuchSummariser, NoSuchScorer) as error:
        raise JobFailed(str(error), can_retry=False) from error
    except NotReplayable as error:
        raise JobFailed(str(error), can_retry=error.can_retry) from error
    except SummariserFailed as error:
        raise JobFailed(str(error)) from error


def _made(job: JobRun, record: RunRecord, loaded: Loaded, known: Yardstick) -> Run:
    engine = named(str(job.params["engine"]))
    material = with_foreknowledge(loaded.material, known) if engine is Oracle else loaded.material
    read = 0

    def tell(done: int, total: int) -> None:
        nonlocal read
        read = done
        job.progress(done, total)

    def look() -> None:
        job.progress(read)  # raises JobCancelled, also while an endpoint is waited for

    summarise = summariser_for(str(job.params["summariser"]), record.session_id, material, look)
    likeness = scorer(str(job.params.get("scorer") or DEFAULT_SCORER))  # not in jobs from before there was a choice
    try:
        made = replay(
            material, engine, request_of(job.params), pool=loaded.pool, summarise=summarise,
            scorer=likeness, progress=tell,
        )  # fmt: skip
    finally:
        told = summarise.close() if isinstance(summarise, Remembering) else None
    if told is not None and made.summariser is not None:
        made.notes.append(told)
        if made.summariser_calls and sum(made.failed_summaries.values()) == made.summariser_calls:
            # By an endpoint that answers it would be another run; by a rule that has nothing to say it would not.
            raise JobFailed(failures_of(made))
    return made


def _save(record: RunRecord, made: Run, loaded: Loaded, card: dict[str, object]) -> None:
    categories = [str(category_of(item)) for item in made.log.table.items]
    for attempt in range(1, SAVES + 1):
        pool = StoreTextPool()
        try:
            loaded.pool.keep(pool)
            pool.flush()
            with transaction.atomic():
                save_run(record.pk, made, categories, revision=loaded.revision, scorecard=card, now=timezone.now())
            return
        except MissingTexts:
            # Somebody deleted the session that brought them, between the look and the save.
            if attempt == SAVES:
                raise
        except (RunGone, SessionChanged) as error:
            drop_unused_texts(ids_of(loaded.pool.made).values())
            raise JobFailed(str(error), can_retry=False) from error
        finally:
            pool.close()
