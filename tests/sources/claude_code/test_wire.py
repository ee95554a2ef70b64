"""Rebuilt windows against what a real client really sent."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from contextviz.events.usage import sum_usage

from .help import SHARED, Reading, read_folder

SAMPLE = SHARED / "samples" / "claude-main"
SCORER = SHARED / "tools" / "wire_score.py"
pytestmark = pytest.mark.skipif(
    not (SAMPLE.is_dir() and SCORER.is_file()), reason="the shared samples are not beside the repository"
)


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_score", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def whole() -> Reading:
    return read_folder(SAMPLE / "projects")


def score(scorer: ModuleType, reading: Reading, *, full: bool) -> dict[str, Any]:
    result: dict[str, Any] = scorer.score(SAMPLE, list(reading.snapshot_lines()), full)
    return result


def test_usage_equals_what_the_server_counted(whole: Reading) -> None:
    transcript = whole.only
    usage = sum_usage(call.usage for call in transcript.calls)
    assert (len(transcript.calls), sum(call.agent is not None for call in transcript.calls)) == (49, 3)
    assert (usage.prompt_tokens, usage.cache_read_tokens, usage.output_tokens) == (1268053, 1173384, 15845)
    left = transcript.unlogged_usage
    assert left is not None
    assert (left.prompt_tokens, left.cache_read_tokens, left.output_tokens) == (
        1396775 - 1268053,
        1292304 - 1173384,
        19050 - 15845,
    )


def test_all_four_compactions_stand_between_their_calls(whole: Reading) -> None:
    transcript = whole.only
    numbers = json.loads((SAMPLE / "truth.json").read_text())["compactions"]
    for event, truth in zip(transcript.compactions, numbers, strict=True):
        assert event.before_call is not None
        assert event.after_call is not None
        before, after = transcript.calls[event.before_call], transcript.calls[event.after_call]
        assert before.response_id is not None
        assert after.response_id is not None
        assert int(before.response_id[-4:]) == truth["before_call"]
        assert int(after.response_id[-4:]) == truth["after_call"]
    assert [event.trigger for event in transcript.compactions] == ["manual", "auto", "auto", "auto"]


@pytest.mark.parametrize("full", [False, True])
def test_every_written_request_is_rebuilt_exactly(whole: Reading, scorer: ModuleType, full: bool) -> None:
    result = score(scorer, whole, full=full)
    assert (result["exact"], result["recall"], result["precision"]) == (1.0, 1.0, 1.0)
    assert {snapshot.basis for snapshot in whole.only.log.snapshots} == {"request"}


def test_the_rules_give_the_same_windows_without_the_requests(tmp_path: Path, scorer: ModuleType) -> None:
    for path in (SAMPLE / "projects").rglob("*.jsonl"):
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line]
        kept = [line for line in lines if not json.loads(line)["type"].startswith("api-request")]
        target = tmp_path / path.relative_to(SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    reading = read_folder(tmp_path)
    assert {snapshot.basis for snapshot in reading.only.log.snapshots} == {"rules"}
    assert score(scorer, reading, full=False)["exact"] == 1.0
    assert score(scorer, reading, full=True)["recall"] > 0.98


def test_the_root_file_alone_is_enough_and_says_what_it_does_not_hold(tmp_path: Path, scorer: ModuleType) -> None:
    root = next((SAMPLE / "projects").glob("*/*.jsonl"))
    shutil.copyfile(root, tmp_path / "upload.jsonl")
    reading = read_folder(tmp_path)
    assert reading.only.session.id == root.stem
    assert len(reading.only.calls) == 46
    assert all(row["exact"] for row in score(scorer, reading, full=True)["rows"])
    assert reading.only.unlogged_usage is not None


def test_a_sub_agents_file_alone_is_a_session_with_a_note() -> None:
    path = next((SAMPLE / "projects").rglob("agent-*.jsonl"))
    reading = Reading({path.name: path})
    transcript = reading.only
    assert transcript.session.id == path.stem
    assert transcript.session.parent == path.parent.parent.name
    assert len(transcript.calls) == 3
    assert "subagent_alone" in {problem.code for problem in transcript.problems}
