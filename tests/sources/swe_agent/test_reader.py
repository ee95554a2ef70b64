from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.swe_agent import SweAgentReader
from tests.sources.plain.reading import read, write

STATS = {"api_calls": 2, "tokens_sent": 900, "tokens_received": 40, "instance_cost": 0.1}
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def test_swe_agent_knows_only_its_totals(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "be a developer", "agent": "main"},
        {"role": "user", "content": "a demonstration", "is_demo": True, "agent": "main"},
        {"role": "assistant", "content": "listing", "tool_calls": [CALL], "agent": "main"},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_ids": ["c1"], "agent": "main",
         "message_type": "observation"},
        {"role": "user", "content": "review this", "agent": "reviewer"},
    ]  # fmt: skip
    steps = [{"action": "ls", "observation": "a.py", "response": "listing", "thought": "", "state": {}}]
    info = {"exit_status": "submitted", "submission": "diff", "model_stats": STATS}
    write(tmp_path / "demo.traj", {"environment": "e", "trajectory": steps, "history": history, "info": info})
    result = read(SweAgentReader(), tmp_path)
    found = result.one

    assert [message.native_role for message in found.messages] == ["system", "user", "assistant", "tool", "user"]
    assert found.calls == []
    assert found.unlogged_usage is not None
    assert (found.unlogged_usage.input_tokens, found.unlogged_usage.output_tokens) == (900, 40)
    assert found.session.hints["exit_status"] == "submitted" and found.session.hints["api_calls"] == 2
    assert [(pair.call_message, pair.result_message) for pair in found.pairs] == [(2, 3)]
    assert [one.id for one in found.subagents] == ["reviewer"]
    assert found.messages[1].is_human is False


def test_a_trajectory_without_history_shows_its_steps(tmp_path: Path) -> None:
    steps = [{"action": "ls", "observation": "a.py", "response": "listing", "thought": "look first"}]
    write(tmp_path / "x.traj", {"trajectory": steps, "info": {"model_stats": STATS}})
    result = read(SweAgentReader(), tmp_path)

    assert result.texts() == [
        ["look first", "listing", '{"name": "action", "arguments": {"command": "ls"}}'],
        ["a.py"],
    ]
    assert len(result.one.pairs) == 1


def test_what_each_step_was_given_is_told_where_it_is_written(tmp_path: Path) -> None:
    query = [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "look"}]}]
    later = [*query, {"role": "user", "content": "Old environment output: (40 lines omitted)"}]
    steps = [
        {"action": "ls", "observation": "a", "response": "r", "query": given} for given in (query, later)
    ] + [{"action": "ls", "observation": "a", "response": "r"}]  # fmt: skip
    write(tmp_path / "x.traj", {"trajectory": steps, "info": {"model_stats": STATS}})
    events = read(SweAgentReader(), tmp_path).one.engine_events

    assert [event.type for event in events] == ["context.assembled"] * 2
    assert [(event.data["step"], event.data["messages"], event.data["evictedMessages"]) for event in events] == [
        (1, 2, 0), (2, 3, 1),
    ]  # fmt: skip
    assert events[0].data["chars"] == len("be brief") + len("look")


def test_mini_version_two_has_the_usage_of_each_call(tmp_path: Path) -> None:
    def response(number: int, given: int) -> dict[str, Any]:
        usage = {"prompt_tokens": given, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 30}}
        extra = {"response": {"id": f"r{number}", "model": "m-1", "usage": usage}, "cost": 0.02,
                 "timestamp": 1772359200.5 + number}  # fmt: skip
        return {"role": "assistant", "content": f"try {number}", "extra": extra}

    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "fix it"},
        response(1, 100),
        {"role": "user", "content": "<output>1</output>"},
        response(2, 150),
        {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}},
    ]
    info = {"mini_version": "2.0", "model_stats": {"api_calls": 2, "instance_cost": 0.04}, "exit_status": "Submitted",
            "config": {"model": {"model_name": "m-1"}}}  # fmt: skip
    write(tmp_path / "m.traj.json", {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"})
    result = read(SweAgentReader(), tmp_path)
    found = result.one

    assert [
        (c.response_id, c.usage.prompt_tokens, c.usage.cache_read_tokens, c.usage.cost_usd) for c in found.calls
    ] == [
        ("r1", 100, 30, 0.02),
        ("r2", 150, 30, 0.02),
    ]
    assert [text for _, _, text in result.windows()[1]] == ["s", "fix it", "try 1", "<output>1</output>"]
    assert found.session.started_at is not None and found.problems == []
    assert found.session.format_version == "mini-swe-agent-1.1"


def test_mini_version_one_has_messages_and_totals(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "fix"}, {"role": "assistant", "content": "ok"}]
    info = {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.1, "api_calls": 1}}
    write(tmp_path / "m.traj.json", {"info": info, "messages": messages})
    found = read(SweAgentReader(), tmp_path).one

    assert (len(found.messages), found.calls, found.unlogged_usage) == (2, [], None)


def test_replies_in_the_responses_form_are_read(tmp_path: Path) -> None:
    reply = {
        "object": "response",
        "id": "resp_1",
        "model": "m-1",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I list"}]},
            {"type": "function_call", "name": "bash", "call_id": "c1", "arguments": '{"command": "ls"}'},
        ],
        "usage": {"input_tokens": 60, "output_tokens": 6, "input_tokens_details": {"cached_tokens": 0}},
    }
    seen = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    messages = [{"role": "user", "content": "fix"}, reply, seen]
    write(tmp_path / "m.json", {"messages": messages, "info": {}, "trajectory_format": "mini-swe-agent-1.1"})
    result = read(SweAgentReader(), tmp_path)

    assert result.texts()[1:] == [["I list", '{"name": "bash", "arguments": {"command": "ls"}}'], ["a.py"]]
    assert [call.usage.prompt_tokens for call in result.one.calls] == [60]
    assert len(result.one.pairs) == 1 and result.one.pairs[0].result_message == 2


def test_a_demonstration_has_only_its_history(tmp_path: Path) -> None:
    write(tmp_path / "demo.traj", {"history": [{"role": "user", "content": "a", "agent": "main"}]})

    assert len(read(SweAgentReader(), tmp_path).one.messages) == 1


@pytest.mark.parametrize(
    "value",
    [
        {"trajectory": [{"x": 1}], "info": {}},
        {"history": [{"user": "a", "assistant": "b"}]},
        {"info": {"id": "ses_1"}, "messages": [{"info": {}, "parts": []}]},
        {"messages": [{"role": "user", "content": "a"}]},
    ],
)
def test_other_json_is_not_ours(tmp_path: Path, value: Any) -> None:
    write(tmp_path / "x.json", value)

    assert read(SweAgentReader(), tmp_path).files == []
