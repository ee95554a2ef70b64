from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command

from contextviz.cli.replay import command, scoring
from contextviz.engines.registry import engines
from tests.cli.replaying import TURNS, Printed, replayed, scored, write_session

ROOT = Path(__file__).resolve().parents[2]
TIGHT = ("--engine", "keep-tail", "--window", 2_500, "--system-tokens", 500)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_session(tmp_path_factory.mktemp("replay") / "made-up.jsonl")


@pytest.fixture(scope="module")
def report(session: Path) -> dict[str, Any]:
    status, out, err = replayed(session, *TIGHT, "--engine", "keep-all", "--engine", "keep-nothing", "--json")
    assert (status, err) == (0, "")
    return json.loads(out)  # type: ignore[no-any-return]


def validate(report: Any) -> None:
    schema = json.loads((ROOT / "docs" / "replay.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(report, schema)


def test_the_report_is_what_the_published_schema_says(report: dict[str, Any]) -> None:
    validate(report)


def test_the_schema_refuses_what_is_not_a_report(report: dict[str, Any]) -> None:
    broken = json.loads(json.dumps(report))
    del broken["runs"][0]["scorecard"]["metrics"]["cost"]
    with pytest.raises(jsonschema.ValidationError):
        validate(broken)


def test_every_call_of_the_session_has_a_window_in_every_run(report: dict[str, Any]) -> None:
    assert report["session"]["calls"] == 2 * TURNS and report["session"]["messages"] == 4 * TURNS
    assert [run["engine"] for run in report["runs"]] == ["keep-tail", "keep-all", "keep-nothing"]
    for run in report["runs"]:
        assert [call["index"] for call in run["calls"]] == list(range(2 * TURNS))
        assert all(call["kept_tokens"] <= call["tokens"] for call in run["calls"])


def test_the_scorecard_follows_from_the_calls(report: dict[str, Any]) -> None:
    for run in report["runs"]:
        metrics = {id: metric["value"] for id, metric in run["scorecard"]["metrics"].items()}
        sizes = [call["tokens"] for call in run["calls"]]
        kept = [call["kept_tokens"] for call in run["calls"]]
        assert metrics["peak_window"] == max(sizes)
        assert metrics["mean_window"] == pytest.approx(sum(sizes) / len(sizes))
        assert metrics["prefix_share"] == pytest.approx(sum(kept[1:]) / sum(sizes[1:]))
        assert metrics["boundaries"] == len(run["boundaries"])
        assert metrics["billed_tokens"] == sum(sizes) + len(sizes) * (500 + 20)
        assert metrics["cost"] > 0
        states = run["scorecard"]["losses"]["states"]
        assert set(states) == {"kept", "stale", "variant", "recoverable", "lost"}


def test_the_controls_are_where_they_must_be(report: dict[str, Any]) -> None:
    tail, everything, nothing = (run["scorecard"]["metrics"]["near_recall"]["value"] for run in report["runs"])
    assert everything == 1.0
    assert nothing < tail <= 1.0
    prefix = [run["scorecard"]["metrics"]["prefix_share"]["value"] for run in report["runs"]]
    assert prefix[1] > prefix[0]
    assert report["runs"][0]["scorecard"]["overshoot_calls"] == 0
    assert report["runs"][1]["scorecard"]["overshoot_calls"] > 0


def test_estimates_add_up_by_block(report: dict[str, Any]) -> None:
    assert set(report["estimates"]) == set(report["session"]["entries"])
    for entry in report["estimates"].values():
        for id, tokens in entry["tokens"].items():
            assert tokens == sum(block["tokens"][id] for block in entry["blocks"])


def test_every_engine_is_measured_and_its_report_fits_the_schema(session: Path) -> None:
    keys = [engine.spec.key for engine in engines()]
    named = [part for key in keys for part in ("--engine", key)]
    status, out, err = replayed(session, *named, "--window", 3_000, "--system-tokens", 500, "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    validate(report)
    assert [f"{run['engine']}@{run['version']}" for run in report["runs"]] == keys
    assert all(len(run["calls"]) == 2 * TURNS for run in report["runs"])
    values = {run["engine"]: run["scorecard"]["metrics"]["near_recall"]["value"] for run in report["runs"]}
    assert values["keep-all"] == max(values.values()) == 1.0


def test_two_replays_agree_to_the_byte(session: Path) -> None:
    first, second = (replayed(session, *TIGHT, "--json")[1] for _ in range(2))
    assert first == second


def test_snapshots_are_the_windows_that_were_counted(session: Path) -> None:
    status, out, _ = replayed(session, *TIGHT, "--snapshots")
    lines = [json.loads(line) for line in out.splitlines()]
    run = json.loads(replayed(session, *TIGHT, "--json")[1])["runs"][0]
    assert status == 0 and [line["hash"] for line in lines] == [call["hash"] for call in run["calls"]]
    for line, call in zip(lines, run["calls"], strict=True):
        assert len(line["items"]) == call["items"]
        assert sum(item["tokens"] for item in line["items"]) == call["tokens"]
    assert {"role", "kind", "entry", "text", "tokens", "basis", "state", "reason"} == set(lines[-1]["items"][0])


def test_the_table_is_for_people(session: Path) -> None:
    status, out, err = replayed(session, *TIGHT, "--engine", "keep-all")
    assert (status, err) == (0, "")
    assert "keep-tail@1" in out and "Far recall" in out and "—" in out


def test_a_size_in_the_table_says_whether_the_system_prompt_is_in_it(session: Path) -> None:
    asked = ("--engine", "keep-all", "--system-tokens", "900")
    (run,) = json.loads(replayed(session, *asked, "--json")[1])["runs"]
    table = replayed(session, *asked)[1]
    shown = {metric: value["value"] for metric, value in run["scorecard"]["metrics"].items()}

    assert re.search(rf"^Mean window, without system prompt +{shown['mean_window']:,.0f}$", table, re.MULTILINE)
    assert re.search(rf"^Billed tokens, with system prompt +{shown['billed_tokens']:,}$", table, re.MULTILINE)
    assert shown["billed_tokens"] >= 900 * len(run["calls"])


def test_settings_are_for_one_engine_or_for_those_that_know_them(session: Path) -> None:
    out = replayed(session, *TIGHT, "--engine", "keep-all", "--set", "keepTokens=700", "--json")[1]
    tail, everything = json.loads(out)["runs"]
    assert tail["settings"] == {"keepTokens": 700} and everything["settings"] == {}
    assert not any("keepTokens" in note for note in everything["notes"])
    named = json.loads(replayed(session, *TIGHT, "--set", "keep-tail@1:keepTokens=800", "--json")[1])["runs"][0]
    assert named["settings"] == {"keepTokens": 800}
    blank = json.loads(replayed(session, *TIGHT, "--set", "keepTokens=", "--json")[1])["runs"][0]
    assert blank["settings"] == {"keepTokens": 0}
    assert any("No value was given for keepTokens" in note for note in blank["notes"])


def test_a_run_names_the_scorer_it_was_made_with(session: Path) -> None:
    out = replayed(session, "--engine", "openbrain", "--engine", "keep-all", "--scorer", "bm25", "--json")[1]
    assert [run["scorer"] for run in json.loads(out)["runs"]] == ["bm25", None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--engine", "keep-tial"), "Did you mean keep-tail"),
        ((), "name an engine with --engine; there are keep-all@1"),
        (("--engine", "keep-all", "--set", "nonsense"), "is not KEY=VALUE"),
        (("--engine", "keep-all", "--set", "keep-tail:keepTokens=1"), "which --engine does not"),
        (
            ("--engine", "keep-tail", "--set", "keepToken=1"),
            "no setting 'keepToken' of keep-tail@1. Did you mean keepTokens?",
        ),
        (
            ("--engine", "keep-all", "--engine", "keep-tail", "--engine", "openvole", "--set", "KEEPRECENT=5"),
            "Did you mean keepRecent",
        ),
        (
            ("--engine", "keep-tail", "--engine", "keep-all", "--set", "keep-all:keepTokens=1"),
            "of keep-all@1. It has none.",
        ),
        (("--engine", "keep-all", "--estimator", "guess"), "there is no estimator 'guess'"),
        (("--engine", "keep-all", "--summariser", "nots"), "Did you mean notes"),
        (("--engine", "keep-all", "--summariser", "endpoint"), "only replays on the server do"),
        (("--engine", "keep-all", "--scorer", "bm52"), "Did you mean bm25"),
        (("--engine", "keep-all", "--session", "other"), "there is no session 'other'"),
    ],
)
def test_a_wrong_argument_is_one_sentence(session: Path, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = replayed(session, *arguments)
    assert (status, out) == (2, "")
    assert said in err and err.startswith("contextviz replay: ") and err.count("\n") == 1


@pytest.mark.parametrize("name", ["replay", "score"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--window", "60k"), "--window: '60k' is not a number of tokens"),
        (("--window", "-5"), "--window: '-5' is not a number of tokens"),
        (("--reserve", "99999999999999999999"), "is more than 100,000,000 tokens, which is the most"),
        (("--window", "100000001"), "--window: '100000001' is more than 100,000,000 tokens"),
        (("--window", "9" * 5_000), "is more than 100,000,000 tokens"),
        (("--window", "1_0"), "'1_0' is not a number of tokens"),
        (("--window", "١"), "is not a number of tokens"),
        (("--system-tokens", "1e3"), "is not a number of tokens"),
        (("--window",), "expected one argument"),
        (("--windw", "5\x1b[2J\n"), "unrecognized arguments: --windw"),
    ],
)
def test_an_argument_that_cannot_be_read_is_one_sentence(
    session: Path, name: str, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = {"replay": command.main, "score": scoring.main}[name]
    with pytest.raises(SystemExit) as ended:
        run([str(session), "--engine", "keep-all", *arguments])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith(f"contextviz {name}: ") and said in err and err.count("\n") == 1 and "\x1b" not in err


def test_every_number_that_a_run_was_measured_with_says_where_it_is_from(session: Path) -> None:
    made = json.loads(replayed(session, "--engine", "keep-all", "--window", 9_000, "--json")[1])["runs"][0]["measured"]
    assert (made["reserve"], made["basis"]["reserve"], made["basis"]["window"]) == (0, "default", "set")
    made = json.loads(replayed(session, "--engine", "keep-all", "--reserve", 0, "--json")[1])["runs"][0]["measured"]
    assert (made["reserve"], made["basis"]["reserve"]) == (0, "set")


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("just words\n")
    for path, said in ((tmp_path / "notes.txt", "not a transcript"), (tmp_path / "missing", "there is nothing at")):
        status, out, err = replayed(path, "--engine", "keep-all")
        assert (status, out) == (2, "") and said in err and err.count("\n") == 1


def test_one_of_several_sessions_is_named(tmp_path: Path) -> None:
    write_session(tmp_path / "a.jsonl", "first")
    write_session(tmp_path / "b.jsonl", "second")
    status, _, err = replayed(tmp_path, "--engine", "keep-all")
    assert status == 2 and "name one with --session" in err and "first, second" in err
    out = replayed(tmp_path, "--engine", "keep-all", "--session", "second", "--json")[1]
    assert json.loads(out)["session"]["id"] == "second"


def test_a_model_without_a_price_has_no_cost(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", model="nobody-knows-it")
    metrics = json.loads(replayed(path, *TIGHT, "--json")[1])["runs"][0]["scorecard"]["metrics"]
    assert metrics["cost"]["value"] is None and metrics["cost"]["basis"] == "unknown"
    assert metrics["billed_tokens"]["value"] > 0


def test_named_texts_are_counted_by_every_estimator(tmp_path: Path) -> None:
    path = tmp_path / "texts.json"
    for body in ({"a": "four", "b": ""}, [{"id": "a", "text": "four"}, {"id": "b", "text": ""}]):
        path.write_text(json.dumps(body), encoding="utf-8")
        report = json.loads(replayed(path, "--estimates")[1])
        validate(report)
        assert (report["session"], report["runs"]) == (None, [])
        assert report["estimates"]["a"]["tokens"]["cp-weighted"] == 1
        assert set(report["estimates"]["b"]["tokens"].values()) == {0}
    path.write_text('[{"id": "a", "text": "1"}, {"id": "a", "text": "2"}]', encoding="utf-8")
    assert "have the same id" in replayed(path, "--estimates")[2]


def test_the_estimates_of_a_session_alone_need_no_engine(session: Path) -> None:
    report = json.loads(replayed(session, "--estimates")[1])
    validate(report)
    assert len(report["estimates"]) == 4 * TURNS and report["runs"] == []


def test_escape_sequences_in_a_transcript_do_not_reach_the_terminal(tmp_path: Path) -> None:
    path = write_session(tmp_path / "a.jsonl", "x\x1b[2Jy")
    assert "\x1b" not in replayed(path, "--engine", "keep-all")[1]
    write_session(tmp_path / "b.jsonl", "other\x1b[2J")
    assert "\x1b" not in replayed(tmp_path, "--engine", "keep-all")[2]


@pytest.mark.parametrize("command", ["replay", "score"])
def test_it_needs_no_framework_no_settings_and_no_database(session: Path, command: str) -> None:
    more = ["--json"] if command == "replay" else ["--fail-under", "near_recall=0.1"]
    code = (
        "import sys\n"
        "from contextviz.cli.main import main\n"
        f"status = main([{command!r}, {str(session)!r}, '--engine', 'keep-all', *{more!r}])\n"
        "framework = {'django', 'celery', 'redis', 'ninja', 'plotly', 'httpx', 'requests'}\n"
        "loaded = sorted({name.split('.')[0] for name in sys.modules} & framework)\n"
        "print(status or 0, loaded, file=sys.stderr)\n"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stderr.strip().splitlines()[-1] == "0 []"
    assert done.stdout


def test_manage_py_has_the_same_commands(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("replay", str(session), "--engine=keep-all", "--json")
    assert json.loads(capsys.readouterr().out)["schema"] == "contextviz.replay/1"
    with pytest.raises(SystemExit) as ended:
        call_command("score", str(session), "--engine=keep-all", "--fail-over=peak_window=1")
    assert ended.value.code == 1


def test_the_most_that_a_window_may_be_is_taken(session: Path) -> None:
    out = replayed(session, "--engine", "keep-all", "--window", "00100000000", "--json")[1]
    assert json.loads(out)["runs"][0]["measured"]["window"] == 100_000_000


@pytest.mark.parametrize("command_of", [replayed, scored])
def test_a_session_without_a_call_or_a_user_is_not_replayed(tmp_path: Path, command_of: Callable[..., Printed]) -> None:
    text = [{"type": "text", "text": "alone"}]
    result = {"role": "toolResult", "content": text, "toolCallId": "t", "toolName": "read"}
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "alone", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/demo"},
        {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z", "message": result},
    ]
    path = tmp_path / "alone.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    more = ("--fail-under", "near_recall=0.5") if command_of is scored else ("--snapshots",)
    status, out, err = command_of(path, "--engine", "keep-all", *more)
    assert (status, out) == (2, "")
    assert "there is no model call in it and no user message, so there is nothing to replay." in err
    assert err.count("\n") == 1
