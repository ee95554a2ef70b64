"""The reading cases of this format, through the reader alone."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

from contextviz.events.call import ModelCall
from contextviz.events.session import Transcript
from contextviz.events.usage import sum_usage

from .help import SHARED, Reading, read_folder

CASES = SHARED / "cases" / "reading"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the shared reading cases are not beside the repository")
WORDS = {
    "input_uncached": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_5m": "cache_write_5m_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
}


def case(number: str) -> tuple[Reading, dict[str, Any]]:
    folder = next(CASES.glob(f"{number}-*"))
    return read_folder(folder / "input"), json.loads((folder / "expect.json").read_text(encoding="utf-8"))


def spend(calls: list[ModelCall], expected: dict[str, int]) -> dict[str, int | None]:
    usage = sum_usage(one.usage for one in calls)
    values = {word: asdict(usage)[field] for word, field in WORDS.items()}
    values |= {"total": usage.total_tokens, "api_calls": len(calls)}
    return {word: values[word] for word in expected if word in values}


def check(transcript: Transcript, expected: dict[str, Any]) -> None:
    main = [message for message in transcript.messages if message.agent is None]
    counted = Counter(message.native_role for message in main)
    assert transcript.lines.malformed == expected["malformed_lines"]
    assert transcript.entries == expected.get("entries", transcript.entries)
    assert {word: counted[word] for word in expected["messages"]} == expected["messages"]
    assert len(transcript.calls) == expected["api_calls"]
    assert spend(transcript.calls, expected["spend"]) == expected["spend"]
    if "last_prompt_tokens" in expected:
        assert transcript.calls[-1].usage.prompt_tokens == expected["last_prompt_tokens"]
    if "order" in expected:
        assert [message.id for message in main] == expected["order"]
    lines = transcript.lines
    assert lines.total == lines.read + lines.blank + len(lines.malformed) + lines.unknown


@pytest.mark.parametrize("number", ["014", "015", "019", "036", "037", "043"])
def test_a_case_of_one_session_comes_out_exactly(number: str) -> None:
    reading, expected = case(number)
    check(reading.only, expected)
    for mine, wanted in zip(reading.only.calls, expected.get("per_call", reading.only.calls), strict=True):
        if isinstance(wanted, dict):
            found = {"id": mine.id, "prompt": mine.usage.prompt_tokens, "output": mine.usage.output_tokens}
            assert {key: found[key] for key in wanted} == wanted


def test_a_growing_answer_is_one_message_with_one_tool_call() -> None:
    transcript = case("014")[0].only
    blocks = [block for message in transcript.messages for block in message.blocks]
    assert [block.kind for block in blocks] == ["text", "thinking", "text", "tool_call", "tool_result", "text"]


def test_sub_agents_inline_and_in_their_files_are_counted_once() -> None:
    reading, expected = case("018")
    transcript = reading.only
    main = [one for one in transcript.calls if one.agent is None]
    side = [one for one in transcript.calls if one.agent is not None]
    assert spend(main, expected["main"]) == expected["main"]
    assert len(transcript.subagents) == expected["subagents"]["count"]
    assert spend(side, expected["subagents"]) | {"count": 2} == expected["subagents"]
    assert spend(transcript.calls, expected["session_total"]) == expected["session_total"]
    assert main[-1].usage.prompt_tokens == expected["main_last_prompt_tokens"]
    counted = Counter(one.native_role for one in transcript.messages if one.agent is None)
    assert {word: counted[word] for word in expected["main_messages"]} == expected["main_messages"]


def test_quoted_boundaries_are_not_compactions() -> None:
    reading, expected = case("019")
    (event,) = reading.only.compactions
    found = {key: getattr(event, key) for key in ("line", "trigger", "tokens_before", "tokens_after")}
    assert found == expected["compaction"]
    assert event.message_index is not None
    assert (event.before_call, event.after_call) == (1, 2)


@pytest.mark.parametrize("number", ["036", "037"])
def test_records_recovered_from_damaged_lines_are_named(number: str) -> None:
    reading, expected = case(number)
    recovered = {f"line{line}": ids for line, ids in reading.only.lines.recovered.items()}
    wanted = expected["recovered_records"]
    assert {line: recovered[line] for line in wanted} == wanted


def test_half_emoji_are_replaced_and_counted() -> None:
    reading, expected = case("043")
    assert reading.only.lines.lone_surrogates == expected["lone_surrogates"]
    assert reading.only.lines.surrogate_lines == expected["lines_with_lone_surrogates"]
    texts = " ".join(reading.pool.get(block.text) for one in reading.only.messages for block in one.blocks)
    for shown in expected["displayed"].values():
        assert shown in texts
