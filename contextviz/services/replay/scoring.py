"""A run's scorecard as it is kept with it."""

from __future__ import annotations

from typing import Any

from contextviz.analysis.replay import Missed, scorecard, sentences
from contextviz.engines.replay import RunRequest, measured_with
from contextviz.events.run import Run
from contextviz.services.budget.prices import price_table
from contextviz.services.replay.loading import Loaded
from contextviz.services.yardstick import Yardstick, yardstick
from contextviz.tokens.estimate import ESTIMATOR

MOST_MISSED = 100  # kept with the scorecard; all are counted


def yardstick_of(loaded: Loaded, request: RunRequest) -> Yardstick:
    """What a run is held against, counted by its estimator."""
    estimator = measured_with(request, loaded.material).estimator
    return yardstick(loaded.transcript, loaded.material, estimator=estimator, counted_by=ESTIMATOR)


def scored(run: Run, loaded: Loaded, known: Yardstick) -> dict[str, Any]:
    """The scorecard as plain values: Scorecard.as_json of analysis.replay, `sentences`, the first needs `missed`."""
    card = scorecard(
        run, loaded.pool, history=known.history, needs=known.needs, outputs=known.outputs, prices=price_table(),
        root=loaded.transcript.session.cwd, summaries=known.summaries_of(run),
    )  # fmt: skip
    missed = [_missed(one) for one in card.recall.missed[:MOST_MISSED]]
    return {
        **card.as_json(), "sentences": list(sentences(card)), "missed": missed,
        "missed_count": card.recall.total_missed if card.recall.is_known else None,
    }  # fmt: skip


def _missed(one: Missed) -> dict[str, Any]:
    return {
        "call": one.call, "kind": one.need.kind, "text": one.need.spellings[0], "seq": one.need.seq,
        "distance": one.need.distance,
    }  # fmt: skip
