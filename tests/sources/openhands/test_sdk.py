from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.files import probe
from contextviz.sources.openhands import OpenHandsReader
from contextviz.sources.registry import detect
from contextviz.sources.source import ALONE
from tests.sources.openhands.building import (
    counted,
    name_of,
    save_sdk,
    sdk,
    sdk_ran,
    sdk_runs,
    sdk_says,
    sdk_system,
    sdk_user,
    state,
    text,
)
from tests.sources.plain.reading import read, write_lines

Json = dict[str, Any]
# One reply with two calls, both asked for before either is answered.
EVENTS = [
    sdk_system(0), sdk_user(1, "hi", extended_content=[text("by a skill")]),
    sdk_runs(2, "c1", "r1", "a look"), sdk_runs(3, "c2", "r1"), sdk_ran(4, "c2", "B"), sdk_ran(5, "c1", "A"),
    sdk_runs(6, "c3", "r2"), sdk_ran(7, "c3", "C"),
]  # fmt: skip
USED = {"agent": [counted("r1", 100, window=32_000, read=60), counted("r2", 150, 20, window=32_000)]}


def call(name: str) -> str:
    return json.dumps({"name": "terminal", "arguments": {"command": name}})


def texts(window: list[tuple[str, str, str]]) -> list[str]:
    return [value for role, _, value in window if role != "system"]


def test_replies_are_calls_with_the_usage_that_the_state_lists(tmp_path: Path) -> None:
    save_sdk(tmp_path / "1111", EVENTS, state(USED))
    result = read(OpenHandsReader(), tmp_path)
    found = result.one

    used = [(one.usage.input_tokens, one.usage.cache_read_tokens, one.usage.output_tokens) for one in found.calls]
    assert [one.id for one in found.calls] == ["r1", "r2"] and used == [(40, 60, 10), (150, 0, 20)]
    assert [(one.window, one.usage.cost_usd, one.model) for one in found.calls] == [(32_000, 0.1, "m-2")] * 2
    assert (found.session.id, found.session.cwd, found.session.model) == (state({})["id"], "/srv/app", "m-2")
    assert (found.session.window, found.session.window_basis) == (32_000, "reported")
    assert found.session.hints == {"execution_status": "finished"} and found.session.format_version == "1"
    assert found.unlogged_usage is None and found.problems == []
    assert [one.entry_ids for one in found.messages if one.role == "assistant"] == [
        (name_of(2), name_of(3)), (name_of(6),),
    ]  # fmt: skip
    assert [one.result_entry for one in found.pairs] == [name_of(5), name_of(4), name_of(7)]
    roles = [(one.path.rsplit("/", 1)[1][:10], one.role, one.is_counted) for one in result.files]
    assert roles[0] == ("base_state", "index", False) and roles[1] == ("event-0000", "session", True)


def test_nothing_of_the_agents_settings_is_kept(tmp_path: Path) -> None:
    save_sdk(tmp_path / "1111", EVENTS, state(USED))
    result = read(OpenHandsReader(), tmp_path)

    assert "never-kept" not in repr(result.transcripts) + repr(result.files) + "".join(result.pool._texts.values())


def test_windows_hold_what_was_sent(tmp_path: Path) -> None:
    save_sdk(tmp_path / "1111", EVENTS, state(USED))
    first, second = read(OpenHandsReader(), tmp_path).windows()

    assert [(role, kind) for role, kind, _ in first] == [
        ("system", "system"), ("system", "system"), ("system", "tools"), ("user", "text"), ("user", "injected"),
    ]  # fmt: skip
    assert texts(second) == ["hi", "by a skill", "a look", call("c1"), call("c2"), "A", "B"]


def test_a_condensation_takes_events_out_and_its_summariser_is_a_call(tmp_path: Path) -> None:
    fold = sdk(8, "Condensation", "environment", forgotten_event_ids=[name_of(n) for n in (2, 3, 4, 5)],
               summary="gist", summary_offset=2, llm_response_id="rc")  # fmt: skip
    events = [*EVENTS, sdk(9, "CondensationRequest", reason="context_limit"), fold, sdk_says(10, "done", "r3")]
    used = {"agent": [*USED["agent"], counted("r3", 90)], "condenser": [counted("rc", 70)], "title": [counted("rt", 7)]}
    save_sdk(tmp_path / "1111", events, state(used))
    result = read(OpenHandsReader(), tmp_path)
    found = result.one
    (compaction,) = found.compactions

    assert [(one.id, one.purpose) for one in found.calls] == [
        ("r1", "turn"), ("r2", "turn"), ("rc", "summary"), ("r3", "turn"),
    ]  # fmt: skip
    assert (compaction.before_call, compaction.after_call, compaction.trigger) == (1, 3, "context_limit")
    assert compaction.kept == [name_of(0), name_of(1), name_of(6), name_of(7)]
    assert texts(result.windows()[-1]) == ["hi", "by a skill", "gist", call("c3"), "C"]
    assert len(result.windows()) == 3  # the summariser's own window is written nowhere
    # The title's call is in no event.
    assert found.unlogged_usage is not None and found.unlogged_usage.total_tokens == 17
    assert found.context_at_end == [
        name_of(0), name_of(1), f"summary {name_of(8)}", name_of(6), name_of(7), name_of(10),
    ]  # fmt: skip


def _folded_twice(forgotten: list[str]) -> list[Json]:
    first = sdk(8, "Condensation", "environment", forgotten_event_ids=[name_of(n) for n in (2, 3, 4, 5)],
                summary="one", summary_offset=2, llm_response_id="rc")  # fmt: skip
    second = sdk(9, "Condensation", "environment", forgotten_event_ids=forgotten, summary="two", summary_offset=2,
                 llm_response_id="rd")  # fmt: skip
    return [*EVENTS, first, second, sdk_says(10, "done", "r3")]


def test_a_summary_goes_when_the_next_condensation_names_it(tmp_path: Path) -> None:
    forgotten = [name_of(6), name_of(7)]
    for folder, names in (
        ("named", [f"{name_of(8)}-summary", *forgotten]),
        ("made-up", ["ffffffff-0000-4000-8000-000000000000", *forgotten]),
        ("not", forgotten),
    ):
        save_sdk(tmp_path / folder, _folded_twice(names), state(USED, id=folder))
    result = read(OpenHandsReader(), tmp_path)
    windows = {one.session.id: texts(result.windows(n)[-1]) for n, one in enumerate(result.transcripts)}

    assert windows["named"] == windows["made-up"] == ["hi", "by a skill", "two"]
    assert windows["not"] == ["hi", "by a skill", "two", "one"]


def test_signed_thoughts_are_sent_again_and_plain_ones_are_not(tmp_path: Path) -> None:
    signed: Json = {
        "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "x"}],
        "reasoning_content": "hm",
    }
    events = [
        sdk_user(0, "hi"), sdk_runs(1, "c1", "r1", **signed), sdk_ran(2, "c1", "A"),
        sdk_runs(3, "c2", "r2", reasoning_content="so"), sdk_ran(4, "c2", "B"), sdk_says(5, "done", "r3"),
    ]  # fmt: skip
    save_sdk(tmp_path / "1111", events, None)
    result = read(OpenHandsReader(), tmp_path)

    assert [[block.kind for block in one.blocks] for one in result.one.messages if one.role == "assistant"] == [
        ["thinking", "tool_call"], ["thinking", "tool_call"], ["text"],
    ]  # fmt: skip
    assert texts(result.windows()[2]) == ["hi", "hm", call("c1"), "A", call("c2"), "B"]
    # Without a state the usage of the calls is not known.
    assert [one.basis for one in result.one.calls] == ["unknown"] * 3


def test_a_call_that_was_never_answered_is_not_sent(tmp_path: Path) -> None:
    events = [sdk_user(0, "hi"), sdk_runs(1, "c1", "r1"), sdk_user(2, "stop"), sdk_says(3, "ok", "r2")]
    save_sdk(tmp_path / "1111", events, None)
    result = read(OpenHandsReader(), tmp_path)

    assert texts(result.windows()[1]) == ["hi", "stop"]
    assert result.one.pairs[0].result_entry is None


def test_errors_rejections_and_what_goes_on_around(tmp_path: Path) -> None:
    events = [
        sdk_user(0, "hi"), sdk_runs(1, "c1", "r1"),
        sdk(2, "AgentErrorEvent", tool_name="terminal", tool_call_id="c1", error="no such tool"),
        sdk_runs(3, "c2", "r2"),
        sdk(4, "UserRejectObservation", "environment", tool_name="terminal", tool_call_id="c2",
            rejection_reason="not that", action_id=name_of(3)),
        sdk_runs(5, "c3", "r3"),
        sdk_ran(6, "c3", "out", metadata={"exit_code": 2, "working_dir": "/w"}),
        sdk(7, "ConversationStateUpdateEvent", "environment", key="execution_status", value="running"),
        sdk(8, "ConversationErrorEvent", "environment", code="LLMRateLimitError", detail="slow down"),
        sdk(9, "ACPToolCallEvent", "agent", tool_call_id="c9"), sdk_says(10, "ok", "r4"),
    ]  # fmt: skip
    save_sdk(tmp_path / "1111", events, None)
    result = read(OpenHandsReader(), tmp_path)
    found = result.one

    assert [value for role, _, value in result.windows()[-1] if role == "tool"] == [
        "no such tool", "Action rejected: not that",
        "out\n[Current working directory: /w]\n[Command finished with exit code 2]",
    ]  # fmt: skip
    assert [block.is_error for one in found.messages if one.role == "tool" for block in one.blocks] == [True] * 3
    assert found.failed_calls == 1
    assert found.lines.unknown_types == {"ACPToolCallEvent": 1} and found.lines.total == 11


@pytest.mark.parametrize(
    "damage",
    [
        {"source": {}}, {"observation": {"kind": [1], "content": 3, "metadata": {"exit_code": "x"}}},
        {"observation": 5}, {"tool_call_id": 5}, {"kind": 5}, {"extended_content": [[1], {"text": 2}]},
        {"kind": "MessageEvent", "llm_message": {"content": {"image_urls": [1]}, "role": []}},
        {"kind": "Condensation", "forgotten_event_ids": {"a": 1}, "summary_offset": "two", "llm_response_id": []},
        {"kind": "SystemPromptEvent", "system_prompt": None, "tools": [1, {"name": 3}]},
        {"kind": "ActionEvent", "tool_call": 3, "thought": {"a": 1}, "thinking_blocks": [3], "llm_response_id": 7},
    ],
)  # fmt: skip
def test_wrong_types_are_no_crash(tmp_path: Path, damage: Json) -> None:
    save_sdk(tmp_path / "1111", [*EVENTS[:-1], EVENTS[-1] | damage], state(USED, stats={"usage_to_metrics": [1]}))
    write_lines(tmp_path / "run.jsonl", [*EVENTS[:-1], EVENTS[-1] | damage])
    result = read(OpenHandsReader(), tmp_path)

    assert len(result.transcripts) == 2 and result.transcripts[0].lines.total == 8


def test_a_conversation_that_went_back_says_that_it_is_shown_as_one_line(tmp_path: Path) -> None:
    follows = [one | {"parent_id": name_of(n - 1)} if n else one for n, one in enumerate(EVENTS)]
    save_sdk(tmp_path / "straight", follows, None)
    save_sdk(tmp_path / "back", [*follows, sdk_user(8, "no, so", parent_id=name_of(1))], None)
    found = {one.session.id: one for one in read(OpenHandsReader(), tmp_path).transcripts}

    assert found["straight"].problems == []
    assert [(one.code, one.entry, one.value) for one in found["back"].problems] == [
        ("branch_not_followed", name_of(8), name_of(1))
    ]


def test_two_folders_are_two_sessions_and_a_state_alone_is_none(tmp_path: Path) -> None:
    save_sdk(tmp_path / "one", EVENTS, None)
    save_sdk(tmp_path / "two", EVENTS[:2], None)
    save_sdk(tmp_path / "three", [], state(USED))
    result = read(OpenHandsReader(), tmp_path)

    assert [(one.session.id, len(one.messages)) for one in result.transcripts] == [("one", 7), ("two", 2)]
    assert [(one.path, one.reason) for one in result.files if one.reason] == [("three/base_state.json", ALONE)]


def test_json_lines_of_the_sdk_are_read_and_the_registry_knows_all_of_it(tmp_path: Path) -> None:
    save_sdk(tmp_path / "1111", EVENTS, state(USED))
    write_lines(tmp_path / "run.jsonl", EVENTS)
    for path in tmp_path.rglob("*.json*"):
        known = detect(probe(path))
        assert known is not None and known[1].format == "openhands", path.name
    found = read(OpenHandsReader(), tmp_path).transcripts[0]

    assert [one.line for one in found.messages] == [1, 2, 3, 5, 6, 7, 8]
