from __future__ import annotations

import json

import pytest

from contextviz.analysis.replay import METRICS, CallOutput, Needs, needs_of, scorecard, sentences
from contextviz.tokens.prices import Price, PriceTable
from tests.analysis.replay.building import RunBuilder, said

IDS = [
    "retention", "reach", "staleness", "near_recall", "far_recall", "far_reach", "prefix_share", "rewrite_factor",
    "mean_window", "peak_window", "boundaries", "summariser_calls", "coverage", "billed_tokens", "cost",
]  # fmt: skip


def test_every_metric_has_its_id_unit_and_sentence() -> None:
    assert list(METRICS) == IDS
    lower = {id for id, spec in METRICS.items() if spec.better == "lower"}
    assert lower == {
        "staleness", "rewrite_factor", "mean_window", "peak_window", "boundaries", "summariser_calls",
        "billed_tokens", "cost",
    }  # fmt: skip
    assert all(spec.what.endswith(".") for spec in METRICS.values())


def test_a_small_run_by_hand() -> None:
    history = said(
        ("user", "src/far.py src/near.py"), ("tool", "much"), ("user", "src/near.py"),
        ("assistant", "src/far.py src/near.py"), tokens=[4, 12_000, 2, 4],
    )  # fmt: skip
    needs = needs_of(history, [1, 3])
    made = RunBuilder(window=100)
    first, last = made.item("user", "src/far.py src/near.py"), made.item("user", "src/near.py")
    made.call(first)
    made.drop(0, messages=1)
    made.turns(1, 1, 2, 2)
    made.call(last, is_over=True)
    prices = PriceTable("t", "2026-01-01", (Price("m", 1.0, 1.0, 1.0, 1.0),))
    card = scorecard(
        made.run, made.pool, history=history, needs=needs, outputs=[CallOutput(5, True, "m")] * 2, prices=prices
    )
    assert {id: card.value(id) for id in IDS} == {
        "retention": 0.5, "reach": 0.5, "staleness": 0.0, "near_recall": 1.0, "far_recall": 0.0, "far_reach": 0.0,
        "prefix_share": 0.0, "rewrite_factor": 1.5, "mean_window": 1.5, "peak_window": 2, "boundaries": 1,
        "summariser_calls": 0, "coverage": 0.0, "billed_tokens": 13, "cost": pytest.approx(13 / 1e6),
    }  # fmt: skip
    assert (card.thrash, card.overshoot) == (0, 1)
    assert list(sentences(card)) == ["1 window is beyond the budget."]
    assert json.loads(json.dumps(card.as_json()))["losses"]["states"]["lost"] == 1


def test_what_cannot_be_known_is_none_with_a_reason() -> None:
    card = scorecard(RunBuilder().run, RunBuilder().pool, history=[], needs=Needs())
    unknown = {id for id, metric in card.metrics.items() if metric.value is None}
    assert unknown == set(IDS) - {"boundaries", "summariser_calls"}
    assert all(card.metrics[id].note and card.metrics[id].basis == "unknown" for id in unknown)
    assert card.overshoot is None
