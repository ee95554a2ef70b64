from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.files import probe
from contextviz.sources.openhands import OpenHandsReader, view
from contextviz.sources.registry import detect
from tests.sources.openhands.building import (
    condensation,
    counted,
    ran,
    reply,
    runs,
    says,
    sdk_ran,
    sdk_runs,
    sdk_user,
    usage,
    user,
)
from tests.sources.plain.reading import read, write, write_lines

Json = dict[str, Any]
R1 = reply("r1", ["c1"], usage(100))
HISTORY = [user(0, "fix it"), runs(1, "c1", R1), ran(2, "c1", R1, "A", 1), says(3, "done")]


def row(name: str, history: Any, **more: Any) -> Json:
    found = {"instance_id": name, "test_result": {"git_patch": ""}, "instruction": "fix it", "history": history,
             "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "m-0", "api_key": "sk-never"}},
             "metrics": None, "error": None}  # fmt: skip
    return found | more


def test_each_row_is_a_session(tmp_path: Path) -> None:
    sdk = [sdk_user(0, "hi"), sdk_runs(1, "c1", "r1"), sdk_ran(2, "c1", "A")]
    write_lines(tmp_path / "output.jsonl", [
        row("a__b-1", HISTORY), row("a__b-2", sdk, metrics={"token_usages": [counted("r1", 70)]}),
    ])  # fmt: skip
    result = read(OpenHandsReader(), tmp_path)

    assert [(one.session.id, one.session.title, len(one.messages)) for one in result.transcripts] == [
        ("a__b-1", "a__b-1", 4), ("a__b-2", "a__b-2", 3),
    ]  # fmt: skip
    assert [one.calls[0].usage.prompt_tokens for one in result.transcripts] == [100, 70]
    assert result.transcripts[1].messages[0].line == 2
    (file,) = result.files
    assert (file.role, file.is_counted, file.session) == ("session", True, None)
    assert result.problems == []


def test_a_file_of_one_row_is_a_session_too(tmp_path: Path) -> None:
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", HISTORY)])
    result = read(OpenHandsReader(), tmp_path)

    assert result.one.session.id == "a__b-1" and result.files[0].session == "a__b-1"
    assert result.one.session.model == "m-1"


def test_what_the_metrics_have_beyond_the_calls_is_unlogged(tmp_path: Path) -> None:
    sums = {"prompt_tokens": 260, "completion_tokens": 30, "cache_read_tokens": 0, "cache_write_tokens": 0}
    metrics = {"accumulated_cost": 1.5, "accumulated_token_usage": sums, "costs": [], "token_usages": []}
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", HISTORY, metrics=metrics)])
    found = read(OpenHandsReader(), tmp_path).one

    assert found.unlogged_usage is not None
    rest = found.unlogged_usage
    assert (rest.prompt_tokens, rest.output_tokens, rest.cost_usd) == (160, 20, 1.5)


def test_an_answer_without_a_reply_finds_its_usage_where_only_one_fits(tmp_path: Path) -> None:
    used = [counted("r1", 100), counted("r2", 130, 5)]
    sums = {"prompt_tokens": 230, "completion_tokens": 15}
    told = {"llm_metrics": {"accumulated_token_usage": sums, "accumulated_cost": 0.0}}
    first = HISTORY[1] | {"llm_metrics": {"accumulated_token_usage": {"prompt_tokens": 100, "completion_tokens": 10}}}
    history = [HISTORY[0], first, HISTORY[2], HISTORY[3] | told]
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", history, metrics={"token_usages": used})])
    found = read(OpenHandsReader(), tmp_path).one

    assert [(one.response_id, one.usage.prompt_tokens) for one in found.calls] == [("r1", 100), ("r2", 130)]
    assert found.unlogged_usage is None


def test_the_oldest_dumps_pair_actions_with_observations(tmp_path: Path) -> None:
    pairs = [
        [{"source": "user", "action": "message", "args": {"content": "fix it"}, "message": ""},
         {"observation": "null", "content": "", "extras": {}, "message": ""}],
        [{"source": "agent", "action": "run", "args": {"command": "ls", "thought": "look"}, "message": ""},
         {"observation": "run", "content": "a.py", "extras": {"command": "ls", "exit_code": 0}, "message": ""}],
        [{"source": "agent", "action": "finish", "args": {"outputs": {}, "thought": "ready"}, "message": ""},
         {"observation": "null", "content": "", "extras": {}, "message": ""}],
    ]  # fmt: skip
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", pairs), row("a__b-2", pairs)])
    result = read(OpenHandsReader(), tmp_path)
    found = result.transcripts[0]

    assert [(one.role, one.native_role) for one in found.messages] == [
        ("user", "user"), ("assistant", "assistant"), ("tool", "run"), ("assistant", "assistant"),
    ]  # fmt: skip
    assert result.texts()[1] == ["look", '{"name": "run", "arguments": {"command": "ls"}}']
    assert [(one.call_message, one.result_message) for one in found.pairs] == [(1, 2), (3, None)]
    assert found.calls == [] and found.lines.total == 6


def test_a_run_without_history_says_why(tmp_path: Path) -> None:
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", HISTORY), row("a__b-2", [], error="timed out"), {"x": 1}])
    result = read(OpenHandsReader(), tmp_path)

    assert len(result.transcripts) == 1
    assert [(one.code, one.line) for one in result.problems] == [("empty_conversation", 2), ("unknown_type", None)]
    assert "timed out" in result.problems[0].message
    assert result.problems[1].message == "output.jsonl: 1 record is no run and is not shown"


FAILED: list[Json] = [
    row("a__b-2", [], error="timed out"), row("a__b-2", None, error="timed out"),
    {"instance_id": "a__b-2", "history": [], "error": "timed out", "metadata": {}, "metrics": {}},
    {"instance_id": "a__b-2", "error": "timed out", "metadata": {}, "metrics": {}},
    {"instance_id": "a__b-2", "error": "timed out"}, row("a__b-2", [{"odd": 1}], error="timed out"),
]  # fmt: skip


@pytest.mark.parametrize("failed", FAILED, ids=range(len(FAILED)))
@pytest.mark.parametrize("is_first", [True, False])
def test_a_run_that_failed_early_takes_no_other_with_it(tmp_path: Path, failed: Json, is_first: bool) -> None:
    good = row("a__b-1", HISTORY)
    write_lines(tmp_path / "output.jsonl", [failed, good] if is_first else [good, failed])
    result = read(OpenHandsReader(), tmp_path)

    assert [one.session.id for one in result.transcripts] == ["a__b-1"]
    assert [(one.code, one.line) for one in result.problems] == [("empty_conversation", 1 if is_first else 2)]
    assert "a__b-2" in result.problems[0].message and "timed out" in result.problems[0].message


def test_names_of_instances_alone_are_nobody_s_rows(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"instance_id": f"a__b-{n}", "model_patch": "", "error": None} for n in "12"])

    assert read(OpenHandsReader(), tmp_path).files == []


def test_a_run_that_two_files_have_counts_once(tmp_path: Path) -> None:
    write_lines(tmp_path / "output.critic_attempt_1.jsonl", [row("a__b-1", HISTORY), row("a__b-2", HISTORY)])
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", HISTORY), row("a__b-2", HISTORY)])
    again = [one | {"timestamp": "2026-03-02T10:00:00"} for one in HISTORY]
    write_lines(tmp_path / "output.retry.jsonl", [row("a__b-1", again), row("a__b-2", HISTORY)])
    result = read(OpenHandsReader(), tmp_path)

    assert [one.session.id for one in result.transcripts] == ["a__b-1", "a__b-2", "a__b-1-2"]
    assert [(one.role, one.is_counted) for one in result.files] == [
        ("session", True), ("duplicate", False), ("session", True),
    ]  # fmt: skip
    assert [one.code for one in result.problems] == ["duplicate_conversation"]


def test_damaged_and_cut_off_lines_are_told_with_their_number(tmp_path: Path) -> None:
    whole = json.dumps(row("a__b-1", HISTORY))
    path = tmp_path / "output.jsonl"
    path.write_text(f"{whole}\n{{broken\n\n{whole[:200]}", encoding="utf-8")
    result = read(OpenHandsReader(), tmp_path)

    assert len(result.transcripts) == 1
    assert [(one.code, one.line) for one in result.problems] == [("malformed_line", 2), ("in_progress", 4)]


def test_a_first_row_too_long_to_look_into_is_known_by_its_beginning(tmp_path: Path) -> None:
    long = row("a__b-1", [*HISTORY, user(9, "x" * 9_000_000)])
    write_lines(tmp_path / "output.jsonl", [long, row("a__b-2", HISTORY)])
    result = read(OpenHandsReader(), tmp_path)

    assert [one.session.id for one in result.transcripts] == ["a__b-1", "a__b-2"]


def test_half_emoji_are_replaced_and_told(tmp_path: Path) -> None:
    broken = json.dumps(row("a__b-1", [user(0, "ab"), says(1, "c")])).replace("ab", "a\\ud83d")
    write_lines(tmp_path / "output.jsonl", [broken, row("a__b-2", HISTORY)])
    result = read(OpenHandsReader(), tmp_path)

    assert result.texts()[0] == ["a\ufffd"]
    assert result.codes() == ["lone_surrogate"] and result.problems == []


@pytest.mark.parametrize(
    "value",
    [
        {"instance_id": "x", "history": [{"role": "user", "content": "hi"}]},
        {"instance_id": "x", "trajectory": [], "info": {}},
        {"id": 1, "source": "agent", "timestamp": "t", "action": "run"},
        {"id": "1", "source": "agent", "timestamp": "t", "kind": "something"},
        {"id": "s", "agent": "build", "workspace": "w", "stats": {}},
        [{"role": "user", "content": "hi", "source": "user", "id": 1, "action": "x", "args": {}}],
        [], [[]], {}, {"instance_id": "", "history": HISTORY},
    ],
)  # fmt: skip
def test_what_is_not_ours_is_left_alone(tmp_path: Path, value: Any) -> None:
    write(tmp_path / "a.json", value)

    assert read(OpenHandsReader(), tmp_path).files == []


def test_the_registry_knows_rows_lists_and_events(tmp_path: Path) -> None:
    write_lines(tmp_path / "output.jsonl", [row("a__b-1", HISTORY), row("a__b-2", HISTORY)])
    write(tmp_path / "one.json", row("a__b-1", HISTORY))
    write(tmp_path / "list.json", HISTORY)
    write(tmp_path / "answer.json", {"trajectory": HISTORY})
    write(tmp_path / "3.json", HISTORY[3])
    for path in tmp_path.iterdir():
        known = detect(probe(path))
        assert known is not None and known[0].name == "openhands", path.name


def test_condensing_at_every_event_ends_in_time_and_says_what_it_gave_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "MOST_REBUILT", 100_000)
    events: list[Json] = []
    for number in range(0, 6_000, 3):
        events.append(user(number, f"text {number}") | {"timestamp": "2026-03-01T10:00:00"})
        events.append(condensation(number + 1, forgotten_event_ids=[], summary=f"s {number}", summary_offset=0)
                      | {"timestamp": "2026-03-01T10:00:00"})  # fmt: skip
        events.append(runs(number + 2, f"c{number}", reply(f"r{number}", [f"c{number}"], usage(9)))
                      | {"timestamp": "2026-03-01T10:00:00"})  # fmt: skip
    write(tmp_path / "list.json", events)
    found = read(OpenHandsReader(), tmp_path).one

    assert len(found.compactions) == 2_000 and len(found.calls) == 2_000
    assert {one.basis for one in found.log.snapshots} == {"rules", "partial"}
    assert found.compactions[-1].problem is not None
