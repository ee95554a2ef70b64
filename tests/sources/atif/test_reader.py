from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.atif import AtifReader
from tests.sources.plain.reading import read, write

Json = dict[str, Any]


def step(number: int, source: str, message: Any, **more: Any) -> Json:
    return {"step_id": number, "timestamp": f"2026-03-01T10:00:{number:02d}Z", "source": source, "message": message,
            **more}  # fmt: skip


def metrics(given: int, made: int = 5, cached: int = 0) -> Json:
    return {"prompt_tokens": given, "completion_tokens": made, "cached_tokens": cached, "cost_usd": 0.01}


def trajectory(*steps: Json, **more: Any) -> Json:
    tools = [{"type": "function", "function": {"name": "run"}}]
    about = {"name": "harness", "version": "1", "model_name": "m-1", "tool_definitions": tools}
    return {"schema_version": "ATIF-v1.6", "session_id": "t-1", "agent": about, "steps": list(steps), **more}


CALL = {"tool_call_id": "c1", "function_name": "run", "arguments": {"cmd": "ls"}}


def test_agent_steps_with_metrics_are_calls_with_windows(tmp_path: Path) -> None:
    write(
        tmp_path / "t.json",
        trajectory(
            step(1, "system", "be exact"),
            step(2, "user", "list"),
            step(3, "agent", "running", reasoning_content="hm", tool_calls=[CALL], metrics=metrics(100, 9, 40),
                 observation={"results": [{"source_call_id": "c1", "content": "a.txt"}]}),
            step(4, "agent", "a.txt it is", metrics=metrics(130)),
            final_metrics={"total_prompt_tokens": 230, "total_completion_tokens": 14, "total_steps": 4},
        ),
    )  # fmt: skip
    result = read(AtifReader(), tmp_path)
    found = result.one

    assert [(c.usage.prompt_tokens, c.usage.input_tokens, c.usage.output_tokens) for c in found.calls] == [
        (100, 60, 9),
        (130, 130, 5),
    ]
    assert [(role, kind) for role, kind, _ in result.windows()[1]] == [
        ("system", "tools"), ("system", "system"), ("user", "text"), ("assistant", "thinking"),
        ("assistant", "text"), ("assistant", "tool_call"), ("tool", "tool_result"),
    ]  # fmt: skip
    assert len(found.pairs) == 1 and found.orphan_results == []
    assert found.problems == [] and found.unlogged_usage is None
    assert found.session.agent == "harness" and found.session.model == "m-1"


def test_copied_steps_are_in_the_window_and_cost_nothing_again(tmp_path: Path) -> None:
    write(
        tmp_path / "second.json",
        trajectory(
            step(1, "user", "before", is_copied_context=True),
            step(2, "agent", "was", metrics=metrics(500), is_copied_context=True),
            step(3, "user", "now"),
            step(4, "agent", "is", metrics=metrics(90)),
        ),
    )
    result = read(AtifReader(), tmp_path)

    assert [call.usage.prompt_tokens for call in result.one.calls] == [90]
    assert [text for _, kind, text in result.windows()[0] if kind == "text"] == ["before", "was", "now"]
    assert result.one.session.counters == {"copied_steps": 2}


def test_a_continuation_knows_what_it_continues(tmp_path: Path) -> None:
    write(tmp_path / "a.json", trajectory(step(1, "user", "x"), continued_trajectory_ref="b.json"))
    write(tmp_path / "b.json", trajectory(step(1, "user", "y"), trajectory_id="t-1-b"))
    result = read(AtifReader(), tmp_path)

    assert [(one.session.id, one.session.parent) for one in result.transcripts] == [("t-1", None), ("t-1-b", "t-1")]


def test_embedded_subagents_have_windows_of_their_own(tmp_path: Path) -> None:
    inner = trajectory(step(1, "user", "sub task"), step(2, "agent", "sub done", metrics=metrics(20)))
    inner["trajectory_id"] = "sub-1"
    write(tmp_path / "t.json", trajectory(step(1, "user", "x"), step(2, "agent", "y", metrics=metrics(50)),
                                          subagent_trajectories=[inner]))  # fmt: skip
    result = read(AtifReader(), tmp_path)
    found = result.one

    assert [(call.agent, call.usage.prompt_tokens) for call in found.calls] == [(None, 50), ("sub-1", 20)]
    assert [text for _, kind, text in result.windows()[1] if kind == "text"] == ["sub task"]
    assert [(one.id, one.message_count) for one in found.subagents] == [("sub-1", 3)]


def test_producers_that_do_not_follow_the_format_are_read(tmp_path: Path) -> None:
    write(
        tmp_path / "t.json",
        {
            "schema_version": "1.4",
            "agent": {"name": "odd", "model": "m-2"},
            "steps": [
                step(1, "agent", [{"type": "text", "text": "go"}], tool_calls=[CALL], metrics=metrics(0, 0),
                     observation={"content": "single"}),
                step(1, "narrator", "who is this"),
                step(3, "agent", None, observation=[{"source_call_id": "c1", "content": None}], timestamp="noon"),
            ],
        },
    )  # fmt: skip
    result = read(AtifReader(), tmp_path)
    found = result.one

    assert found.calls == [] and found.session.model == "m-2"
    assert result.texts() == [["go", '{"name": "run", "arguments": {"cmd": "ls"}}', "single"], ["who is this"], [""]]
    assert [message.id for message in found.messages] == ["step-1", "m2", "step-3"]
    assert sorted(result.codes()) == ["unknown_type", "unreadable_time"]
    assert found.session.id.startswith("atif-")


def test_totals_that_only_the_end_knows_are_unlogged(tmp_path: Path) -> None:
    final = {"total_prompt_tokens": 1000, "total_completion_tokens": 50, "total_cached_tokens": 200,
             "total_cost_usd": 0.25}  # fmt: skip
    write(tmp_path / "t.json", trajectory(step(1, "user", "x"), step(2, "agent", "y"), final_metrics=final))
    found = read(AtifReader(), tmp_path).one

    assert found.unlogged_usage is not None
    assert (found.unlogged_usage.prompt_tokens, found.unlogged_usage.output_tokens) == (1000, 50)
    assert found.unlogged_usage.cost_usd == 0.25
    assert [problem.code for problem in found.problems] == ["count_mismatch"]


@pytest.mark.parametrize(("told", "left"), [({"cost_usd": 0.1}, 0.15), ({}, None), ({"cost_usd": 0.25}, None)])
def test_the_cost_beyond_the_steps_is_known_where_each_step_tells_its_own(
    tmp_path: Path, told: dict[str, float], left: float | None
) -> None:
    final = {"total_prompt_tokens": 1000, "total_completion_tokens": 50, "total_cost_usd": 0.25}
    metrics = {"prompt_tokens": 10, "completion_tokens": 1} | told
    write(tmp_path / "t.json", trajectory(step(1, "user", "x"), step(2, "agent", "y", metrics=metrics),
                                          final_metrics=final))  # fmt: skip
    found = read(AtifReader(), tmp_path).one

    assert found.unlogged_usage is not None and found.unlogged_usage.prompt_tokens == 990
    assert found.unlogged_usage.cost_usd == (left if left is None else pytest.approx(left))


@pytest.mark.parametrize("value", [{"steps": []}, {"steps": [1], "agent": {}}, {"steps": [{"uses": "x"}], "agent": {}}])
def test_other_json_is_not_ours(tmp_path: Path, value: Any) -> None:
    write(tmp_path / "x.json", value)

    assert read(AtifReader(), tmp_path).files == []
