"""Rebuilt windows against what the model was really given (skipped where the samples are not beside the project)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.analysis.snapshots import snapshot_lines
from tests.sources.openclaw.build import Result, read
from tests.sources.openclaw.tracing import read_all

SHARED = Path(__file__).resolve().parents[4] / "shared"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the specification's samples are not beside the project")


def score(name: str, result: Result, *, full: bool = False) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("wire_score", SHARED / "tools" / "wire_score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = (json.loads(json.dumps(line)) for one in result.transcripts for line in snapshot_lines(one, result.pool))
    found: dict[str, Any] = module.score(SHARED / "samples" / name, lines, full)
    return found


@pytest.mark.parametrize(
    ("name", "calls", "prompt", "cached", "output", "compactions"),
    [
        ("pi-main", 41, 289_240, 261_165, 7_295, 3),
        ("oc-legacy", 82, 1_559_328, 1_476_872, 15_036, 3),
        ("oc-cachetrace", 48, 773_975, 720_785, 8_728, 2),
        ("oc-lossless1", 77, 1_557_282, 1_452_819, 14_104, 0),
        ("oc-otel-chat-2026.4.29", 7, 100_849, 85_297, 1_201, 0),
    ],
)
def test_every_call_on_disk_is_counted_once(
    name: str, calls: int, prompt: int, cached: int, output: int, compactions: int
) -> None:
    result = read(SHARED / "samples" / name)
    turns = [call for one in result.transcripts for call in one.calls if call.purpose == "turn"]
    sums = [
        sum(call.usage.prompt_tokens or 0 for call in turns),
        sum(call.usage.cache_read_tokens or 0 for call in turns),
        sum(call.usage.output_tokens or 0 for call in turns),
    ]
    assert (len(turns), *sums) == (calls, prompt, cached, output)
    assert sum(len(one.compactions) for one in result.transcripts) == compactions


@pytest.mark.parametrize("name", ["pi-main", "oc-legacy", "oc-cachetrace", "oc-otel-chat-2026.4.29"])
def test_windows_are_what_was_sent(name: str) -> None:
    found = score(name, read(SHARED / "samples" / name))
    assert (found["exact"], found["recall"], found["precision"], found["missing"]) == (1.0, 1.0, 1.0, 0)


def test_pi_files_hold_the_whole_request() -> None:
    assert score("pi-main", read(SHARED / "samples" / "pi-main"), full=True)["exact"] == 1.0


def test_with_lossless_claw_the_transcript_alone_is_partial() -> None:
    one = read(SHARED / "samples" / "oc-lossless1").only
    assert {snapshot.basis for snapshot in one.log.snapshots} == {"partial"}


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("oc-cachetrace", {"trace_confirmed": 48}),
        ("oc-legacy", {"trace_confirmed": 45}),
        ("oc-lossless1", {"trace_confirmed": 23, "trace_differs": 19}),
        ("oc-otel-chat-2026.4.29", {"trace_confirmed": 4}),
    ],
)
def test_the_clients_own_logs_confirm_the_windows_and_leave_them_exact(name: str, verdicts: dict[str, int]) -> None:
    result = read_all(SHARED / "samples" / name)
    one = next(one for one in result.transcripts if one.calls)
    found = {key: value for key, value in one.session.counters.items() if key.startswith("trace_")}
    assert found == verdicts
    scored = score(name, result)
    assert (scored["exact"], scored["recall"], scored["precision"], scored["missing"]) == (1.0, 1.0, 1.0, 0)
    assert {snapshot.basis for snapshot in one.log.snapshots} == {"rules"}


def test_the_runtime_contexts_that_a_trajectory_notes_are_in_the_system_prompt_once() -> None:
    one = next(one for one in read_all(SHARED / "samples" / "oc-otel-chat-2026.4.29").transcripts if one.calls)
    checks = {at: found.check for at, found in enumerate(one.log.snapshots) if found.check is not None}
    # Trajectory rows of 0, 5, 8 and 15 messages, with the prompt; 0, 1, 2 and 3 of them are runtime contexts.
    assert {at: (check.traced, check.proven) for at, check in checks.items()} == {
        0: (1, 1), 2: (5, 5), 3: (7, 7), 6: (13, 13),
    }  # fmt: skip
    for position in range(7):
        contexts = [item.role for item in one.log.window(position) if item.text.chars == 2358]
        assert contexts == ["system"]


def test_every_message_of_every_request_is_proven_by_the_cache_trace_although_it_cut_most() -> None:
    one = next(one for one in read_all(SHARED / "samples" / "oc-cachetrace").transcripts if one.calls)
    checks = [snapshot.check for snapshot in one.log.snapshots if snapshot.check is not None]
    assert (sum(check.proven for check in checks), sum(check.by_role for check in checks)) == (
        sum(check.rebuilt for check in checks), 0,
    )  # fmt: skip
    assert all((check.client, check.traced) == (1, check.rebuilt + 1) for check in checks)
    # The runtime context that the transcript lacks stands at the end of all of them.
    ends = [one.log.window(position)[-1] for position in range(48)]
    assert {(item.kind, item.basis, item.text.chars) for item in ends} == {("injected", "recorded", 220)}
