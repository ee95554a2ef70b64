"""The shared reading cases 029 and 030, through the reader."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.session import Transcript
from contextviz.events.usage import sum_usage
from tests.sources.codex.building import SHARED, transcripts

pytestmark = pytest.mark.skipif(not (SHARED / "cases" / "reading").is_dir(), reason="the shared cases are not here")


def case(number: str) -> tuple[list[Transcript], dict[str, Any]]:
    folder: Path = next((SHARED / "cases" / "reading").glob(f"{number}-*"))
    read = transcripts(*sorted((folder / "input").rglob("*.jsonl")))
    return read, json.loads((folder / "expect.json").read_text("utf-8"))


def spend(read: list[Transcript]) -> dict[str, int | None]:
    calls = [call for one in read for call in one.calls]
    usage = sum_usage(call.usage for call in calls)
    return {
        "api_calls": len(calls),
        "input_total": usage.prompt_tokens,
        "cached_input": usage.cache_read_tokens,
        "output": usage.output_tokens,
        "total": usage.total_tokens,
    }


def test_repeated_token_counts_are_counted_once() -> None:
    (read,), expected = case("029")
    mine = spend([read])
    assert mine["api_calls"] == expected["api_calls"]
    assert {key: mine[key] for key in ("input_total", "cached_input", "output", "total")} == {
        key: expected["spend"][key] for key in ("input_total", "cached_input", "output", "total")
    }
    assert sum(call.usage.reasoning_tokens or 0 for call in read.calls) == expected["spend"]["reasoning_output"]
    assert read.calls[-1].usage.prompt_tokens == expected["last_prompt_tokens"]
    assert read.session.window == expected["window"]
    assert Counter(message.native_role for message in read.messages) == expected["messages"]
    for key in ("token_count_events", "null_info_events"):
        assert read.session.counters[key] == expected[key]


def test_a_replayed_parent_is_not_counted_again() -> None:
    read, expected = case("030")
    assert [one.session.id for one in read] == expected["sessions"]
    for one in read:
        assert spend([one]) == expected["own"][one.session.id]
    assert spend(read) == expected["all_sessions"]
    fork = read[1].session
    assert (fork.forked_from, fork.replayed_lines, fork.first_own_line) == (
        expected["fork"]["forked_from"],
        expected["fork"]["replayed_lines"],
        expected["fork"]["first_own_line"],
    )
    days: Counter[str] = Counter()
    for one in read:
        for call in one.calls:
            assert call.at is not None
            days[call.at.date().isoformat()] += call.usage.total_tokens or 0
    assert days == expected["per_utc_day"]


def test_a_fork_read_alone_still_counts_only_its_own() -> None:
    folder = next((SHARED / "cases" / "reading").glob("030-*"))
    fork = next((folder / "input" / "2026" / "05" / "03").glob("*.jsonl"))
    assert spend(transcripts(fork))["total"] == 5450
