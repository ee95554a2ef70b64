"""Replays of a session, each with its scorecard: engines run, analysis measures, and neither knows the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextviz.analysis.replay import Scorecard, scorecard
from contextviz.cli.replay.asked import Chosen, Unusable
from contextviz.cli.replay.reading import Opened
from contextviz.engines.material import NOTHING_TO_REPLAY, Material
from contextviz.engines.replay import measured_with, replay
from contextviz.engines.scoring.registry import DEFAULT as DEFAULT_SCORER
from contextviz.engines.scoring.registry import scorer
from contextviz.engines.scoring.scorer import NoSuchScorer
from contextviz.engines.summarising.registry import summariser
from contextviz.events.run import Run
from contextviz.services.yardstick import Yardstick, with_foreknowledge, yardstick
from contextviz.tokens.prices import shipped


@dataclass(frozen=True, slots=True)
class Measured:
    """A replay and what it is worth."""

    run: Run
    card: Scorecard


def replayed(
    opened: Opened, engines: Sequence[Chosen], summarise: str, likeness: str = DEFAULT_SCORER
) -> Iterator[Run]:
    """Replay the session by each engine, in their order; `summarise` is a summariser's id, `likeness` a scorer's."""
    for run, _ in _runs(opened, engines, summarise, likeness):
        yield run


def measured(
    opened: Opened, engines: Sequence[Chosen], summarise: str, likeness: str = DEFAULT_SCORER
) -> Iterator[Measured]:
    """Replay the session by each engine, in their order, and measure it."""
    root = opened.transcript.session.cwd
    for run, known in _runs(opened, engines, summarise, likeness):
        card = scorecard(
            run, opened.pool, history=known.history, needs=known.needs, outputs=known.outputs, prices=shipped(),
            root=root, summaries=known.summaries_of(run),
        )  # fmt: skip
        yield Measured(run, card)


def _runs(opened: Opened, engines: Sequence[Chosen], summarise: str, likeness: str) -> Iterator[tuple[Run, Yardstick]]:
    if not opened.material.points:
        raise Unusable(NOTHING_TO_REPLAY)
    known: dict[str, tuple[Yardstick, Material]] = {}
    for one in engines:
        estimator = measured_with(one.request, opened.material).estimator
        if estimator not in known:
            measure = yardstick(
                opened.transcript, opened.material, estimator=estimator, counted_by=opened.pool.estimator
            )
            known[estimator] = (measure, with_foreknowledge(opened.material, measure))
        measure, material = known[estimator]
        made = summariser(summarise, material)
        try:
            run = replay(
                material, one.engine, one.request, pool=opened.pool, summarise=made, scorer=scorer(likeness)
            )  # fmt: skip
        except NoSuchScorer as error:  # installed, and its files cannot be read
            raise Unusable(str(error)) from error
        yield run, measure
