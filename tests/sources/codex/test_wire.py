"""The measured rollout: its sums against the server's, its windows against what was really sent."""

from __future__ import annotations

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest

from contextviz.analysis.snapshots import snapshot_lines
from contextviz.events.session import Transcript
from contextviz.events.usage import sum_usage
from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import SHARED, transcripts

SAMPLE = SHARED / "samples" / "codex-main"
pytestmark = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the shared samples are not here")


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wire_score", SHARED / "tools" / "wire_score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sample() -> tuple[Transcript, list[dict[str, Any]]]:
    pool = MemoryPool()
    (read,) = transcripts(*(SAMPLE / "sessions").rglob("*.jsonl"), pool=pool)
    return read, list(snapshot_lines(read, pool))


def test_the_sums_are_those_of_the_server(sample: tuple[Transcript, list[dict[str, Any]]]) -> None:
    read, _ = sample
    truth = json.loads((SAMPLE / "truth.json").read_text("utf-8"))
    usage = sum_usage(call.usage for call in read.calls)
    assert len(read.calls) == truth["totals"]["calls"]
    assert usage.prompt_tokens == truth["totals"]["prompt_tokens"]
    assert usage.cache_read_tokens == truth["totals"]["cached_tokens"]
    assert usage.output_tokens == truth["totals"]["output_tokens"]
    summaries = [call for call in read.calls if call.purpose == "summary"]
    assert sum_usage(call.usage for call in summaries).prompt_tokens == truth["by_class"]["summary"]["prompt_tokens"]
    around = [(one["before_call"] - 1, one["after_call"] - 1) for one in truth["compactions"]]
    assert [(one.before_call, one.after_call) for one in read.compactions] == around


@pytest.mark.parametrize("full", [False, True])
def test_every_window_is_what_was_sent(
    sample: tuple[Transcript, list[dict[str, Any]]], scorer: ModuleType, full: bool
) -> None:
    result = scorer.score(SAMPLE, sample[1], full)
    assert (result["exact"], result["recall"], result["precision"], result["missing"]) == (1.0, 1.0, 1.0, 0)


def test_a_summarisers_window_lacks_only_its_instruction(
    sample: tuple[Transcript, list[dict[str, Any]]], scorer: ModuleType
) -> None:
    lines = {scorer.number_of(line["response_id"]): line for line in sample[1]}
    calls = [call for call in scorer.load_wire(SAMPLE, True) if call["class"] == "summary"]
    assert len(calls) == 7
    for call in calls:
        mine, sent = scorer.sequence(lines[call["n"]]["items"], True), call["norm"]
        assert mine == sent[: len(mine)]
        assert len(sent) - len(mine) == 1
