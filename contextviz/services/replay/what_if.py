"""What another setting would cut, shown at once: a replay by rules alone, within a bound of size and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contextviz.engines.material import NOTHING_TO_REPLAY, Material
from contextviz.engines.oracle import Oracle
from contextviz.engines.registry import named
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.scoring.registry import DEFAULT as DEFAULT_SCORER
from contextviz.engines.scoring.registry import scorer as scorer_of
from contextviz.engines.scoring.scorer import NoSuchScorer, Scorer
from contextviz.engines.summaries import Summariser
from contextviz.engines.summarising.registry import NoSuchSummariser
from contextviz.events.run import Plain, Run, RunBoundary, RunSettings
from contextviz.services.export.sizes import text_bytes
from contextviz.services.replay.endpoint import EndpointSummariser
from contextviz.services.replay.loading import NotReplayable, load
from contextviz.services.replay.scoring import yardstick_of
from contextviz.services.replay.starting import Measure, ReplayRefused, checked
from contextviz.services.replay.summarisers import by_rule, chosen
from contextviz.services.yardstick import with_foreknowledge
from contextviz.store.queries import sessions

MOST_MESSAGES = 3_000
MOST_TEXT_BYTES = 8 * 1024 * 1024
MOST_SECONDS = 3.0
MOST_CUTS = 200
MOST_EVICTED = 50


class NeedsJob(Exception):
    """It takes longer than a page may; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A message that a cut took out of the window: its `seq` in the replay, its index in the session (None: it has
    none), its estimated tokens."""

    seq: int
    message: int | None
    role: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A point at which something leaves the window: before the call `call` (an index; None: after the last), when
    `messages` had been read. Tokens before and after are the engine's own numbers. `evicted` are the first 50 of
    `evicted_count`, which have `evicted_tokens` together."""

    number: int
    call: int | None
    messages: int
    kind: str
    trigger: str | None
    reason: str | None
    tokens_before: int | None
    tokens_after: int | None
    evicted: list[Evicted]
    evicted_count: int
    evicted_tokens: int


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What would be: by the engine `key` as `settings` came to be, `over` of `calls` beyond the budget, windows up to
    `peak_tokens` (None without calls). `cuts` are the first 200 of `cut_count`."""

    key: str
    label: str
    settings: dict[str, Plain]
    measured: RunSettings
    notes: list[str]
    qualities: dict[str, str]
    calls: int
    over: int
    peak_tokens: int | None
    cuts: list[Cut]
    cut_count: int
    summariser: str | None = None
    scorer: str | None = None


def preview(
    session_id: int, engine: str, settings: Mapping[str, Any] | None = None, *, measure: Measure = Measure(),  # noqa: B008
    summariser: str = "", scorer: str = "",
) -> WhatIf:  # fmt: skip
    """The cuts that an engine would make in a session; nothing is kept. Summaries and likeness are by the rules that
    `summariser` and `scorer` name (the defaults where empty); an endpoint is never asked, so that notes stand in for
    it, and the default for a scorer that is not installed. The result says which it was.

    Raises NotFound, NoSuchEngine, ReplayRefused, and NeedsJob where the session is long or the replay takes more than
    three seconds.
    """
    row = sessions.get_session(session_id)
    kind = named(engine)
    given = checked(settings or {}, measure)
    if row.message_count > MOST_MESSAGES or text_bytes(session_id) > MOST_TEXT_BYTES:
        raise NeedsJob(
            f"This session has {row.message_count:,} messages; up to {MOST_MESSAGES:,} of them, and 8 MB of text, are"
            " replayed at once. Start a replay, which is done in the background."
        )
    until = time.monotonic() + MOST_SECONDS
    try:
        loaded = load(session_id)
    except NotReplayable as error:
        raise ReplayRefused(str(error)) from error
    if not loaded.material.points:
        raise ReplayRefused(NOTHING_TO_REPLAY)
    request = RunRequest(given, measure.window, measure.reserve, measure.system_tokens, measure.estimator)
    material = loaded.material
    if kind is Oracle:
        material = with_foreknowledge(material, yardstick_of(loaded, request))
    made = replay(
        material, kind, request, pool=loaded.pool, summarise=_summariser(summariser, material),
        scorer=_scorer(scorer), progress=_stopping_at(until),
    )  # fmt: skip
    return _shown(made)


def _summariser(name: str, material: Material) -> Summariser:
    try:
        return by_rule(material) if name == EndpointSummariser.id else chosen(name, material)
    except NoSuchSummariser:  # of a run from before it was removed
        return by_rule(material)


def _scorer(name: str) -> Callable[[], Scorer]:
    try:
        return scorer_of(name or DEFAULT_SCORER)
    except NoSuchScorer:
        return scorer_of(DEFAULT_SCORER)


def _stopping_at(until: float) -> Callable[[int, int], None]:
    def told(done: int, total: int) -> None:
        if time.monotonic() > until and done < total:
            raise NeedsJob(
                f"After three seconds {done:,} of {total:,} messages were replayed. Start a replay, which is done in"
                " the background."
            )

    return told


def _shown(made: Run) -> WhatIf:
    return WhatIf(
        made.key, made.label, dict(made.settings), made.measured, list(made.notes), dict(made.qualities),
        len(made.calls), sum(call.is_over for call in made.calls),
        max((call.tokens for call in made.calls), default=None),
        [_cut(made, boundary) for boundary in made.boundaries[:MOST_CUTS]], len(made.boundaries),
        made.summariser, made.scorer,
    )  # fmt: skip


def _cut(made: Run, boundary: RunBoundary) -> Cut:
    event = boundary.compaction
    gone = [made.messages[seq] for seq in boundary.dropped if 0 <= seq < len(made.messages)]
    return Cut(
        event.number, event.after_call, boundary.messages, event.kind, event.trigger, event.summary_note,
        event.tokens_before, event.tokens_after,
        [Evicted(one.seq, one.source_index, one.role, one.tokens) for one in gone[:MOST_EVICTED]], len(gone),
        sum(one.tokens for one in gone),
    )  # fmt: skip
