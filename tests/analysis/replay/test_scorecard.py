from __future__ import annotations

import json
from dataclasses import replace

import pytest

from contextviz.analysis.replay import METRICS, CallOutput, Needs, SummaryCalls, needs_of, scorecard, sentences
from contextviz.analysis.replay.scorecard import NO_WINDOW
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
    made.run.measured = replace(made.run.measured, window=1, system_tokens=0, reserve=0)
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
    assert {id: metric.count for id, metric in card.metrics.items() if metric.count is not None} == {
        "near_recall": 1, "far_recall": 1, "far_reach": 1,
    }  # fmt: skip
    assert {card.metrics[id].basis for id in ("billed_tokens", "cost", "mean_window")} == {"estimated"}
    assert list(sentences(card)) == ["1 window is beyond the budget."]
    assert json.loads(json.dumps(card.as_json()))["losses"]["states"]["lost"] == 1


def test_what_cannot_be_known_is_none_with_a_reason() -> None:
    card = scorecard(RunBuilder().run, RunBuilder().pool, history=[], needs=Needs())
    unknown = {id for id, metric in card.metrics.items() if metric.value is None}
    assert unknown == set(IDS) - {"boundaries", "summariser_calls"}
    assert all(card.metrics[id].note and card.metrics[id].basis == "unknown" for id in unknown)
    assert card.overshoot is None


def test_a_run_without_any_window_knows_nothing_that_is_read_from_windows() -> None:
    history = said(("user", "src/far.py"), ("tool", "much"), ("assistant", "src/far.py"), tokens=[2, 12_000, 2])
    made = RunBuilder(window=100, system_tokens=50)
    made.call(messages=2)
    made.call(messages=3)
    prices = PriceTable("t", "2026-01-01", (Price("m", 1.0, 1.0, 1.0, 1.0),))

    card = scorecard(
        made.run, made.pool, history=history, needs=needs_of(history, [2, 3]), prices=prices,
        outputs=[CallOutput(5, True, "m")] * 2, summaries=SummaryCalls(7, "The session's own."),
    )  # fmt: skip

    known = {id for id, metric in card.metrics.items() if metric.value is not None}
    assert known == {"summariser_calls"} and card.value("summariser_calls") == 7
    for id in set(IDS) - known:
        assert (card.metrics[id].basis, card.metrics[id].note) == ("unknown", NO_WINDOW)
    assert card.metrics["far_recall"].count == 1, "what was needed is known all the same"
    assert (card.overshoot, card.recall.total_missed, card.recall.of_call(0)) == (None, 0, None)
    told = json.loads(json.dumps(card.as_json()))
    assert told["bill"] == dict.fromkeys(("cache_read", "written", "output", "unpriced_calls"))
    assert (told["thrash"], told["prefix"]["breaks"], told["losses"]["states"]["lost"]) == (None, None, None)
    assert [band["found"] for band in told["needs"]["bands"]] == [None] * 4


def test_summaries_that_nothing_counts_are_not_none() -> None:
    made = RunBuilder()
    made.call(made.item("user", "a"))
    card = scorecard(made.run, made.pool, history=[], needs=Needs(), summaries=SummaryCalls(None, "Not written."))
    assert (card.value("summariser_calls"), card.metrics["summariser_calls"].note) == (None, "Not written.")
    assert scorecard(made.run, made.pool, history=[], needs=Needs()).value("summariser_calls") == 0
