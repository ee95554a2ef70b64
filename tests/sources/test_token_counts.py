"""Counts that cannot be so: unknown, never 0, with a problem that names the line, in every reader alike."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.usage import MOST_TOKENS, TokenUsage, doubts_of, sum_usage
from contextviz.sources.checking import check_tokens
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.memory import Resident
from contextviz.sources.plain.counts import Counts, as_tokens
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import Rollout
from tests.sources.droid.building import Rows, tokens
from tests.sources.plain.reading import write, write_lines

NOW = datetime(2026, 12, 1, tzinfo=UTC)
WRONG = [-5, 1.5, "1e3", "", True, 2**63 - 1, 2**64, 1e300, [1], {"n": 1}]
SESSION = "0c0ffee0-9999-4222-8333-444455556666"


def read(folder: Path, memory: Resident | None = None) -> Transcript:
    named = [NamedPath(path, path.name) for path in sorted(folder.rglob("*")) if path.is_file()]
    found = list(read_paths(named, ReadOptions(MemoryPool(count=None), NOW, memory=memory)))
    (one,) = [item for item in found if isinstance(item, Transcript)]
    return one


def told(one: Transcript, code: str = "unreadable_tokens") -> list[ReadProblem]:
    return [problem for problem in one.problems if problem.code == code]


def claude_rows(*usages: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, usage in enumerate(usages):
        message = {"id": f"m{number}", "role": "assistant", "model": "m", "content": "so", "usage": usage}
        rows.append({"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": "go"}})
        rows.append({"type": "assistant", "uuid": f"a{number}", "requestId": f"r{number}", "message": message})
    for place, row in enumerate(rows):
        row |= {"sessionId": SESSION, "version": "2.1.0", "cwd": "/srv", "timestamp": f"2026-05-01T10:00:{place:02d}Z"}
        row["parentUuid"] = rows[place - 1]["uuid"] if place else None
    return rows


@pytest.mark.parametrize("value", WRONG)
def test_what_is_no_count_makes_the_prompt_unknown_and_is_said(value: Any, tmp_path: Path) -> None:
    good = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 0}
    write_lines(tmp_path / f"{SESSION}.jsonl", claude_rows(good, good | {"input_tokens": value}))
    one = read(tmp_path)

    assert [call.usage.prompt_tokens for call in one.calls] == [10, None]
    assert [call.usage.output_tokens for call in one.calls] == [2, 2]
    (problem,) = told(one)
    assert (problem.line, problem.entry) == (4, "a1")
    assert "is no count of tokens; so its prompt is unknown" in problem.message
    assert len(problem.message) < 200
    assert sum_usage(call.usage for call in one.calls).total_tokens == 14


def test_a_call_of_which_nothing_can_be_read_is_one_of_unknown_tokens(tmp_path: Path) -> None:
    write_lines(tmp_path / f"{SESSION}.jsonl", claude_rows({"input_tokens": 2**63 - 1, "output_tokens": -1}))
    (call,) = read(tmp_path).calls

    assert (call.basis, call.usage.total_tokens) == ("unknown", None)


def test_many_are_counted_and_not_listed(tmp_path: Path) -> None:
    write_lines(tmp_path / f"{SESSION}.jsonl", claude_rows(*({"input_tokens": -1, "output_tokens": 1},) * 60))
    found = told(read(tmp_path))

    assert len(found) == 51
    assert found[-1].message == "10 more findings of the kind unreadable_tokens are not listed"


@pytest.mark.parametrize(
    ("value", "count"),
    [(0, 0), (7, 7), ("12", 12), (3.0, 3), (MOST_TOKENS, MOST_TOKENS), (MOST_TOKENS + 1, None), (3.5, None),
     (-1, None), (None, None), (float("nan"), None), (float("inf"), None)],
)  # fmt: skip
def test_a_count_is_a_whole_number_up_to_the_ceiling(value: Any, count: int | None) -> None:
    assert as_tokens(value) == count


def test_more_cached_than_the_prompt_that_holds_it_is_said_and_changes_no_prompt(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.message("user", "go")
    rollout.message("assistant", "so")
    rollout.usage(200, 300, 5)
    write_lines(tmp_path / "rollout-2026-05-01T10-00-00-x.jsonl", list(rollout.lines))
    one = read(tmp_path)

    (call,) = one.calls
    assert (call.usage.prompt_tokens, call.usage.cache_read_tokens, call.usage.output_tokens) == (200, None, 5)
    (problem,) = told(one, "cached_beyond_prompt")
    assert (problem.line, problem.value) == (4, "300")
    assert "300 tokens of its prompt of 200" in problem.message


def test_a_step_of_atif_with_more_cached_than_its_prompt(tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "agent", "message": "so",
            "metrics": {"prompt_tokens": "50", "cached_tokens": "70", "completion_tokens": 2}}  # fmt: skip
    agent = {"name": "a", "version": "1"}
    write(tmp_path / "t.json", {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": agent, "steps": [step]})
    one = read(tmp_path)

    assert [call.usage.prompt_tokens for call in one.calls] == [50]
    assert len(told(one, "cached_beyond_prompt")) == 1


def test_what_was_inside_and_fits_is_taken_apart() -> None:
    assert Counts().inside(200, 150, 20, 5) == TokenUsage(30, 150, 20, 5)
    assert doubts_of(Counts().inside(200, 150, 50, 5)) == ()
    assert Counts().inside(None, 150, None, 5) == TokenUsage(None, 150, None, 5)


def test_a_cost_that_is_none_is_unknown(tmp_path: Path) -> None:
    step = {"step_id": 1, "source": "agent", "message": "so", "metrics": {"prompt_tokens": 5, "cost_usd": 1e308}}
    agent = {"name": "a", "version": "1"}
    text = json.dumps(
        {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": agent, "steps": [step, step | {"step_id": 2}]}
    )
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    one = read(tmp_path)

    assert [call.usage.cost_usd for call in one.calls] == [None, None]
    assert len(told(one, "unreadable_cost")) == 2


def test_a_settings_total_below_its_own_last_call_is_said(tmp_path: Path) -> None:
    rows = Rows()
    rows.user("u1", "go")
    rows.answer("a1", "so")
    rows.save(tmp_path, tokens(100, 10), tokens(500, 50))
    one = read(tmp_path)

    (problem,) = told(one, "count_mismatch")
    assert "550 tokens for the last call and 110 for the session" in problem.message
    assert problem.file is not None and problem.file.endswith(".settings.json")
    assert [call.usage.total_tokens for call in one.calls] == [550]
    assert one.unlogged_usage is None


def test_a_settings_total_that_holds_its_last_call_is_no_finding(tmp_path: Path) -> None:
    rows = Rows()
    rows.user("u1", "go")
    rows.answer("a1", "so")
    rows.save(tmp_path, tokens(500, 50), tokens(100, 10))

    assert told(read(tmp_path), "count_mismatch") == []


def test_a_file_that_grows_says_it_once(tmp_path: Path) -> None:
    usage = {"input_tokens": -1, "output_tokens": 1}
    rows = claude_rows(usage, usage)
    memory = Resident()
    write_lines(tmp_path / f"{SESSION}.jsonl", rows[:2])
    first = read(tmp_path, memory)
    write_lines(tmp_path / f"{SESSION}.jsonl", rows)

    assert len(told(first)) == 1
    assert told(read(tmp_path, memory)) == told(read(tmp_path))
    check_tokens(first)
    assert len(told(first)) == 1
