"""Asking for a replay: checked at once, done by a job, found again where it was asked for before."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from contextviz.engines.engine import EngineSpec
from contextviz.engines.material import NOTHING_TO_REPLAY
from contextviz.engines.registry import engines, named
from contextviz.engines.replay import MOST_TOKENS, RunRequest
from contextviz.engines.scoring.registry import DEFAULT as DEFAULT_SCORER
from contextviz.engines.scoring.registry import ScorerSpec, scorer_spec, scorers
from contextviz.engines.scoring.scorer import NoSuchScorer
from contextviz.engines.settings import Value, resolve
from contextviz.engines.summarising.registry import NoSuchSummariser
from contextviz.services.jobs import open_job
from contextviz.services.replay.summarisers import chosen, identity_of
from contextviz.services.yardstick import RECORDED
from contextviz.store.bulk import BIGGEST, bounded, clean_deep
from contextviz.store.models import MessageRecord, RunRecord, SessionRecord
from contextviz.store.queries import runs, sessions
from contextviz.store.viewing import current_viewer
from contextviz.tokens.estimators import ESTIMATORS

MOST_RUNS = 40
MOST_SETTINGS = 100
MOST_SETTING_CHARS = 200
NO_WINDOWS = "The session's source holds no context windows, so it cannot be replayed as recorded."


class ReplayRefused(Exception):
    """It cannot be done; the text is a sentence for a person."""


class TooManyRuns(ReplayRefused):
    """The session has as many replays as it may."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What a run is to be measured with; None is the session's own. `window`, `reserve` and `system_tokens` in
    tokens."""

    window: int | None = None
    reserve: int | None = None
    system_tokens: int | None = None
    estimator: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The run, and the job that does it. Where it `is_new` (asked for now, or again after it had failed) the job is to
    be enqueued after commit; else the same was asked before. `job_id` is None where that job's row is gone. `notes` say
    what of this request's settings was clamped or left out, also where the run is of another request."""

    run_id: UUID
    job_id: UUID | None
    is_new: bool
    notes: tuple[str, ...] = ()


def catalogue() -> list[EngineSpec]:
    """Every engine in every version, with its settings and how exact each part of it is."""
    return [engine.spec for engine in engines()]


def scorer_specs() -> list[ScorerSpec]:
    """What stands in for an index of embeddings, as far as it is installed here, the default first."""
    return scorers()


def start_run(
    session_id: int, engine: str, settings: Mapping[str, Any] | None = None, *, measure: Measure = Measure(),
    summariser: str = "", scorer: str = "", now: datetime,
) -> Started:  # fmt: skip
    """Ask for a replay of a session by the engine of an id or key (`flowctx`, `flowctx@port-0.1.0`).

    The same request for the same state of the session gives the run that there is. Raises NotFound, NoSuchEngine,
    ReplayRefused.
    """
    row = sessions.get_session(session_id)
    spec = named(engine).spec
    given = checked(settings or {}, measure)
    if not row.message_count:
        raise ReplayRefused("This session has no messages, so there is nothing to replay.")
    if not row.call_count and not has_speakers(session_id):
        raise ReplayRefused(NOTHING_TO_REPLAY)
    if spec.id == RECORDED and not row.snapshot_count:
        raise ReplayRefused(NO_WINDOWS)
    try:
        # Also for engines without one: a name that means nothing is a mistake.
        summarise, likeness = chosen(summariser), scorer_spec(scorer or DEFAULT_SCORER).id
    except (NoSuchSummariser, NoSuchScorer) as error:
        raise ReplayRefused(str(error)) from error
    values, notes = resolve(spec.settings, given)
    by = identity_of(summarise) if spec.uses_summariser else None
    likeness = likeness if spec.uses_scorer else ""
    key = config_hash(spec, values, measure, by, likeness or None, row.revision)
    params = {
        "engine": spec.key, "settings": given, "measure": asdict(measure), "summariser": summariser,
        "scorer": likeness,
        "title": f"{spec.label}: {row.title or row.source_id}",
    }  # fmt: skip
    record = RunRecord(
        session_id=session_id, config_hash=key, session_revision=row.revision, engine=bounded(spec.id, 64),
        version=bounded(spec.version, 64), label=bounded(spec.label, 200), settings=clean_deep(values),
        asked=asdict(measure), qualities=clean_deep(dict(spec.qualities)),
        summariser=bounded(summarise.id, 200) if spec.uses_summariser else "", scorer=likeness,
        person_id=current_viewer().user_id, created_at=now,
    )  # fmt: skip
    with transaction.atomic():
        # One at a time a session, so that two who ask for the same at once get the same run.
        SessionRecord.objects.select_for_update().filter(pk=session_id).first()
        started = _found_again(record, params, now) or _opened(record, params, now)
    return replace(started, notes=tuple(notes))


def checked(settings: Mapping[str, Any], measure: Measure) -> dict[str, Any]:
    """The settings as plain values; raises ReplayRefused for what is none, too many or too long."""
    if len(settings) > MOST_SETTINGS:
        raise ReplayRefused(f"These are {len(settings):,} settings; no engine has more than {MOST_SETTINGS}.")
    for name, value in settings.items():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise ReplayRefused(f"The setting {name[:60]!r} is a number, a word, or true or false; this is none.")
        if isinstance(value, int | float) and not -BIGGEST <= value <= BIGGEST:  # nor a float that is no number
            raise ReplayRefused(f"The setting {name[:60]!r} is a number that nothing counts in.")
        if len(name) > MOST_SETTING_CHARS or (isinstance(value, str) and len(value) > MOST_SETTING_CHARS):
            raise ReplayRefused(f"The setting {name[:60]!r} is longer than {MOST_SETTING_CHARS} characters.")
    for name in ("window", "reserve", "system_tokens"):
        tokens = getattr(measure, name)
        if tokens is not None and not 0 <= tokens <= MOST_TOKENS:
            raise ReplayRefused(f"{name} is 0 to {MOST_TOKENS:,} tokens, not {tokens:,}.")
    if measure.estimator is not None and measure.estimator not in ESTIMATORS:
        raise ReplayRefused(
            f"There is no estimator {measure.estimator[:60]!r}. There are: {', '.join(sorted(ESTIMATORS))}."
        )
    return {name: value for name, value in settings.items() if value is not None}


def has_speakers(session_id: int) -> bool:
    """Whether a user or a model says anything in a session: a replay takes its calls from these, where the session
    reports none."""
    return MessageRecord.objects.filter(session_id=session_id, role__in=("user", "assistant")).exists()


def config_hash(
    spec: EngineSpec, settings: Mapping[str, Value], measure: Measure, summariser: Mapping[str, Any] | None,
    scorer: str | None, revision: int,
) -> str:  # fmt: skip
    """What makes two requests one: engine and version, settings, measure, summariser, scorer, the session's state."""
    parts = [spec.key, dict(settings), asdict(measure), summariser, scorer, revision]
    return hashlib.sha256(orjson.dumps(clean_deep(parts), option=orjson.OPT_SORT_KEYS)).hexdigest()


def request_of(params: Mapping[str, Any]) -> RunRequest:
    """What the job of a run is to replay with."""
    measure = Measure(**params["measure"])
    return RunRequest(
        params["settings"], measure.window, measure.reserve, measure.system_tokens, measure.estimator
    )  # fmt: skip


def _found_again(record: RunRecord, params: Mapping[str, Any], now: datetime) -> Started | None:
    known = runs.find_by_config(record.session_id, record.config_hash)
    if known is None:
        return None
    if known.is_done or known.state in ("queued", "running"):
        return Started(known.id, known.job_id, is_new=False)
    # It had failed, or was cancelled: the same run by a job of its own.
    job_id = _job(record, params, now)
    RunRecord.objects.filter(pk=known.id).update(job=job_id, created_at=now)
    return Started(known.id, job_id, is_new=True)


def _opened(record: RunRecord, params: Mapping[str, Any], now: datetime) -> Started:
    if RunRecord.objects.filter(session_id=record.session_id).count() >= MOST_RUNS:
        raise TooManyRuns(f"This session has {MOST_RUNS} replays, which is the most. Delete one first.")
    record.job_id = _job(record, params, now)
    record.save(force_insert=True)
    return Started(record.pk, record.job_id, is_new=True)


def _job(record: RunRecord, params: Mapping[str, Any], now: datetime) -> UUID:
    return open_job("replay", now=now, params=dict(params), session_id=record.session_id)
