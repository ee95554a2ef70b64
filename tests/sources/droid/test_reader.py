from __future__ import annotations

from pathlib import Path

from contextviz.sources.droid import DroidReader
from contextviz.sources.files import probe
from contextviz.sources.registry import detect
from contextviz.sources.source import ALONE
from tests.sources.droid.building import Rows, full, tokens, tool
from tests.sources.plain.reading import Result, read, write, write_lines


def reading(folder: Path) -> Result:
    return read(DroidReader(), folder)


def test_messages_hooks_and_what_the_client_puts_in_are_told_apart(tmp_path: Path) -> None:
    full(tmp_path)
    result = reading(tmp_path)
    found = next(one for one in result.transcripts if one.session.id == "d-1")

    assert (found.session.title, found.session.cwd, found.session.format_version) == ("demo", "/srv", "2")
    assert [(message.id, message.role) for message in found.messages if message.agent is None] == [
        ("context-1", "user"), ("u1", "user"), ("a1", "assistant"), ("r1", "tool"), ("a2", "assistant"),
        ("r2", "tool"), ("u2", "user"), ("a3", "assistant"),
    ]  # fmt: skip
    assert [[block.kind for block in message.blocks] for message in found.messages[:4]] == [
        ["injected"], ["text", "image"], ["thinking", "tool_call"], ["tool_result"],
    ]  # fmt: skip
    assert [message.id for message in found.messages if message.is_human] == ["u1", "u2"]
    assert found.messages[3].blocks[0].tool_name == "Read"
    assert found.session.counters["hooks"] == 1 and found.failed_calls == 1
    assert [(pair.call_entry, pair.result_entry) for pair in found.pairs] == [("a1", "r1"), ("a2", "r2")]
    assert found.lines.coverage == 1 and found.lines.total == 12 + 3


def test_the_settings_tell_of_the_last_call_and_of_the_whole(tmp_path: Path) -> None:
    full(tmp_path)
    found = next(one for one in reading(tmp_path).transcripts if one.session.id == "d-1")
    last, inner = found.calls

    assert (last.entry, last.usage.prompt_tokens, last.usage.cache_read_tokens, last.usage.output_tokens) == (
        "a3", 100, 30, 5,
    )  # fmt: skip
    assert (inner.agent, inner.usage.prompt_tokens) == ("d-2", 50)
    rest = found.unlogged_usage
    assert rest is not None
    assert (rest.input_tokens, rest.cache_read_tokens, rest.cache_write_tokens, rest.output_tokens) == (
        930,
        270,
        40,
        85,
    )
    assert (found.session.hints["total_tokens"], found.session.counters["thinking_tokens"]) == (1430, 9)
    assert found.session.model == "model-x"


def test_a_compaction_keeps_what_comes_after_its_anchor(tmp_path: Path) -> None:
    full(tmp_path)
    result = reading(tmp_path)
    number = next(n for n, one in enumerate(result.transcripts) if one.session.id == "d-1")
    found = result.transcripts[number]
    one = found.compactions[0]

    assert (one.kind, one.first_kept, one.kept, one.after_call) == ("summary", "a2", ["a2", "r2"], 0)
    assert one.context_items == ["summary k1", "a2", "r2"]
    assert found.messages[one.message_index or 0].id == "u2", "it stands where the log has it"
    assert found.context_at_end == ["summary k1", "a2", "r2", "u2", "a3"]
    window = result.windows(number)[0]
    assert [(role, kind) for role, kind, _ in window] == [
        ("user", "summary"), ("user", "injected"), ("assistant", "tool_call"), ("tool", "tool_result"),
        ("user", "text"),
    ]  # fmt: skip
    assert "<summary>\nthe gist\n</summary>" in window[0][2] and window[-1][2] == "go on"


def test_results_right_after_the_anchor_go_with_their_call(tmp_path: Path) -> None:
    made = Rows()
    made.user("u1", "a")
    made.answer("a1", [tool("t1")])
    made.result("r1", "t1", "A")
    made.answer("a2", "b")
    made.compacted("k1", anchorMessage={"id": "gone", "index": 1})
    made.compacted("k2", anchorMessage={"id": "gone", "index": 99})
    made.save(tmp_path)
    found = reading(tmp_path).one

    assert [(one.kept, one.problem is None) for one in found.compactions] == [(["a2"], True), ([], False)]


def test_a_serialized_transcript_is_given_without_the_wrapper(tmp_path: Path) -> None:
    made = Rows()
    made.compacted("k1", summaryKind="provider_switch_serialization")
    made.user("u1", "a")
    made.answer("a1", "b")
    made.save(tmp_path, tokens(10, 1), {"inputTokens": 10, "outputTokens": 1})

    assert reading(tmp_path).windows()[0] == [("user", "summary", "the gist"), ("user", "text", "a")]


def test_a_sub_agent_is_part_of_the_session_that_called_it(tmp_path: Path) -> None:
    full(tmp_path)
    result = reading(tmp_path)
    found = next(one for one in result.transcripts if one.session.id == "d-1")
    one = found.subagents[0]

    assert {transcript.session.id for transcript in result.transcripts} == {"d-1", "d-3"}
    assert (one.id, one.kind, one.task, one.spawned_by_entry, one.message_count) == (
        "d-2",
        "worker",
        "sub task",
        "a2",
        2,
    )
    assert [file.session for file in result.files if file.path.endswith("d-2.jsonl")] == ["d-1"]


def test_a_sub_agent_alone_names_its_parent(tmp_path: Path) -> None:
    child = Rows("d-2", callingSessionId="d-1", callingToolUseId="t2")
    child.user("c1", "sub task")
    child.save(tmp_path)
    found = reading(tmp_path).one

    assert (found.session.id, found.session.parent, found.messages[0].is_human) == ("d-2", "d-1", False)


def test_a_session_made_from_another_counts_only_its_own_tokens(tmp_path: Path) -> None:
    full(tmp_path)
    found = next(one for one in reading(tmp_path).transcripts if one.session.id == "d-3")

    assert found.session.forked_from == "d-1"
    assert [call.usage.total_tokens for call in found.calls] == [25]
    assert found.unlogged_usage is None  # 1020 - 1000 of input and 95 - 90 of output are the call's


def test_what_a_fork_s_total_began_with_is_unknown_without_its_parent(tmp_path: Path) -> None:
    fork = Rows("d-3", parent="d-1")
    fork.user("f1", "more")
    fork.answer("f2", "yes")
    fork.save(tmp_path, tokens(1020, 95), {"inputTokens": 20, "outputTokens": 5})
    result = reading(tmp_path)

    assert result.codes() == ["carried_total"]
    assert result.one.unlogged_usage is not None and result.one.unlogged_usage.input_tokens == 1000


def test_usage_in_a_row_is_a_call_once_a_response(tmp_path: Path) -> None:
    made = Rows()
    usage = {"input_tokens": 9, "cache_read_input_tokens": 8, "output_tokens": 5}
    made.user("u1", "a")
    made.answer("a1", "b", id="m1", usage=usage)
    made.answer("a2", "c", id="m1", usage=usage)
    made.save(tmp_path, tokens(109, 15, 8), {"inputTokens": 9, "outputTokens": 5})
    result = reading(tmp_path)
    found = result.one

    assert [(call.response_id, call.usage.prompt_tokens) for call in found.calls] == [("m1", 17)]
    assert [message.call_index for message in found.messages] == [None, 0, 0]
    assert found.unlogged_usage is not None and found.unlogged_usage.input_tokens == 100
    assert [text for _, _, text in result.windows()[0]] == ["a"]


def test_no_settings_mean_no_calls_and_what_they_may_hold_is_not_opened(tmp_path: Path) -> None:
    made = Rows()
    made.user("u1", "a")
    made.answer("a1", "b")
    path = made.save(tmp_path)
    secret = {"tokenUsage": tokens(1, 1), "mcpServers": {"x": {"env": {"KEY": "k"}}}}
    write(path.with_name("d-1.settings.json"), secret)
    write(path.with_name("d-1.settings.json.bak"), {"tokenUsage": tokens(1, 1)})
    result = reading(tmp_path)

    assert result.one.calls == [] and result.one.unlogged_usage is None
    assert {one.path.rsplit("/", 1)[1]: (one.role, one.is_counted) for one in result.files} == {
        "d-1.jsonl": ("session", True), "d-1.settings.json.bak": ("ignored", False),
    }  # fmt: skip


def test_settings_without_a_session_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "x.settings.json", {"assistantActiveTimeMs": 1, "tokenUsage": tokens(1, 1)})
    result = reading(tmp_path)

    assert [(one.role, one.reason) for one in result.files] == [("index", ALONE)]
    assert result.transcripts == []


def test_of_two_records_of_one_session_the_larger_counts(tmp_path: Path) -> None:
    made = Rows()
    made.user("u1", "a")
    made.save(tmp_path / "a")
    made.answer("a1", "b")
    made.save(tmp_path / "b")
    result = reading(tmp_path)

    assert [(one.path[0], one.role) for one in result.files] == [("a", "duplicate"), ("b", "session")]
    assert len(result.one.messages) == 2


def test_damage_unknown_rows_and_wrong_types_are_told(tmp_path: Path) -> None:
    made = Rows()
    made.add("hologram", "x1")
    made.add("message", "x2", message=[1])
    made.add("message", "x3", message={"role": 5, "content": {"type": 9}})
    made.compacted("k1", summaryText=4, anchorMessage=[1])
    path = made.save(tmp_path)
    path.write_text(path.read_text() + '{broken\n{"type": "mess', encoding="utf-8")
    result = reading(tmp_path)
    lines = result.one.lines

    assert (lines.unknown_types, lines.malformed, lines.in_progress, lines.read) == ({"hologram": 1}, [6], 7, 4)
    assert sorted(result.codes()) == ["in_progress", "malformed_line", "unknown_type"]
    assert len(result.one.messages) == 2 and len(result.one.compactions) == 1


def test_an_empty_or_foreign_file_is_not_ours_and_a_session_is_no_other_reader_s(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"type": "session", "id": "1", "cwd": "/"},
                                       {"type": "message", "id": "2",
                                        "message": {"role": "user", "content": "x"}}])  # fmt: skip
    (tmp_path / "empty.jsonl").write_text("")
    assert reading(tmp_path).files == []

    path = Rows().save(tmp_path / "own")
    known = detect(probe(path))
    assert known is not None and known[0].name == "droid"
