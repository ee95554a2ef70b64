"""What `replay` and `score` say of what is unknown, and of what rests on little."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from contextviz.cli.replay import scoring
from contextviz.engines.reading import material_of
from contextviz.services.demo.lossless import write_lossless
from contextviz.services.yardstick import yardstick
from contextviz.tokens.estimate import ESTIMATOR
from tests.analysis.building import Builder
from tests.cli.replaying import replayed, scored, write_session
from tests.cli.test_replay import validate


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("unknown") / "made-up.jsonl")


def test_windows_that_no_source_holds_are_dashes_with_a_reason(tmp_path: Path) -> None:
    write_lossless(tmp_path)

    status, out, err = replayed(tmp_path, "--engine", "recorded")

    assert (status, err) == (0, "")
    for label in ("Far recall", "Mean window", "Peak window", "Billed tokens", "Cost", "Boundaries"):
        (row,) = [line for line in out.splitlines() if line.startswith(label)]
        assert row.split()[-1] == "—", row
    assert "— Summariser calls: The session holds summaries, and its format does not write the calls" in out
    assert "— Retention, Reach, Staleness, Near recall and 10 more: No window is known for any call of this run." in out
    report = json.loads(replayed(tmp_path, "--engine", "recorded", "--json")[1])
    validate(report)
    card = report["runs"][0]["scorecard"]
    assert card["metrics"]["peak_window"] | {"what": ""} == {
        "value": None, "unit": "tokens", "basis": "unknown", "interval": None, "count": None, "better": "lower",
        "what": "", "note": "No window is known for any call of this run.",
    }  # fmt: skip
    assert card["bill"]["cache_read"] is None


def test_a_cost_that_is_unknown_has_its_reason_below_the_table(tmp_path: Path) -> None:
    priced = write_session(tmp_path / "priced.jsonl")
    out = replayed(priced, "--engine", "keep-all", "--system-tokens", 300_000)[1]
    assert "— Cost: The price list has no price for prompts above 200,000 tokens, which calls have: 24." in out
    other = write_session(tmp_path / "other.jsonl", model="made-up-1")
    out = replayed(other, "--engine", "keep-all")[1]
    assert "— Cost: The model is not in the price list for calls: 24." in out


def test_a_recall_says_from_how_many_needs_it_is(session: Path) -> None:
    out = replayed(session, "--engine", "keep-all")[1]
    (row,) = [line for line in out.splitlines() if line.startswith("Near recall")]
    card = json.loads(replayed(session, "--engine", "keep-all", "--json")[1])["runs"][0]["scorecard"]
    count = card["metrics"]["near_recall"]["count"]
    assert count == sum(band["needed"] for band in card["needs"]["bands"][:2]) > 5
    assert row.endswith(f"({count} needs)")
    assert card["metrics"]["mean_window"]["count"] is None and card["metrics"]["billed_tokens"]["basis"] == "estimated"


def test_a_threshold_on_few_needs_is_warned_of_and_judged_all_the_same(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (session, "--engine", "keep-all", "--fail-under", "near_recall=1")
    assert "warning" not in scored(*asked)[2] and scoring.FEW_NEEDS == 5
    monkeypatch.setattr("contextviz.cli.replay.scoring.FEW_NEEDS", 10_000)
    status, out, err = scored(*asked)
    assert status == 0 and out.startswith("pass  keep-all@1  near_recall 1 (100.0%")
    assert err.startswith("contextviz score: warning: near_recall of keep-all@1 rests on ") and err.count("\n") == 1
    assert "warning" not in scored(session, "--engine", "keep-all", "--fail-over", "boundaries=0")[2]


def made_of(*purposes: str, summaries: int) -> Builder:
    made = Builder()
    for number, purpose in enumerate(purposes):
        made.say("user", ("text", f"question {number}"))
        made.call([made.item("user", "text", f"question {number}")], 30, answer="answer")
        made.transcript.calls[-1].purpose = purpose  # type: ignore[assignment]
    for _ in range(summaries):
        made.compact(0, 1, summary=made.pool.put("what was asked")).kind = "summary"
    return made


@pytest.mark.parametrize(
    ("purposes", "summaries", "count"),
    [(("turn", "summary", "turn", "summary"), 2, 2), (("turn", "turn"), 1, None), (("turn", "turn"), 0, 0)],
)
def test_what_the_session_asked_of_its_summariser_is_counted_or_unknown(
    purposes: tuple[str, ...], summaries: int, count: int | None
) -> None:
    made = made_of(*purposes, summaries=summaries)
    material = material_of(made.transcript, made.pool)

    known = yardstick(made.transcript, material, estimator=ESTIMATOR, counted_by=made.pool.estimator)

    assert known.summaries.count == count and known.summaries.note
