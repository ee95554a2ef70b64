"""The reading cases of the specification, through the reader (skipped where they are not beside the project)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.times import iso
from contextviz.events.usage import sum_usage
from tests.sources.openclaw.build import Result, codes, read

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases" / "reading"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the specification's cases are not beside the project")
Json = dict[str, Any]


def case(number: str) -> tuple[Result, Json]:
    folder = next(CASES.glob(f"{number}-*"))
    return read(folder / "input"), json.loads((folder / "expect.json").read_text())


def spend(result: Result) -> Json:
    total = sum_usage(call.usage for one in result.transcripts for call in one.calls)
    return {
        "input_uncached": total.input_tokens,
        "cache_read": total.cache_read_tokens,
        "cache_write": total.cache_write_tokens,
        "output": total.output_tokens,
        "total": total.total_tokens,
    }


def roles(result: Result) -> Counter[str]:
    return Counter(message.native_role for one in result.transcripts for message in one.messages)


def test_002_the_window_is_unknown_after_a_compaction_that_no_call_follows() -> None:
    result, expect = case("002")
    one = result.only
    assert (len(one.calls), one.failed_calls, spend(result)) == (2, 2, expect["spend"])
    compaction = one.compactions[0]
    assert (compaction.line, compaction.tokens_before) == (6, 41180)
    assert compaction.after_call is None
    assert one.context_at_end == expect["context_items_after_rebuild"]
    assert [message.id for message in one.messages if message.is_empty] == expect["empty_items"]
    assert one.session.window == expect["window"]


def test_004_both_branches_are_read_and_only_one_is_active() -> None:
    result, expect = case("004")
    one, tree = result.only, result.only.tree
    assert tree is not None
    assert (tree.branches, tree.branch_point, tree.active_leaf) == (2, "r2", "y4")
    assert (tree.active_path, tree.abandoned) == (expect["active_path"], expect["abandoned"])
    assert [compaction.on_active_path for compaction in one.compactions] == [False, True]
    assert "count_mismatch" in codes(one)
    assert one.context_at_end == expect["context_items_at_end"]
    assert spend(result) == expect["spend_all_branches"]
    active = sum_usage(call.usage for call in one.calls if call.on_active_path)
    assert active.total_tokens == expect["spend_active_path"]["total"]


def test_005_nothing_is_kept_where_the_first_kept_entry_is_missing() -> None:
    result, expect = case("005")
    one = result.only
    found = [{"kind": problem.code, "line": problem.line, "value": problem.value} for problem in one.problems]
    assert found == expect["warnings"]
    assert {compaction.id: len(compaction.kept) for compaction in one.compactions} == expect["kept_before_compaction"]
    assert one.context_at_end == expect["context_items_at_end"]


def test_047_archives_count_and_copies_do_not() -> None:
    result, expect = case("047")
    counted = sorted(name for name, one in result.files.items() if one.is_counted)
    assert counted == sorted(expect["usage_counted_files"])
    assert sorted(set(result.files) - set(counted)) == sorted(expect["not_counted"])
    assert sum(roles(result).values()) == expect["messages_total"]
    assert spend(result)["total"] == expect["spend"]["total"]
    assert [(problem.code, problem.file) for problem in result.problems] == [("empty_store", "sessions.json")]


def test_053_texts_are_whole() -> None:
    result, expect = case("053")
    chars = {message.id: message.blocks[0].text.chars for message in result.only.messages}
    assert chars == {name: one["chars"] for name, one in expect["session"].items()}


def test_058_reused_ids_pair_by_position() -> None:
    result, expect = case("058")
    one = result.only
    assert [[pair.call_entry, pair.result_entry] for pair in one.pairs] == expect["pairs"]
    results = [block for message in one.messages for block in message.blocks if block.kind == "tool_result"]
    assert sum(block.is_synthetic for block in results) == expect["synthetic_results"]
    assert [(problem.code, problem.entry, problem.line) for problem in one.problems] == [
        ("result_not_adjacent", "d12", 13)
    ]
    assert spend(result) == expect["spend"]


def test_073_times_are_instants_and_never_the_order() -> None:
    result, expect = case("073")
    one = result.only
    assert [message.id for message in one.messages] == expect["conversation_order"]
    assert {entry: iso(at) for entry, at in one.entry_times.items()} == expect["instants_utc"]
    found = {problem.code: (problem.entry, problem.line) for problem in one.problems}
    assert found == {"out_of_order": ("t3", 4), "unreadable_time": ("t7", 8), "suspicious_time": ("t10", 11)}
    assert iso(one.session.started_at) == expect["session_start"]
    assert iso(one.session.ended_at) == expect["session_end_without_outliers"]


def test_075_markup_is_kept_as_text() -> None:
    result, expect = case("075")
    assert (len(result.only.compactions), roles(result).total()) == (expect["compactions"], expect["messages"]["total"])
    texts = [result.pool.get(block.text) for message in result.only.messages for block in message.blocks]
    assert any("<script>window.__xss1=1</script>" in text for text in texts)
    assert "<img src=x" in (result.only.session.title or "")
