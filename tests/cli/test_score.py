from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.cli.replay.scoring import exact
from tests.cli.replaying import scored, write_session

TIGHT = ("--engine", "keep-tail", "--window", 2_500, "--system-tokens", 500)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("score") / "made-up.jsonl")


def test_a_run_above_every_threshold_passes(session: Path) -> None:
    status, out, err = scored(session, "--engine", "keep-all", "--fail-under", "near_recall=1.0,prefix_share=0.5")
    assert (status, err) == (0, "")
    assert out.count("pass  keep-all@1") == 2 and "near_recall 1 (100.0%" in out and "wanted at least 0.5" in out


def test_one_threshold_missed_by_one_engine_fails(session: Path) -> None:
    status, out, _ = scored(session, *TIGHT, "--engine", "keep-all", "--fail-under", "prefix_share=0.9")
    assert status == 1
    assert "FAIL  keep-tail@1  prefix_share" in out and "pass  keep-all@1  prefix_share" in out


def test_what_is_better_when_lower_is_bounded_from_above(session: Path) -> None:
    assert scored(session, *TIGHT, "--fail-over", "peak_window=2000")[0] == 0
    status, out, _ = scored(session, "--engine", "keep-all", "--fail-over", "peak_window=2000", "--fail-over=cost=99")
    assert status == 1 and "FAIL  keep-all@1  peak_window" in out and "pass  keep-all@1  cost" in out


def test_the_bound_itself_is_good(session: Path) -> None:
    assert scored(session, "--engine", "keep-all", "--fail-over", "boundaries=0")[0] == 0
    assert scored(session, "--engine", "keep-all", "--fail-under", "near_recall=1")[0] == 0


def test_an_unknown_value_is_neither_passed_nor_failed(session: Path) -> None:
    status, out, err = scored(session, "--engine", "keep-all", "--fail-under", "retention=0,near_recall=0.5")
    assert status == 2
    assert "retention of keep-all@1 is unknown: No boundary took an identifier" in err
    assert "pass  keep-all@1  near_recall" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fail-under", "far_recal=0.5"), "there is no metric 'far_recal'. Did you mean far_recall?"),
        (("--fail-under", "staleness=0.1"), "staleness is better when it is lower; use --fail-over staleness=0.1"),
        (("--fail-over", "far_recall=0.1"), "far_recall is better when it is higher; use --fail-under far_recall=0.1"),
        (("--fail-under", "far_recall"), "is not METRIC=VALUE"),
        (("--fail-under", "far_recall=much"), "the bound of far_recall is 'much'"),
        (("--fail-under", "far_recall=nan"), "the bound of far_recall is 'nan'"),
        (("--fail-under", "far_recall=1e999"), "the bound of far_recall is '1e999'; write a number"),
        (("--fail-under", "far_recall=0_1"), "the bound of far_recall is '0_1'; write a number"),
        (("--fail-under", "far_recall=١"), "write a number, such as 0.5"),
        (("--fail-under", "far_recall=2"), "the bound of far_recall is '2'; it is a share, a number from 0 to 1"),
        (("--fail-under", "far_recall=-1"), "it is a share, a number from 0 to 1"),
        (
            ("--fail-under", "near_recall=0.5", "--set", "keepToken=5", "--engine", "keep-tail"),
            "Did you mean keepTokens?",
        ),
        ((), "name a threshold"),
        (("--fail-under", "far_recall=0.5", "--engine", "none-such"), "There is no engine 'none-such'"),
    ],
)
def test_a_wrong_argument_is_one_sentence(session: Path, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = scored(session, "--engine", "keep-all", *arguments)
    assert (status, out) == (2, "")
    assert said in err and err.startswith("contextviz score: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    "metric",
    ["staleness", "rewrite_factor", "mean_window", "peak_window", "boundaries", "summariser_calls", "billed_tokens",
     "cost"],
)  # fmt: skip
def test_every_metric_that_is_better_lower_says_so(session: Path, metric: str) -> None:
    assert "use --fail-over" in scored(session, "--engine", "keep-all", "--fail-under", f"{metric}=1")[2]


def test_nothing_readable_is_unusable(tmp_path: Path) -> None:
    status, _, err = scored(tmp_path, "--engine", "keep-all", "--fail-under", "far_recall=0.5")
    assert status == 2 and "no session at" in err


def test_a_value_and_a_bound_that_differ_look_it(session: Path) -> None:
    _, out, _ = scored(session, "--engine", "keep-all", "--fail-over", "billed_tokens=1")
    billed = int(out.split("billed_tokens ")[1].split(" ")[0])
    status, out, _ = scored(session, "--engine", "keep-all", "--fail-over", f"billed_tokens={billed - 1}")
    assert status == 1 and f"billed_tokens {billed} (" in out and f"wanted at most {billed - 1}\n" in out


@pytest.mark.parametrize(
    ("value", "said"),
    [(5_697_730, "5697730"), (5_697_730.0, "5697730"), (5_697_730.25, "5697730.25"), (0.1 + 0.2, "0.30000000000000004"),
     (2.0**60, "1.152921504606847e+18")],
)  # fmt: skip
def test_numbers_have_all_their_digits(value: float, said: str) -> None:
    assert exact(value) == said


def test_what_was_not_taken_of_the_settings_is_said(session: Path) -> None:
    named = ("--engine", "keep-all", "--engine", "keep-tail", "--set", "keepTokens=many")
    status, out, err = scored(session, *named, "--fail-over", "boundaries=99")
    assert status == 0 and out.count("pass") == 2
    assert err == "contextviz score: keep-tail@1: keepTokens is a number; 'many' is none, so it is 0.\n"
