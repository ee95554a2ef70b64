from __future__ import annotations

import json
from pathlib import Path

import zstandard

from tests.sources.openclaw.build import codes, read, script


def test_a_fork_counts_only_what_its_parent_has_not(tmp_path: Path) -> None:
    parent = script("p")
    parent.user("u1")
    parent.answer("a1", prompt=100)
    name = "2026-03-02T10-00-00-000Z_p.jsonl"
    fork = script("f", parentSession=f"C:\\home\\sessions\\{name}", timestamp="2026-03-02T09:00:00.000Z")
    fork.entries, fork.clock = list(parent.entries), parent.clock
    fork.user("u2")
    fork.answer("a2", prompt=300)
    fork.save(tmp_path / "2026-03-02T09-00-00-000Z_f.jsonl")
    parent.save(tmp_path / name)
    result = read(tmp_path)
    first, second = result.transcripts
    assert (first.session.id, [call.entry for call in first.calls]) == ("p", ["a1"])
    assert (second.session.forked_from, [call.entry for call in second.calls]) == ("p", ["a2"])
    assert (second.session.replayed_lines, second.session.first_own_line) == (2, 4)
    assert result.window(0, second) == ["ask u1", "say a1", "ask u2"]


def test_a_copy_of_a_whole_transcript_is_a_duplicate(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    made.save(tmp_path / "one" / "s-1.jsonl")
    made.save(tmp_path / "two" / "s-1.jsonl")
    result = read(tmp_path)
    assert len(result.only.calls) == 1
    assert sorted((one.role, one.is_counted) for one in result.files.values()) == [
        ("duplicate", False),
        ("session", True),
    ]


def test_generations_of_one_id_are_sessions_of_their_own_although_short_ids_repeat(tmp_path: Path) -> None:
    older = script()
    older.user("m1")
    older.answer("m2")
    newer = script()
    newer.clock = 600
    newer.user("m1")
    newer.answer("m2")
    older.save(tmp_path / "s-1.jsonl.reset.2026-03-02T11-00-00.000Z")
    newer.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    assert [(one.session.generation, len(one.calls)) for one in result.transcripts] == [("reset", 1), ("active", 1)]
    assert len({one.session.key for one in result.transcripts}) == 2


def test_version_1_is_a_chain_and_its_first_kept_index_counts_the_header(tmp_path: Path) -> None:
    header = {"type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/x",
              "provider": "demo", "modelId": "m"}  # fmt: skip
    usage = {"input": 5, "output": 1, "cacheRead": 0, "cacheWrite": 0}
    rows = [
        header,
        {"type": "message", "message": {"role": "user", "content": "one"}},
        {"type": "message", "message": {"role": "assistant", "content": "two", "usage": usage}},
        {"type": "message", "message": {"role": "user", "content": "three"}},
        {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 3, "tokensBefore": 6},
        {"type": "message", "message": {"role": "assistant", "content": "four", "usage": usage}},
    ]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = read(tmp_path)
    assert (result.only.session.format, result.only.session.format_version) == ("pi", "1")
    assert result.window(1)[1:] == ["three"]


def test_a_leaf_entry_moves_the_path_and_side_entries_do_not(tmp_path: Path) -> None:
    made = script(version=4)
    made.user("u1")
    made.answer("a1")
    made.user("x1")
    made.add("leaf", "l1", targetId="a1")
    made.user("u2", parent="l1")
    made.answer("a2")
    made.add("custom", "side", "a1", customType="note", data={}, appendMode="side")
    made.save(tmp_path / "s-1.jsonl")
    tree = read(tmp_path).only.tree
    assert tree is not None
    assert tree.active_path == ["u1", "a1", "u2", "a2"]


def test_a_missing_parent_is_reported_and_version_4_hangs_it_on_the_leaf(tmp_path: Path) -> None:
    for version, path in ((3, ["u2", "a2"]), (4, ["u1", "a1", "u2", "a2"])):
        made = script(version=version)
        made.user("u1")
        made.answer("a1")
        made.user("u2", parent="gone")
        made.answer("a2")
        made.save(tmp_path / str(version) / "s-1.jsonl")
        transcript = read(tmp_path / str(version)).only
        assert transcript.tree is not None
        assert transcript.tree.active_path == path
        assert codes(transcript) == ["dangling_parent"]


def test_unknown_types_are_counted_and_stay_parents(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.add("novelty", "n1")
    made.add("novelty", "n2")
    made.answer("a1")
    made.save(tmp_path / "s-1.jsonl")
    result = read(tmp_path)
    lines = result.only.lines
    assert (lines.total, lines.read, lines.unknown_types) == (5, 3, {"novelty": 2})
    assert (codes(result.only), result.window(0)) == (["unknown_type"], ["ask u1"])


def test_results_pair_by_position_and_repairs_are_never_successes(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.call("a1", "call_0")
    made.result("t1", "call_0")
    made.call("a2", "call_0")
    made.user("u2")
    made.result("t2", "call_0", "[openclaw] missing tool result in session history; inserted")
    made.result("t3", "nobody")
    made.call("a3", "call_0")
    made.save(tmp_path / "s-1.jsonl")
    transcript = read(tmp_path).only
    assert [(pair.call_entry, pair.result_entry) for pair in transcript.pairs] == [
        ("a1", "t1"),
        ("a2", "t2"),
        ("a3", None),
    ]
    assert (transcript.orphan_results, codes(transcript)) == (["t3"], ["result_not_adjacent"])
    repaired = transcript.messages[5].blocks[0]
    assert repaired.is_synthetic
    assert repaired.is_error


def test_other_usage_counts_as_spend_but_has_no_window(tmp_path: Path) -> None:
    usage = {"input": 7, "output": 1, "cacheRead": 3, "cacheWrite": 0}
    made = script()
    made.user("u1")
    made.answer("a1", prompt=100)
    made.add("usage", "w1", kind="cache-warm", provider="demo", model="demo-1", usage=usage)
    made.save(tmp_path / "s-1.jsonl")
    transcript = read(tmp_path).only
    assert [(call.purpose, call.on_active_path) for call in transcript.calls] == [("turn", True), ("turn", False)]
    assert len(transcript.log.snapshots) == 1


def test_images_are_sizes_and_never_text(tmp_path: Path) -> None:
    made = script()
    made.user("u1", [{"type": "image", "data": "QUJDRA==", "mimeType": "image/png"}])
    made.save(tmp_path / "s-1.jsonl")
    block = read(tmp_path).only.messages[0].blocks[0]
    assert (block.kind, block.media_bytes, block.base64_chars, block.text.chars) == ("image", 4, 8, 0)


def test_a_packed_archive_is_read_like_a_plain_one(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    made.answer("a1")
    plain = made.save(tmp_path / "plain").read_bytes()
    (tmp_path / "plain").unlink()
    name = "s-1.jsonl.deleted.2026-03-02T11-00-00.000Z.zst"
    (tmp_path / name).write_bytes(zstandard.compress(plain))
    result = read(tmp_path)
    assert (result.only.session.generation, len(result.only.calls)) == ("deleted", 1)
    assert result.files[name].role == "archive"


def test_bookkeeping_backups_and_traces_are_listed_and_not_counted(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    names = ["s-1.jsonl.bak.1773900000000", "s-1.checkpoint.5b0e0000-aaaa-4000-8000-0000000000cc.jsonl",
             "session-sqlite-import-archive/s-1.jsonl", "s-1.jsonl.bak-77-1773900000000"]  # fmt: skip
    for name in names:
        made.save(tmp_path / name)
    (tmp_path / "s-1.jsonl.lock").write_text('{"pid": 1}')
    (tmp_path / "s-1.trajectory.jsonl").write_text('{"traceSchema": "openclaw-trajectory", "type": "x"}\n')
    result = read(tmp_path)
    assert result.transcripts == []
    assert {name: result.files[name].role for name in names} == dict.fromkeys(names, "duplicate")
    assert result.files["s-1.jsonl.lock"].role == "ignored"
    assert result.files["s-1.trajectory.jsonl"].reason == (
        "same messages as the transcript: it checks the windows of its session"
    )
    assert not any(one.is_counted for one in result.files.values())


def test_other_agents_transcripts_are_left_to_their_readers(tmp_path: Path) -> None:
    claude = {
        "type": "user",
        "uuid": "1",
        "parentUuid": None,
        "sessionId": "s",
        "message": {"role": "user", "content": "x"},
    }
    codex = {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {}}
    (tmp_path / "claude.jsonl").write_text(json.dumps(claude) + "\n")
    (tmp_path / "rollout-1.jsonl.zst").write_bytes(zstandard.compress(json.dumps(codex).encode() + b"\n"))
    (tmp_path / "events.jsonl").write_text('{"type": "message_start", "message": {"role": "user", "content": []}}\n')
    assert read(tmp_path).files == {}


def test_without_a_header_the_name_tells_the_id_and_of_two_headers_the_first_counts(tmp_path: Path) -> None:
    made = script("inside")
    made.user("u1")
    made.answer("a1")
    bare = script()
    bare.header, bare.entries = None, made.entries
    bare.save(tmp_path / "one" / "agents" / "ops" / "sessions" / "from-the-name.jsonl")
    made.entries = [{**(made.header or {}), "id": "second"}, *made.entries]
    made.save(tmp_path / "two" / "x.jsonl")
    first, second = read(tmp_path / "one").only, read(tmp_path / "two").only
    assert (first.session.id, first.session.agent) == ("from-the-name", "ops")
    assert (second.session.id, len(second.calls)) == ("inside", 1)


def test_a_forum_topic_is_a_session_of_its_own(tmp_path: Path) -> None:
    made = script("s-1")
    made.user("u1")
    made.answer("a1")
    made.save(tmp_path / "s-1-topic-77.jsonl")
    assert read(tmp_path).only.session.id == "s-1-topic-77"


def test_a_context_that_the_client_measured_is_told_where_it_is_not_the_billed_prompt(tmp_path: Path) -> None:
    made = script()
    made.user("u1")
    for entry, state, measured in (("a1", "available", 90), ("a2", "available", 100), ("a3", "unknown", 1)):
        usage = {"input": 60, "output": 5, "cacheRead": 40, "cacheWrite": 0,
                 "contextUsage": {"state": state, "promptTokens": measured}}  # fmt: skip
        made.answer(entry, usage=usage)
    made.save(tmp_path / "s-1.jsonl")
    found = read(tmp_path).only

    assert [call.usage.prompt_tokens for call in found.calls] == [100, 100, 100]
    assert [(one.code, one.entry, one.value) for one in found.problems] == [("context_usage", "a1", 90)]
