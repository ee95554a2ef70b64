"""Branches, copies, side chains and compactions of every age."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from contextviz.events.usage import sum_usage

from .help import OTHER, SESSION, Json, Writer, call, read_folder


def test_a_rewound_prompt_is_an_abandoned_branch_and_not_in_later_windows(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "first")
    file.answer("a1", "one", "m1")
    file.user("u2", "a wrong way")
    file.answer("a2", "two", "m2")
    file.user("u3", "a better way", parent="a1")
    file.answer("a3", "three", "m3")
    file.save()
    reading = read_folder(tmp_path)
    tree = reading.only.tree
    assert tree is not None
    assert (tree.branches, tree.branch_point, tree.active_leaf) == (2, "a1", "a3")
    assert tree.active_path == ["u1", "a1", "u3", "a3"]
    assert tree.abandoned == ["u2", "a2"]
    assert [one.on_active_path for one in reading.only.calls] == [True, False, True]
    assert reading.window(2) == [("text", "first"), ("text", "one"), ("text", "a better way")]
    assert reading.only.context_at_end == ["u1", "a1", "u3", "a3"]


def test_going_back_to_an_older_branch_gives_its_own_window(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "root")
    file.answer("a1", "A", "m1")
    file.user("u2", "left")
    file.answer("a2", "L", "m2")
    file.user("u3", "right", parent="a1")
    file.answer("a3", "R", "m3")
    file.user("u4", "left again", parent="a2")
    file.answer("a4", "L2", "m4")
    file.save()
    reading = read_folder(tmp_path)
    assert [text for _, text in reading.window(3)] == ["root", "A", "left", "L", "left again"]


def test_parallel_tool_calls_and_their_results_stay_together(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "read both")
    file.answer("a1", call("t1", path="x"), "m1", requestId="r1")
    file.answer("a2", call("t2", path="y"), "m1", requestId="r1")
    file.result("r1", "t1", "X", parent="a1")
    file.result("r2", "t2", "Y", parent="a2")
    file.answer("a3", "done", "m2")
    file.save()
    reading = read_folder(tmp_path)
    transcript = reading.only
    assert transcript.tree is not None
    assert (transcript.tree.branches, transcript.tree.abandoned) == (1, [])
    assert [pair.result_entry for pair in transcript.pairs] == ["r1", "r2"]
    assert [pair.call_entry for pair in transcript.pairs] == ["a1", "a2"]
    assert [kind for kind, _ in reading.window(1)] == ["text", "tool_call", "tool_call", "tool_result", "tool_result"]
    assert json.loads(reading.window(1)[1][1]) == {"name": "Read", "arguments": {"path": "x"}}


def test_progress_lines_carry_the_chain_and_a_missing_parent_is_reported(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "go")
    file.row("p1", "progress", data={"type": "bash_progress", "output": "…"})
    file.answer("a1", "went", "m1")
    file.user("u2", "and now", parent="never-written")
    file.answer("a2", "there", "m2")
    file.save()
    reading = read_folder(tmp_path)
    assert [text for _, text in reading.window(1)] == ["go", "went", "and now"]
    assert [one.code for one in reading.only.problems] == ["dangling_parent"]


def test_the_same_uuid_written_again_keeps_its_place_and_takes_the_last_content(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "hello")
    file.answer("a1", "draft", "m1", (10, 0, 0, 2))
    file.user("u2", "next")
    file.answer("a1", "final", "m1", (10, 0, 0, 9), parent="u1")
    file.save()
    transcript = read_folder(tmp_path).only
    assert [one.id for one in transcript.messages] == ["u1", "a1", "u2"]
    assert len(transcript.calls) == 1
    assert transcript.calls[0].usage.output_tokens == 9
    assert transcript.entries == 4


def test_a_fork_counts_only_its_own_calls_and_names_its_original(tmp_path: Path) -> None:
    original = Writer(tmp_path / f"{SESSION}.jsonl")
    original.flat(
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "timestamp": "2026-03-01T09:59:00Z"}
    )
    fork = Writer(tmp_path / f"{OTHER}.jsonl", OTHER)
    for file in (original, fork):
        file.user("u1", "shared")
        file.answer("a1", "answer", "m1", (100, 0, 0, 5), requestId="r1")
    original.user("u2", "on")
    original.answer("a2", "went on", "m2", (120, 0, 0, 5), requestId="r2")
    fork.user("v2", "aside")
    fork.answer("b2", "went aside", "n2", (130, 0, 0, 5), requestId="q2")
    original.save()
    fork.save()
    first, second = read_folder(tmp_path).transcripts
    assert (first.session.id, second.session.id) == (SESSION, OTHER)
    assert (second.session.forked_from, second.session.replayed_lines, second.session.first_own_line) == (SESSION, 2, 3)
    assert [one.id for one in first.calls] == ["m1", "m2"]
    assert [one.id for one in second.calls] == ["n2"]
    assert [item.entry for item in second.log.window(0)] == ["u1", "a1", "v2"]


def test_a_copy_of_a_file_is_a_duplicate(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        file = Writer(tmp_path / folder / f"{SESSION}.jsonl")
        file.user("u1", "x")
        file.answer("a1", "y", "m1")
        file.save()
    reading = read_folder(tmp_path)
    assert len(reading.only.calls) == 1
    assert sorted((one.role, one.is_counted) for one in reading.files.values()) == [
        ("duplicate", False),
        ("session", True),
    ]


def test_old_inline_side_chains_are_split_by_their_roots(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "ask two helpers")
    file.answer("a1", call("t1", "Task", prompt="p"), "m1")
    for name in ("one", "two"):
        file.user(f"{name}-u", f"task {name}", parent=None, isSidechain=True)
        file.answer(f"{name}-a", f"report {name}", f"m-{name}", isSidechain=True)
    file.result("r1", "t1", "both done", parent="a1")
    file.answer("a2", "fine", "m2")
    file.save()
    reading = read_folder(tmp_path)
    transcript = reading.only
    assert [one.message_count for one in transcript.subagents] == [2, 2]
    assert [one.agent is None for one in transcript.calls] == [True, False, False, True]
    assert [kind for kind, _ in reading.window(3)] == ["text", "tool_call", "tool_result"]


def test_preserved_messages_stay_after_the_summary(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "old")
    file.answer("a1", "old answer", "m1")
    file.user("u2", "recent")
    file.answer("a2", "recent answer", "m2")
    kept = {"anchorUuid": "s1", "uuids": ["u2", "a2"], "allUuids": ["u2", "a2"]}
    file.boundary("b1", trigger="auto", preTokens=900, postTokens=90, durationMs=1500, preservedMessages=kept)
    file.summary("s1", "This session is being continued … what was")
    file.user("u3", "go on")
    file.answer("a3", "on", "m3")
    file.save()
    reading = read_folder(tmp_path)
    (event,) = reading.only.compactions
    assert (event.tokens_before, event.tokens_after, event.duration_seconds) == (900, 90, 1.5)
    assert (event.kept, event.context_items) == (["u2", "a2"], ["summary b1", "u2", "a2"])
    assert (event.before_call, event.after_call) == (1, 2)
    assert [kind for kind, _ in reading.window(2)] == ["summary", "text", "text", "text"]
    assert [text for _, text in reading.window(2)][1:] == ["recent", "recent answer", "go on"]
    assert reading.only.context_at_end == ["summary b1", "u2", "a2", "u3", "a3"]
    assert reading.only.tree is not None
    assert reading.only.tree.abandoned == []


def test_a_first_line_that_continues_an_older_conversation_is_one_compaction(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl", version="1.0.30")
    file.user("s1", "This session is being continued from a previous conversation that ran out of context. …")
    file.answer("a1", "on", "m1")
    file.user("u2", "This session is being continued from a previous conversation, I read.")
    file.save()
    transcript = read_folder(tmp_path).only
    assert [(one.id, one.kind, one.trigger) for one in transcript.compactions] == [("s1", "summary", None)]
    assert [one.native_role for one in transcript.messages] == ["compact_summaries", "assistant", "user_prompts"]


def test_a_microcompaction_leaves_stubs_from_there_on(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "look")
    file.answer("a1", call("t1"), "m1")
    file.result("r1", "t1", "a long output")
    file.answer("a2", "seen", "m2")
    meta = {"trigger": "auto", "preTokens": 500, "tokensSaved": 200, "compactedToolIds": ["t1"]}
    file.row("c1", "system", subtype="microcompact_boundary", microcompactMetadata=meta)
    file.user("u2", "next")
    file.answer("a3", "ok", "m3")
    file.save()
    reading = read_folder(tmp_path)
    (event,) = reading.only.compactions
    assert (event.kind, event.tokens_before, event.tokens_after) == ("microcompact", 500, 300)
    assert reading.window(1)[2] == ("tool_result", "a long output")
    assert reading.window(2)[2][1] != "a long output"
    assert reading.only.log.window(2)[2].state == "stub"


def test_only_what_a_person_wrote_is_human(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "<command-name>/clear</command-name>")
    file.user("u2", "<task-notification>done</task-notification>", origin={"kind": "task-notification"})
    file.user("u3", "a note for the model", isMeta=True)
    file.user("u4", "[Request interrupted by user]")
    file.user("u5", "a real question")
    file.answer("x1", "API Error: 529", "e1", (0, 0, 0, 0), model="<synthetic>", isApiErrorMessage=True)
    file.answer("a1", "an answer", "m1", parent="u5")
    file.save()
    reading = read_folder(tmp_path)
    transcript = reading.only
    assert [one.id for one in transcript.messages if one.is_human] == ["u5"]
    assert [one.id for one in transcript.calls] == ["m1"]
    assert transcript.failed_calls == 1
    states = [item.state for item in transcript.log.window(0)]
    assert states == ["injected", "injected", "injected", "injected", "verbatim"]


def test_titles_come_from_this_session_only(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.flat({"type": "summary", "summary": "somebody else's", "leafUuid": "elsewhere"})
    file.user("u1", "hi")
    file.save()
    assert read_folder(tmp_path).only.session.title is None
    file.flat({"type": "summary", "summary": "greeting", "leafUuid": "u1"})
    file.save()
    assert read_folder(tmp_path).only.session.title == "greeting"
    file.flat({"type": "custom-title", "customTitle": "Mine", "sessionId": SESSION})
    file.save()
    assert read_folder(tmp_path).only.session.title == "Mine"


def test_unknown_lines_are_kept_counted_and_reported_once(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "hi")
    file.row("z1", "new-kind-of-line")
    file.row("z2", "new-kind-of-line")
    file.answer("a1", "hello", "m1")
    file.save()
    reading = read_folder(tmp_path)
    lines = reading.only.lines
    assert lines.unknown_types == {"new-kind-of-line": 2}
    assert lines.total == lines.read + lines.unknown
    assert [one.code for one in reading.only.problems] == ["unknown_type"]
    assert [text for _, text in reading.window(0)] == ["hi"]


def _hash(message: Json) -> str:
    text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_request_whose_message_is_missing_is_partial_and_says_so(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    sent = {"role": "user", "content": [{"type": "text", "text": "<system-reminder>é</system-reminder>"}]}
    said = {"role": "assistant", "content": [{"type": "text", "text": "grüße"}]}
    shape = {"system": [{"type": "text", "text": "be good"}], "tools": [{"name": "Read"}]}
    file.flat({"type": "api-request-shape", "sessionId": SESSION, "shapeHash": "s", "shape": shape})
    file.flat({"type": "api-request-blob", "sessionId": SESSION, "hash": _hash(sent), "message": sent})
    file.user("u1", "hi")
    file.flat(
        {"type": "api-request", "sessionId": SESSION, "id": "q1", "keep": 0, "tail": [_hash(sent)], "shapeHash": "s"}
    )
    file.answer("a1", "grüße", "m1", requestRef="q1")
    file.user("u2", "more")
    tail = [_hash(said), "ab" * 32]
    file.flat(
        {
            "type": "api-request",
            "sessionId": SESSION,
            "id": "q2",
            "base": "q1",
            "keep": 1,
            "tail": tail,
            "shapeHash": "s",
        }
    )
    file.answer("a2", "ok", "m2", requestRef="q2")
    file.save()
    reading = read_folder(tmp_path)
    first, second = reading.only.log.snapshots
    assert (first.basis, first.note) == ("request", None)
    assert [item.kind for item in reading.only.log.window(0)] == ["system", "tools", "injected"]
    assert (second.basis, second.note) == ("partial", "1 of its 3 messages are not in the transcript")
    assert reading.window(1)[-1] == ("text", "grüße")


@pytest.mark.parametrize(("is_unknown", "cost"), [(False, "0.5"), (True, None)])
def test_what_the_client_billed_beyond_its_rows_is_unlogged(tmp_path: Path, is_unknown: bool, cost: str | None) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "hi")
    file.answer("a1", "hello", "m1", (10, 20, 30, 5))
    models = {"a": {"inputTokens": 15, "cacheReadInputTokens": 20, "cacheCreationInputTokens": 30, "outputTokens": 9}}
    bill = {"modelUsage": models, "totalCostUSD": 0.5, "hasUnknownModelCost": is_unknown}
    file.flat({"type": "cost-state", "sessionId": SESSION, **bill})
    file.save()
    found = read_folder(tmp_path).only
    assert found.session.hints.get("total_cost_usd") == cost
    left = found.unlogged_usage
    assert left is not None
    assert (left.input_tokens, left.cache_read_tokens, left.output_tokens) == (5, 0, 4)


def test_odd_values_are_read_and_never_raise(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", None)
    file.user(
        "u2",
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}, "bare", 7],
    )
    file.row("a1", "assistant", message="not an object")
    file.row(
        "a2", "assistant", message={"id": 5, "content": {"type": "text", "text": "x"}, "usage": {"input_tokens": "12"}}
    )
    file.row("s1", "system", subtype="compact_boundary", parent=None, compactMetadata=[])
    file.row("t1", "attachment", attachment="odd", timestamp="yesterday")
    file.flat({"type": "api-request", "id": 3, "tail": [None, 4], "sessionId": SESSION})
    file.flat({"type": 9, "uuid": "q", "parentUuid": "q", "sessionId": SESSION})
    file.save()
    transcript = read_folder(tmp_path).only
    image = next(block for one in transcript.messages for block in one.blocks if block.kind == "image")
    assert (image.media_bytes, image.base64_chars, image.text.chars) == (5, 8, 0)
    assert sum_usage(one.usage for one in transcript.calls).input_tokens == 12
    assert "unreadable_time" in {one.code for one in transcript.problems}


def test_what_the_provider_does_by_itself_is_told(tmp_path: Path) -> None:
    file = Writer(tmp_path / f"{SESSION}.jsonl")
    file.user("u1", "hi")
    usage = {"input_tokens": 30, "output_tokens": 5,
             "iterations": [{"type": "message"}, {"type": "compaction"}, {"type": "message"}]}  # fmt: skip
    edits = {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3}]}
    message = {"role": "assistant", "id": "m1", "model": "m", "content": [], "usage": usage}
    file.row("a1", "assistant", message=message | {"context_management": edits})
    file.user("u2", "on")
    file.answer("a2", "once", "m2")
    file.save()
    found = read_folder(tmp_path).only

    assert [call.usage.input_tokens for call in found.calls] == [30, 10]
    told = {one.code: one.value for one in found.problems}
    assert told == {"server_context_edits": 1, "iterated_answers": 1}
