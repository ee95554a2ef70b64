from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.sources.copilot_cli import CopilotCliReader
from tests.sources.copilot_cli.building import SESSION, Log, full, tool
from tests.sources.plain.reading import Result, read, write, write_lines


def reading(log: Log, folder: Path) -> Result:
    log.save(folder)
    return read(CopilotCliReader(), folder)


def test_messages_come_in_the_order_of_the_log_with_what_the_client_puts_in_marked(tmp_path: Path) -> None:
    result = reading(full(), tmp_path)
    found = result.one

    assert (found.session.id, found.session.format_version, found.session.cwd) == (SESSION, "1.0.88", "/srv/app")
    assert (found.session.title, found.session.model, found.session.window) == ("see this", "gpt-x", 128000)
    assert [message.native_role for message in found.messages[:5]] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert [(block.kind, result.text(block)) for block in found.messages[1].blocks] == [
        ("injected", "<current_datetime>t</current_datetime>\n\n"),
        ("text", "see this"),
        ("image", ""),
    ]
    assert found.messages[1].blocks[2].media_bytes == 4
    assert [block.kind for block in found.messages[2].blocks] == ["thinking", "tool_call"]
    assert [(one.call_message, one.result_message) for one in found.pairs] == [(2, 3), (4, 7)]
    assert found.orphan_results == [] and found.failed_calls == 1
    assert found.lines.coverage == 1 and found.entries == found.lines.total == 20


@pytest.mark.parametrize(
    ("more", "is_human"),
    [({}, True), ({"source": None}, True), ({"source": "user"}, True), ({"source": "autopilot"}, False),
     ({"source": "skill-pdf"}, False), ({"source": "user", "isAutopilotContinuation": True}, False)],
)  # fmt: skip
def test_only_a_prompt_of_the_user_was_typed(tmp_path: Path, more: dict[str, object], is_human: bool) -> None:
    log = Log()
    log.user("hello", **more)
    log.answer("b")
    found = reading(log, tmp_path).one

    assert found.messages[0].is_human is is_human
    assert found.session.title == ("hello" if is_human else None)


def test_a_call_is_an_answer_with_its_output_and_an_unknown_prompt(tmp_path: Path) -> None:
    found = reading(full(), tmp_path).one
    turns = [call for call in found.calls if call.purpose == "turn"]

    assert [(call.response_id, call.agent, call.usage.prompt_tokens, call.usage.output_tokens) for call in turns] == [
        ("r1", None, None, 7), ("r2", None, None, 3), ("r3", "sub-1", None, 4), ("r4", None, None, 2),
        ("r5", None, None, 6),
    ]  # fmt: skip
    assert [message.call_index for message in found.messages if message.call_index is not None] == [0, 1, 2, 3, 5]


def test_windows_hold_the_prompt_as_sent_and_no_old_thoughts(tmp_path: Path) -> None:
    windows = reading(full(), tmp_path).windows()

    assert [(role, kind) for role, kind, _ in windows[1]] == [
        ("system", "system"), ("user", "injected"), ("user", "text"), ("user", "image"), ("assistant", "tool_call"),
        ("tool", "tool_result"),
    ]  # fmt: skip
    assert windows[1][-1] == ("tool", "tool_result", "a.txt")
    assert windows[2] == [("user", "text", "look")]


def test_a_compaction_begins_the_window_anew_with_the_earlier_prompts_and_the_summary(tmp_path: Path) -> None:
    result = reading(full(), tmp_path)
    found = result.one
    one = found.compactions[0]

    assert (one.kind, one.trigger, one.tokens_before, one.tokens_after) == ("summary", "manual", 1000, 200)
    assert (one.before_call, one.after_call, one.duration_seconds, one.line) == (3, 5, 4.2, 17)
    assert found.messages[one.message_index or 0].id == "e17", "it stands where the log has it"
    assert one.summary is not None and result.pool.get(one.summary) == "the gist"
    assert one.context_items == ["summary e16"]
    assert found.context_at_end == ["summary e16", "e17", "e18"]
    window = result.windows()[-1]
    assert [(role, kind) for role, kind, _ in window] == [
        ("system", "system"), ("user", "summary"), ("user", "injected"), ("user", "text"),
    ]  # fmt: skip
    text = window[1][2]
    assert text.index("see this") < text.index("wrong way") < text.index("<summary>\nthe gist\n</summary>")
    assert [snapshot.basis for snapshot in found.log.snapshots] == ["rules"] * 4 + ["partial"]
    summary = found.calls[4]
    assert (summary.purpose, summary.usage.input_tokens, summary.usage.prompt_tokens) == ("summary", 300, 900)


def test_what_a_run_s_total_has_beyond_its_calls_is_unlogged(tmp_path: Path) -> None:
    found = reading(full(), tmp_path).one
    rest = found.unlogged_usage

    # 5000 of which 3000 and 500 are cached; the compaction's own 300, 500, 100 and 40 are a call, as are 22 of output.
    assert rest is not None
    assert (rest.input_tokens, rest.cache_read_tokens, rest.cache_write_tokens) == (1200, 2500, 400)
    assert (rest.output_tokens, rest.reasoning_tokens) == (18, 9)
    assert found.session.counters["requests"] == 2 and found.session.hints["total_tokens"] == 5080


def test_each_run_of_a_session_adds_its_own_total_and_an_open_one_none(tmp_path: Path) -> None:
    log = Log()
    log.user("a")
    log.answer("b", 10)
    log.shutdown(inputTokens=100, cacheReadTokens=0, cacheWriteTokens=0, outputTokens=10)
    log.add("session.resume", eventCount=4, resumeTime="2026-03-01T11:00:00.000Z")
    log.answer("c", 20)
    log.shutdown(inputTokens=300, cacheReadTokens=200, cacheWriteTokens=0, outputTokens=20)
    log.answer("d", 99)
    found = reading(log, tmp_path).one

    rest = found.unlogged_usage
    assert rest is not None and (rest.input_tokens, rest.cache_read_tokens, rest.output_tokens) == (200, 200, 0)
    assert "count_mismatch" not in {one.code for one in found.problems}
    assert found.session.counters["resumes"] == 1


def test_less_in_the_total_than_in_the_calls_is_told(tmp_path: Path) -> None:
    log = Log()
    log.answer("b", 50)
    log.shutdown(inputTokens=100, cacheReadTokens=0, cacheWriteTokens=0, outputTokens=10)
    result = reading(log, tmp_path)

    assert result.codes() == ["count_mismatch"]
    assert result.one.unlogged_usage is not None and result.one.unlogged_usage.output_tokens == 0


def test_tokens_by_kind_stand_in_where_the_models_metrics_are_missing(tmp_path: Path) -> None:
    log = Log()
    details = {"input": {"tokenCount": 10}, "cache_write": {"tokenCount": 70}, "output": {"tokenCount": 4}}
    log.add("session.shutdown", shutdownType="routine", modelMetrics={}, tokenDetails=details)
    rest = reading(log, tmp_path).one.unlogged_usage

    assert rest is not None and (rest.input_tokens, rest.cache_write_tokens, rest.output_tokens) == (10, 70, 4)


def test_a_usage_event_makes_the_answer_before_it_whole(tmp_path: Path) -> None:
    log = Log()
    log.user("a")
    log.answer("b", None)
    log.add("assistant.usage", model="gpt-y", inputTokens=100, cacheReadTokens=60, cacheWriteTokens=10, outputTokens=5)
    log.answer("c", 7, apiCallId="r2")
    log.add("assistant.usage", model="gpt-y", apiCallId="r2", inputTokens=120, outputTokens=7)
    log.add("assistant.usage", model="gpt-y", apiCallId="r3", inputTokens=30, outputTokens=1)
    result = reading(log, tmp_path)
    calls = result.one.calls

    assert [(call.usage.prompt_tokens, call.usage.input_tokens, call.usage.output_tokens) for call in calls] == [
        (100, 30, 5), (120, 120, 7), (30, 30, 1),
    ]  # fmt: skip
    assert [call.entry for call in calls] == ["e2", "e4", None]
    assert [text for _, _, text in result.windows()[0]] == ["<current_datetime>t</current_datetime>\n\n", "a"]
    assert [text for _, _, text in result.windows()[1]][-1] == "b"


def test_pieces_of_one_response_are_one_call(tmp_path: Path) -> None:
    log = Log()
    log.answer("b", 9, apiCallId="r1", chunkIndex=0, chunkCount=2)
    log.answer("c", 9, apiCallId="r1", chunkIndex=1, chunkCount=2)
    found = reading(log, tmp_path).one

    assert [call.usage.output_tokens for call in found.calls] == [9]
    assert [message.call_index for message in found.messages] == [0, 0]


def test_going_back_takes_messages_off_the_path_and_out_of_the_window(tmp_path: Path) -> None:
    found = reading(full(), tmp_path).one

    assert [message.native_role for message in found.messages if not message.on_active_path] == [
        "user", "assistant",
    ]  # fmt: skip
    assert [call.response_id for call in found.calls if not call.on_active_path] == ["r4"]
    assert found.session.counters["rewinds"] == 1


def test_a_sub_agent_has_a_window_and_calls_of_its_own(tmp_path: Path) -> None:
    found = reading(full(), tmp_path).one
    one = found.subagents[0]

    assert (one.id, one.kind, one.task, one.spawned_by_entry, one.message_count) == (
        "sub-1", "explore", "look around", "e5", 2,
    )  # fmt: skip
    assert [message.is_human for message in found.messages if message.role == "user"] == [True, False, True, True]


def test_earlier_versions_name_the_tool_call_that_started_a_sub_agent(tmp_path: Path) -> None:
    log = Log()
    log.answer("", 3, toolRequests=[tool("t1", "task")])
    log.add("subagent.started", toolCallId="t1", agentName="explore")
    log.answer("seen", 4, parentToolCallId="t1")
    found = reading(log, tmp_path).one

    assert [(call.agent, call.usage.output_tokens) for call in found.calls] == [(None, 3), ("t1", 4)]
    assert [(one.id, one.kind, one.message_count) for one in found.subagents] == [("t1", "explore", 1)]


def test_a_truncation_is_a_trim_of_unknown_messages(tmp_path: Path) -> None:
    log = Log()
    log.user("a")
    numbers = {"preTruncationTokensInMessages": 90, "postTruncationTokensInMessages": 60, "tokenLimit": 64}
    log.add("session.truncation", performedBy="BasicTruncator", messagesRemovedDuringTruncation=0, **numbers)
    log.add("session.truncation", performedBy="BasicTruncator", messagesRemovedDuringTruncation=2, **numbers)
    log.answer("b")
    found = reading(log, tmp_path).one

    assert [(one.kind, one.trigger, one.tokens_before, one.tokens_after) for one in found.compactions] == [
        ("trim", "BasicTruncator", 90, 60)
    ]
    assert found.compactions[0].problem is not None and found.session.window == 64
    assert [snapshot.basis for snapshot in found.log.snapshots] == ["partial"]


def test_clearing_the_context_leaves_the_system_prompt(tmp_path: Path) -> None:
    log = Log()
    log.add("system.message", role="system", content="be exact")
    log.user("a")
    log.add("session.context_cleared", messagesCleared=1)
    log.user("b")
    log.answer("c")
    result = reading(log, tmp_path)

    assert [one.kind for one in result.one.compactions] == ["reset"]
    assert [text for _, kind, text in result.windows()[0] if kind != "injected"] == ["be exact", "b"]


def test_a_system_prompt_written_again_is_no_new_message_and_another_takes_its_place(tmp_path: Path) -> None:
    log = Log()
    for text in ("one", "one", "two"):
        log.add("system.message", role="system", content=text)
    log.answer("a")
    result = reading(log, tmp_path)

    assert result.texts()[:2] == [["one"], ["two"]]
    assert result.windows()[0] == [("system", "system", "two")]
    assert result.one.lines.read == 5


def test_a_failed_compaction_changes_no_window(tmp_path: Path) -> None:
    log = Log()
    log.user("a")
    log.add("session.compaction_complete", success=False, error="no answer")
    log.answer("b")
    result = reading(log, tmp_path)

    assert result.one.compactions == [] and result.codes() == ["failed_compaction"]
    assert [text for _, _, text in result.windows()[0]][-1] == "a"


def test_unknown_types_are_counted_and_quiet_ones_are_not(tmp_path: Path) -> None:
    log = Log()
    log.add("hook.start", hookType="stop")
    log.add("session.hologram", x=1)
    log.add("session.hologram", x=2)
    path = log.save(tmp_path)
    path.write_text(path.read_text() + '{"odd": 1}\n{broken\n{"type": "session.idle"', encoding="utf-8")
    result = read(CopilotCliReader(), tmp_path)
    lines = result.one.lines

    assert lines.unknown_types == {"session.hologram": 2, "no type": 1}
    assert (lines.malformed, lines.in_progress, lines.read) == ([6], 7, 2)
    assert sorted(result.codes()) == ["in_progress", "malformed_line", "unknown_type", "unknown_type"]


def test_wrong_types_everywhere_are_no_crash(tmp_path: Path) -> None:
    log = full()
    for event in log.events:
        event["data"] = {key: ["x", {"y": None}] for key in event["data"]}
    found = reading(log, tmp_path).one

    assert found.session.id == SESSION  # by the folder
    assert found.calls == [] and found.lines.coverage == 1


def test_of_two_records_of_one_session_the_larger_counts(tmp_path: Path) -> None:
    log = full()
    log.save(tmp_path)
    write_lines(tmp_path / "session-state" / f"{SESSION}.jsonl", log.events[:4])
    result = read(CopilotCliReader(), tmp_path)

    assert {one.path.rsplit("/", 1)[1]: (one.role, one.is_counted) for one in result.files} == {
        "events.jsonl": ("session", True), f"{SESSION}.jsonl": ("duplicate", False),
    }  # fmt: skip
    assert len(result.one.calls) == 6


def test_the_document_of_the_first_versions_is_read(tmp_path: Path) -> None:
    call = {"id": "t1", "function": {"name": "bash", "arguments": '{"cmd": "ls"}'}, "type": "function"}
    chat = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "so", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "a.txt"},
        {"role": "wizard", "content": "?"},
    ]
    write(tmp_path / "session_1.json", {"sessionId": "old-1", "startTime": "2025-10-08T21:10:16.398Z",
                                        "chatMessages": chat, "timeline": [{"type": "info"}]})  # fmt: skip
    result = read(CopilotCliReader(), tmp_path)
    found = result.one

    assert (found.session.id, found.session.title) == ("old-1", "look")
    assert [message.role for message in found.messages] == ["user", "assistant", "tool"]
    assert [(one.call_message, one.result_message) for one in found.pairs] == [(1, 2)]
    assert found.messages[2].blocks[0].tool_name == "bash"
    assert found.lines.unknown_types == {"wizard": 1} and found.calls == []


def test_other_json_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path / "a.json", {"sessionId": "s", "messages": []})
    write_lines(tmp_path / "b.jsonl", [{"type": "message", "id": "1", "parentId": None, "data": {}}])
    write_lines(tmp_path / "c.jsonl", [{"type": "session.start", "data": {}}])

    assert read(CopilotCliReader(), tmp_path).files == []
