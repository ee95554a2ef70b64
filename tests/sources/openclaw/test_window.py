from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sources.openclaw.build import codes, read, script

SUMMARY = (
    "The conversation history before this point was compacted into the following summary:\n\n"
    "<summary>\nthe gist\n</summary>"
)


def test_a_call_is_given_everything_on_its_path_in_order(tmp_path: Path) -> None:
    made = script()
    made.user("u1", "hello")
    made.call("a1", "c1")
    made.result("t1", "c1", "the file")
    made.answer("a2")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.window(0) == ["hello"]
    assert result.window(1) == ["hello", '{"name": "read", "arguments": {"path": "a1"}}', "the file"]
    kinds = [item.kind for item in result.only.log.window(1)]
    assert kinds == ["text", "tool_call", "tool_result"]


def test_after_a_compaction_the_wrapped_summary_stands_before_what_was_kept(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.user("u2")
    made.answer("a2")
    made.add("compaction", "k1", summary="the gist", firstKeptEntryId="u2", tokensBefore=210)
    made.user("u3")
    made.answer("a3")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.window(2) == [SUMMARY, "ask u2", "say a2", "ask u3"]
    one = result.only.compactions[0]
    assert (one.kept, one.context_items) == (["u2", "a2"], ["summary k1", "u2", "a2"])
    assert (one.before_call, one.after_call, one.tokens_before) == (1, 2, 210)
    assert [item.state for item in result.only.log.window(2)] == ["summary", "verbatim", "verbatim", "verbatim"]


def test_an_older_compaction_inside_the_kept_range_adds_nothing(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.add("compaction", "k1", summary="old", firstKeptEntryId="a1")
    made.user("u2")
    made.answer("a2")
    made.add("compaction", "k2", summary="the gist", firstKeptEntryId="a1")
    made.user("u3")
    made.answer("a3")
    made.save(tmp_path / "s-1.jsonl")
    assert read(tmp_path).window(2) == [SUMMARY, "say a1", "ask u2", "say a2", "ask u3"]


def test_an_abandoned_branch_has_the_window_of_its_own_path(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.user("x1")
    made.answer("x2")
    made.user("y1", parent="a1")
    made.answer("y2")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.window(1) == ["ask u1", "say a1", "ask x1"]
    assert result.window(2) == ["ask u1", "say a1", "ask y1"]
    tree = result.only.tree
    assert tree is not None
    assert (tree.branches, tree.branch_point, tree.abandoned) == (2, "a1", ["x1", "x2"])
    assert [call.on_active_path for call in result.only.calls] == [True, False, True]


def test_a_reset_keeps_only_whole_pairs(tmp_path: Path) -> None:
    made = script(version=4)
    made.user("u1")
    made.call("a1", "c1")
    made.result("t1", "c1")
    made.answer("a2")
    made.add("reset", "z1", reason="new", firstKeptEntryId="t1")
    made.user("u2")
    made.answer("a3")
    made.save(tmp_path / "s-1.jsonl")
    transcript = read(tmp_path).only
    assert transcript.context_at_end == ["a2", "u2", "a3"]
    assert (transcript.compactions[0].kind, transcript.compactions[0].trigger) == ("reset", "new")


def test_a_branch_summary_is_wrapped_as_pi_sends_it(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.add("branch_summary", "b1", fromId="a1", summary="went astray",
             usage={"input": 50, "output": 5, "cacheRead": 0, "cacheWrite": 0})  # fmt: skip
    made.user("u2")
    made.answer("a2")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.window(1)[2] == (
        "The following is a summary of a branch that this conversation came back from:\n\n"
        "<summary>\nwent astray</summary>"
    )
    assert [call.purpose for call in result.only.calls] == ["turn", "branch_summary", "turn"]
    assert len(result.only.log.snapshots) == 2
    assert result.only.context_at_end == ["u1", "a1", "summary b1", "u2", "a2"]


def test_an_edit_changes_its_target_from_there_on(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.call("a1", "c1")
    made.result("t1", "c1", "long output")
    made.answer("a2")
    made.add("context_edit", "e1", targetId="t1", replacement=[{"type": "text", "text": "[cleared]"}])
    made.user("u2")
    made.answer("a3")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert "long output" in result.window(1)
    assert "long output" not in result.window(2)
    edited = result.only.log.window(2)[2]
    assert (result.pool.get(edited.text), edited.kind, edited.state) == ("[cleared]", "tool_result", "stub")


def test_errors_aborted_answers_and_echoes_are_neither_calls_nor_sent(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("bad", [{"type": "text", "text": "half"}], stopReason="error", prompt=0, output=0)
    made.answer("echo", provider="openclaw", model="delivery-mirror", prompt=0, output=0)
    made.user("u2")
    made.answer("a1")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.window(0) == ["ask u1", "ask u2"]
    assert (len(result.only.calls), result.only.failed_calls) == (1, 1)
    assert result.only.context_at_end == ["u1", "bad", "u2", "a1"]


def test_pi_replays_its_prompt_and_starts_anew_from_a_checkpoint(tmp_path: Path) -> None:
    tool = {"name": "read", "description": "reads", "parameters": {}}
    made = script()
    made.add("message", "p1", message={"role": "system", "content": "", "toolsAdded": [tool],
                                       "sections": {"one": "You help.", "two": "<cwd>"}})  # fmt: skip
    made.user("u1")
    made.answer("a1")
    made.add("message", "p2", message={"role": "system", "content": "", "sections": {"two": None}})
    made.user("u2")
    made.answer("a2")
    made.add("compaction", "k1", summary="the gist", firstKeptEntryId="k1",
             systemMessage={"sections": {"one": "You help more."}})  # fmt: skip
    made.user("u3")
    made.answer("a3")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert result.only.session.format == "pi"
    assert result.window(0)[0] == "You help.\n\n<cwd>"
    assert result.window(1)[0] == "You help."
    assert result.only.log.window(1)[1].kind == "tools"
    after = result.window(2)
    assert (after[0], after[-2:]) == ("You help more.", [SUMMARY, "ask u3"])
    assert codes(result.only) == []


def test_version_4_dates_user_texts_and_adds_a_runtime_line_as_derived_items(tmp_path: Path) -> None:
    made = script(version=4)
    made.add("message", "u1", message={"role": "user", "content": "hello", "timestamp": 1772445600000})
    made.answer("a1")
    made.user("u2")
    made.answer("a2")
    made.save(tmp_path / "s-1.jsonl")
    (tmp_path / "sessions.json").write_text('{"agent:main:main": {"sessionId": "s-1", "contextTokens": 32000}}')
    result = read(tmp_path)
    assert result.window(1) == [
        "[Mon 2026-03-02 10:00 UTC] ",
        "hello",
        "Runtime: agent=main | session=agent:main:main | sessionId=s-1",
        "say a1",
        "[Mon 2026-03-02 10:00 UTC] ",
        "ask u2",
    ]
    injected = [item for item in result.only.log.window(1) if item.kind == "injected"]
    assert {item.basis for item in injected} == {"derived"}


def test_compactions_without_entries_leave_the_window_partly_known(tmp_path: Path) -> None:
    made = script(version=4)
    made.user("u1")
    made.answer("a1")
    made.save(tmp_path / "s-1.jsonl")
    (tmp_path / "sessions.json").write_text('{"agent:main:main": {"sessionId": "s-1", "compactionCount": 4}}')
    transcript = read(tmp_path).only
    assert transcript.log.snapshots[0].basis == "partial"
    assert codes(transcript) == ["count_mismatch"]


def test_an_answer_right_after_an_answer_was_given_more_than_the_transcript_says(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.answer("a2")
    made.save(tmp_path / "s-1.jsonl")
    assert [snapshot.basis for snapshot in read(tmp_path).only.log.snapshots] == ["rules", "partial"]


@pytest.mark.parametrize("value", [None, True, -1, "", "x", [], {}, [None, {"type": []}], 10**30, "\ud83d"])
def test_wrong_types_anywhere_are_read_around(tmp_path: Path, value: object) -> None:
    made = script(version=4)
    made.user("u1")
    made.call("a1", "c1")
    made.result("t1", "c1")
    made.add("compaction", "k1", summary="s", firstKeptEntryId="a1")
    made.answer("a2")
    lines = made.lines()
    broken = [{**line, key: value} for line in lines[1:] for key in line]
    broken += [
        {**line, "message": {**line["message"], key: value}}
        for line in lines
        if "message" in line
        for key in line["message"]
    ]
    (tmp_path / "s-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines + broken))
    counts = read(tmp_path).only.lines
    assert counts.total == counts.read + counts.unknown + len(counts.malformed) == len(lines + broken)
