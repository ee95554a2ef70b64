from __future__ import annotations

from pathlib import Path

from contextviz.sources.files import probe
from contextviz.sources.kiro import KiroReader
from contextviz.sources.registry import detect
from contextviz.sources.source import ALONE, BESIDE
from tests.sources.kiro.building import Log, full, made, saved, text
from tests.sources.plain.reading import Result, read, write, write_lines


def reading(folder: Path) -> Result:
    return read(KiroReader(), folder)


def test_a_log_is_read_with_the_document_beside_it(tmp_path: Path) -> None:
    path = made().save(tmp_path)
    result = reading(tmp_path)
    found, session = result.one, result.one.session

    assert (session.id, session.title, session.cwd, session.model) == ("k-1", "demo", "/srv", "model-x")
    assert (session.window, session.window_basis) == (200_000, "reported")
    assert session.hints["context_usage_percentage"] == "12.5"
    assert [(one.id, one.role) for one in found.messages[:4]] == [
        ("u1", "user"), ("a1", "assistant"), ("r1", "tool"), ("a2", "assistant"),
    ]  # fmt: skip
    assert [[block.kind for block in one.blocks] for one in found.messages[:3]] == [
        ["text", "image"], ["thinking", "tool_call"], ["tool_result"],
    ]  # fmt: skip
    assert found.messages[0].blocks[1].media_bytes == 2
    assert found.messages[2].blocks[0].tool_name == "read"
    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("a1", "r1")]
    assert found.messages[0].at is not None and found.messages[0].at.isoformat() == "2026-03-01T10:00:00+00:00"
    assert found.messages[1].at is None
    assert {(one.path.rsplit("/", 1)[-1], one.role, one.is_counted) for one in result.files} == {
        ("k-1.jsonl", "session", True), ("k-1.json", "index", False),
    }  # fmt: skip
    assert found.lines.coverage == 1 and result.codes() == []
    for one in (path, path.with_suffix(".json")):
        known = detect(probe(one))
        assert known is not None and known[0].name == "kiro"


def test_a_turn_of_one_answer_is_a_call_and_others_are_unlogged(tmp_path: Path) -> None:
    made().save(tmp_path)
    result = reading(tmp_path)
    found = result.one

    assert [(one.entry, one.usage.prompt_tokens, one.usage.output_tokens) for one in found.calls] == [("a3", 210, 6)]
    assert (found.calls[0].usage.cache_read_tokens, found.calls[0].usage.cache_write_tokens) == (80, 10)
    rest = found.unlogged_usage
    assert rest is not None and (rest.input_tokens, rest.output_tokens) == (900, 30)
    assert [(role, kind) for role, kind, _ in result.windows()[0]] == [
        ("user", "summary"), ("tool", "tool_result"), ("assistant", "text"), ("user", "text"),
    ]  # fmt: skip
    assert result.windows()[0][-1][2] == "more"


def test_a_compaction_keeps_what_it_names(tmp_path: Path) -> None:
    made().save(tmp_path)
    result = reading(tmp_path)
    found = result.one
    one = found.compactions[0]

    assert one.summary is not None and result.pool.get(one.summary) == "the gist"
    assert (one.kind, one.line, one.first_kept, one.kept) == ("summary", 5, "r1", ["r1", "a2"])
    assert (one.before_call, one.after_call, one.problem) == (None, 0, None)
    assert found.messages[one.message_index or 0].id == "u2", "it stands where the log has it"
    assert "SUMMARY CONTENT:\nthe gist\n" in result.windows()[0][0][2]


def test_a_cancelled_prompt_leaves_the_window(tmp_path: Path) -> None:
    made().save(tmp_path)
    found = reading(tmp_path).one

    assert [one.id for one in found.messages if not one.on_active_path] == ["u3"]
    assert found.context_at_end == ["summary line-5", "r1", "a2", "u2", "a3", "u4", "a4"]


def test_a_cancellation_after_an_answer_says_nothing(tmp_path: Path) -> None:
    log = Log()
    log.prompt("u1", text("a"))
    log.answer("a1", text("b"))
    log.add("CancelledPrompt")
    log.save(tmp_path)
    assert reading(tmp_path).one.context_at_end == ["u1", "a1"]


def test_clearing_and_going_back(tmp_path: Path) -> None:
    log = Log()
    log.prompt("u1", text("a"))
    log.add("Clear")
    log.prompt("u2", text("b"))
    log.answer("a2", text("c"))
    log.prompt("u3", text("d"))
    log.add("ResetTo", {"target_index": 1})
    log.prompt("u4", text("e"))
    log.save(tmp_path)
    found = reading(tmp_path).one

    assert found.context_at_end == ["u2", "u4"]
    assert [one.kind for one in found.compactions] == ["clear"]
    assert [one.id for one in found.messages if not one.on_active_path] == ["a2", "u3"]


def test_a_sub_agent_names_its_parent(tmp_path: Path) -> None:
    full(tmp_path)
    beside = [one.reason for one in reading(tmp_path).files if one.role == "index"]
    assert beside and set(beside) == {BESIDE}
    inner = next(one for one in reading(tmp_path).transcripts if one.session.id == "k-2")
    assert inner.session.parent == "k-1"
    assert not inner.messages[0].is_human


def test_a_log_alone_and_a_document_alone(tmp_path: Path) -> None:
    made().save(tmp_path / "a", alone=True)
    result = reading(tmp_path / "a")
    assert (result.one.session.id, result.one.session.title, result.one.calls) == ("k-1", "look", [])
    assert result.one.unlogged_usage is None

    write(tmp_path / "b" / "k-1.json", made().sidecar())
    beside = reading(tmp_path / "b")
    assert not beside.transcripts and beside.files[0].reason == ALONE


def test_unknown_kinds_and_a_cut_off_line_are_told(tmp_path: Path) -> None:
    log = Log()
    log.prompt("u1", text("a"), {"kind": "hologram", "data": 1})
    log.add("Weather", {"sun": True})
    log.rows.append({"version": "v1", "kind": "AssistantMessage", "data": [1]})
    path = log.save(tmp_path)
    path.write_text(path.read_text() + '{"version":"v1","kind":"Pro')
    found = reading(tmp_path).one

    assert found.lines.unknown_types == {"Weather": 1} and found.lines.in_progress == 4
    assert {one.value for one in found.problems if one.code == "unknown_type"} == {"Weather", "hologram"}
    assert [one.role for one in found.messages] == ["user", "assistant"]


def test_a_saved_conversation(tmp_path: Path) -> None:
    path = write(tmp_path / "c.json", saved())
    result = reading(tmp_path)
    found = result.one

    assert (found.session.id, found.session.title, found.session.cwd) == ("c-1", "old", "/srv")
    assert [(one.id, one.native_role) for one in found.messages] == [
        ("m1", "user"), ("a0", "assistant"), ("m3", "user"), ("a1", "assistant"), ("m5", "tool"), ("a2", "assistant"),
    ]  # fmt: skip
    assert found.messages[0].at is not None and found.messages[0].at.hour == 8
    assert found.messages[2].blocks[1].kind == "injected"
    failed = found.messages[4].blocks[0]
    assert failed.is_error and failed.tool_name == "execute_bash" and '"stderr": "no"' in result.text(failed)
    assert [(one.entry, one.usage.prompt_tokens, one.usage.output_tokens) for one in found.calls] == [("a1", 110, 9)]
    assert [text for _, _, text in result.windows()[0]][1:] == ["list", "hook says hi"]
    assert [(one.kind, one.after_call, one.message_index) for one in found.compactions] == [("summary", 0, 2)]
    assert found.context_at_end == ["summary summary", "m3", "a1", "m5", "a2"]
    known = detect(probe(path))
    assert known is not None and known[0].name == "kiro"


def test_older_entries_are_pairs_and_nothing_is_cut_without_bounds(tmp_path: Path) -> None:
    document = saved(valid_history_range=[0, 3], latest_summary=None)
    document["history"] = [[one["user"], one["assistant"]] for one in document["history"]]
    write(tmp_path / "c.json", document)
    found = reading(tmp_path).one
    assert len(found.messages) == 6 and not found.compactions and not found.calls


def test_what_is_left_out_without_a_summary_is_a_trim(tmp_path: Path) -> None:
    write(tmp_path / "c.json", saved(latest_summary=None))
    found = reading(tmp_path).one
    assert [one.kind for one in found.compactions] == ["trim"]
    assert found.context_at_end == ["m3", "a1", "m5", "a2"]


def test_a_session_of_the_ide(tmp_path: Path) -> None:
    history = [
        {"message": {"role": "user", "content": [{"type": "text", "text": "hello"}], "id": "x"}},
        {"message": {"role": "assistant", "content": "hi"}},
        {"message": {"role": "referee", "content": "hi"}},
    ]
    path = write(tmp_path / "s.json", {"sessionId": "i-1", "history": history})
    found = reading(tmp_path).one
    assert (found.session.id, found.session.title) == ("i-1", "hello")
    assert [one.id for one in found.messages] == ["x", "m2"]
    assert found.lines.unknown_types == {"referee": 1}
    known = detect(probe(path))
    assert known is not None and known[0].name == "kiro"


def test_of_two_files_of_a_session_the_larger_counts(tmp_path: Path) -> None:
    made().save(tmp_path)
    write_lines(tmp_path / "sessions" / "old" / "k-1.jsonl", made().rows[:2])
    result = reading(tmp_path)
    assert len(result.transcripts) == 1
    assert [one.path for one in result.files if one.role == "duplicate"] == ["sessions/old/k-1.jsonl"]


def test_bad_values_do_no_harm(tmp_path: Path) -> None:
    log = Log()
    log.prompt("u1", text("a"))
    log.add("Prompt", {"message_id": 7, "content": {"kind": "text"}, "meta": {"timestamp": "soon"}})
    log.add("ToolResults", {"message_id": "u1", "content": [None, {"kind": "toolResult", "data": 3}]})
    log.add("Compaction", {"summary": 3, "messages_snapshot": [1, {"id": "gone"}]})
    log.add("ResetTo", {"target_index": -1})
    log.turns = [{"message_ids": 3, "input_token_count": 5}]
    log.save(tmp_path)
    result = reading(tmp_path)
    assert "unreadable_time" in result.codes() and "lost_reset" in result.codes()
    assert result.one.compactions[0].problem is not None
    assert result.one.unlogged_usage is not None and result.one.unlogged_usage.input_tokens == 5

    write(tmp_path / "c.json", saved(history=[7, {}, {"user": {"content": 3}, "assistant": {"Response": 3}}],
                                     conversation_id="z", valid_history_range=["x"], latest_summary=[3]))  # fmt: skip
    assert detect(probe(tmp_path / "c.json")) is None
