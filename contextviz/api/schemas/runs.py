"""Replays: runs of a session by context engines, and the engines there are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import ConfigDict, Field

from contextviz.api.params import NO_NUL
from contextviz.api.replies import Bodies
from contextviz.api.schemas.folds import Summary, summary_of
from contextviz.api.schemas.work import bounded_value
from contextviz.api.shapes import Name, Text, Tokens, Words
from contextviz.engines.engine import EngineSpec
from contextviz.engines.replay import MOST_TOKENS
from contextviz.engines.scoring.registry import ScorerSpec
from contextviz.engines.settings import Setting
from contextviz.engines.summarising.registry import SummariserSpec
from contextviz.events.compaction import SummaryNode
from contextviz.events.run import RunBoundary, RunCall, RunMessage, RunOriginal
from contextviz.services.replay.starting import MOST_SETTING_CHARS, MOST_SETTINGS
from contextviz.store.queries.runs import RunRow

MOST_DROPPED = 200
MOST_NODES = 200
TokensAsked = Annotated[int, Field(strict=True, ge=0, le=MOST_TOKENS)] | None  # nor true for 1, nor "10"
SettingName = Annotated[str, Field(max_length=MOST_SETTING_CHARS, pattern=NO_NUL)]
SettingWord = Annotated[str, Field(max_length=MOST_SETTING_CHARS, pattern=NO_NUL)]


class Replay(Schema):
    """A replay of the session by an engine. `state` is its job's; until it is done there are no counts and no `hash`,
    which two runs of one replay agree in. `is_stale`: the session has changed since. `metrics` are the scorecard's
    values by id, null where unknown."""

    id: UUID
    kind: Literal["replay"]
    session: int
    engine: Name
    version: Name
    label: Name
    state: str
    outcome: Words
    job: UUID | None
    is_stale: bool
    created_at: datetime
    finished_at: datetime | None
    settings: dict[str, Any]
    summariser: Name | None
    calls: int | None
    messages: int | None
    boundaries: int | None
    summaries: int | None
    originals: int | None
    summariser_calls: int | None
    hash: str | None
    metrics: dict[str, float | None]


class Measured(Schema):
    """What a run was measured with, in tokens; `basis` says by name where each comes from."""

    window: int
    reserve: int
    system_tokens: int
    estimator: str
    basis: dict[str, str]


class ReplayDetail(Replay):
    """One replay with how exact each part of its engine is (`qualities`), what was clamped, left out or simulated
    (`notes`), and its scorecard (docs/metrics of the same ids)."""

    asked: dict[str, Any]
    measured: Measured | None
    qualities: dict[str, str]
    scorer: Name | None
    notes: list[Words]
    scorecard: dict[str, Any]


class ReplayWanted(Schema):
    """What to replay by: an engine's id or key (`GET /engines`), its settings by name, and what the run is measured
    with (null: the session's own). A key that is none of these is refused."""

    model_config = ConfigDict(extra="forbid")

    engine: str = Field(min_length=1, max_length=130, pattern=NO_NUL)
    settings: dict[SettingName, bool | int | float | SettingWord | None] = Field({}, max_length=MOST_SETTINGS)
    window: TokensAsked = None
    reserve: TokensAsked = None
    system_tokens: TokensAsked = None
    estimator: str | None = Field(None, max_length=100, pattern=NO_NUL)
    summariser: str = Field("", max_length=100, pattern=NO_NUL)
    scorer: str = Field("", max_length=100, pattern=NO_NUL)


class RunOpened(Schema):
    """The run, and the job that does it. Not `is_new`: the same was asked before, and this is its run. `notes` say what
    of this request's settings was clamped or left out."""

    run: UUID
    job: UUID | None
    is_new: bool
    notes: list[Words]


class RunDeleted(Schema):
    """The run that is gone."""

    run: UUID


class ReplayCall(Schema):
    """One call of a run, numbered from 1. `messages` had been read; `model_call` is the number of the session's own
    call, null where the point follows from the messages. `tokens` are the window's by the run's estimator without the
    system prompt, `engine_tokens` the engine's own number; the first `kept_items` are those of the window before."""

    number: int
    messages: int
    model_call: int | None
    items: int
    tokens: Tokens
    engine_tokens: Tokens
    kept_items: int
    kept_tokens: Tokens
    broken_by: Words | None
    is_over: bool
    mode: Name | None
    hash: str


class Boundary(Schema):
    """Where something left the window. Tokens are the engine's own, by the estimator `basis`. `dropped` are indexes of
    the session's messages, the first 200 of `dropped_count`; `nodes` the first 200 summaries that stand for them."""

    number: int
    kind: str
    trigger: Words | None
    reason: Words | None
    at: datetime | None
    before_call: int | None
    after_call: int | None
    messages: int
    tokens_before: Tokens
    tokens_after: Tokens
    basis: str
    summary: Text | None
    dropped: list[int]
    dropped_count: int
    nodes: list[Name]
    summariser_calls: int


class RunOriginalFound(Schema):
    """The text that a handle of the run stands for, and the index of the message it was in (null: none)."""

    handle: Name
    message: int | None
    text: Text


class EngineSetting(Schema):
    """A setting of an engine. Outside of `least` to `most` it is clamped, with a note. `is_what_if`: its effect on the
    cuts can be shown at once."""

    key: str
    kind: str
    default: bool | int | float | str
    least: float | None
    most: float | None
    choices: list[str]
    unit: str
    help: str
    is_what_if: bool


class Engine(Schema):
    """An engine in one version. `qualities` say part by part whether its rule is exact, derived or simulated."""

    key: str
    id: str
    version: str
    label: str
    summary: str
    section: str
    qualities: dict[str, str]
    simulated: str
    uses_summariser: bool
    uses_scorer: bool
    is_baseline: bool
    settings: list[EngineSetting]


class SummariserOffered(Schema):
    """A summariser that a replay may have."""

    id: str
    label: str
    help: str


class ScorerOffered(Schema):
    """What a replay may find texts by likeness with."""

    id: str
    label: str
    help: str


class Engines(Schema):
    """Every engine in every version, and the summarisers and scorers for those that use one, the default first."""

    engines: list[Engine]
    summarisers: list[SummariserOffered]
    scorers: list[ScorerOffered]


def replay_of(row: RunRow) -> Replay:
    """A run as lists show it."""
    return Replay(**_values(row))


def detail_of(row: RunRow) -> ReplayDetail:
    """One run with everything that was measured."""
    made = row.measured
    measured = None if made is None else Measured(
        window=made.window, reserve=made.reserve, system_tokens=made.system_tokens, estimator=made.estimator,
        basis=made.basis,
    )  # fmt: skip
    return ReplayDetail(
        **_values(row), asked=bounded_value(row.asked), measured=measured, qualities=row.qualities, scorer=row.scorer,
        notes=row.notes, scorecard=bounded_value(row.scorecard),
    )  # fmt: skip


def call_of(call: RunCall) -> ReplayCall:
    """A call as lists show it."""
    return ReplayCall(
        number=call.index + 1, messages=call.messages,
        model_call=None if call.model_call is None else call.model_call + 1, items=call.items,
        tokens=Tokens.of(call.tokens, "estimated"), engine_tokens=Tokens.of(call.engine_tokens, "estimated"),
        kept_items=call.kept_items, kept_tokens=Tokens.of(call.kept_tokens, "estimated"), broken_by=call.broken_by,
        is_over=call.is_over, mode=call.mode, hash=call.hash,
    )  # fmt: skip


def boundary_of(boundary: RunBoundary, messages: Mapping[int, RunMessage], bodies: Bodies) -> Boundary:
    """A boundary as lists show it; `messages` by seq are those that it dropped first."""
    made = boundary.compaction
    found = (messages.get(seq) for seq in boundary.dropped[:MOST_DROPPED])
    return Boundary(
        number=made.number, kind=made.kind, trigger=made.trigger, reason=made.summary_note, at=made.at,
        before_call=None if made.before_call is None else made.before_call + 1,
        after_call=None if made.after_call is None else made.after_call + 1, messages=boundary.messages,
        tokens_before=Tokens.of(made.tokens_before, "estimated"),
        tokens_after=Tokens.of(made.tokens_after, "estimated"), basis=boundary.basis, summary=bodies.find(made.summary),
        dropped=[one.source_index for one in found if one is not None and one.source_index is not None],
        dropped_count=len(boundary.dropped), nodes=list(boundary.nodes[:MOST_NODES]),
        summariser_calls=boundary.summariser_calls,
    )  # fmt: skip


def node_of(node: SummaryNode, bodies: Bodies) -> Summary:
    """A summary that the engine made; its number of tokens is counted, not reported."""
    shown = summary_of(node, bodies)
    shown.tokens = Tokens.of(node.tokens, "estimated")
    return shown


def original_of(found: RunOriginal, message: RunMessage | None, bodies: Bodies) -> RunOriginalFound:
    """What a handle stands for."""
    index = None if message is None else message.source_index
    return RunOriginalFound(handle=found.handle, message=index, text=bodies.text(found.text))


def engines_of(specs: list[EngineSpec], summarisers: list[SummariserSpec], scorers: list[ScorerSpec]) -> Engines:
    """What a replay can be asked for."""
    return Engines(
        engines=[_engine(spec) for spec in specs],
        summarisers=[SummariserOffered(id=one.id, label=one.label, help=one.help) for one in summarisers],
        scorers=[ScorerOffered(id=one.id, label=one.label, help=one.help) for one in scorers],
    )


def _engine(spec: EngineSpec) -> Engine:
    return Engine(
        key=spec.key, id=spec.id, version=spec.version, label=spec.label, summary=spec.summary, section=spec.section,
        qualities=dict(spec.qualities), simulated=spec.simulated, uses_summariser=spec.uses_summariser,
        uses_scorer=spec.uses_scorer, is_baseline=spec.is_baseline, settings=[_setting(one) for one in spec.settings],
    )  # fmt: skip


def _setting(one: Setting) -> EngineSetting:
    return EngineSetting(
        key=one.key, kind=one.kind, default=one.default, least=one.least, most=one.most, choices=list(one.choices),
        unit=one.unit, help=one.help, is_what_if=one.is_what_if,
    )  # fmt: skip


def _values(row: RunRow) -> dict[str, Any]:
    def counted(number: int) -> int | None:
        return number if row.is_done else None

    metrics = row.scorecard.get("metrics", {})
    # Of what was recorded the scorecard knows it, or that nothing does
    asked = metrics.get("summariser_calls", {}).get("value", row.summariser_calls)
    return {
        "id": row.id, "kind": "replay", "session": row.session_id, "engine": row.engine, "version": row.version,
        "label": row.label, "state": row.state, "outcome": row.outcome, "job": row.job_id, "is_stale": row.is_stale,
        "created_at": row.created_at, "finished_at": row.finished_at, "settings": bounded_value(row.settings),
        "summariser": row.summariser, "calls": counted(row.call_count), "messages": counted(row.message_count),
        "boundaries": counted(row.boundary_count), "summaries": counted(row.node_count),
        "originals": counted(row.original_count), "summariser_calls": asked if row.is_done else None,
        "hash": row.hash or None, "metrics": {name: one.get("value") for name, one in metrics.items()},
    }  # fmt: skip
