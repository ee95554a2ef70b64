"""Which events are calls, and what each call was given."""

from __future__ import annotations

from pathlib import Path

from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import Rollout, transcripts, windows


def test_a_repeated_token_count_is_not_a_second_call(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.event("token_count", info=None, rate_limits={})
    rollout.message("user", "go")
    rollout.message("assistant", "done")
    rollout.usage(100, 40, 10)
    rollout.counts(rollout.total, [100, 40, 10])
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert [call.usage.prompt_tokens for call in read.calls] == [100]
    assert read.calls[0].usage.input_tokens == 60
    assert read.session.counters["token_count_events"] == 3
    assert read.session.counters["null_info_events"] == 1
    assert (read.session.window, read.session.window_basis) == (100_000, "reported")


def test_a_usage_record_and_its_token_count_are_one_call_with_the_response_id(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.message("user", "go")
    rollout.message("assistant", "done")
    rollout.record("resp_1", 100, 40, 10)
    rollout.counts(rollout.total, [100, 40, 10])
    rollout.message("user", "more")
    rollout.message("assistant", "again")
    # The other way round: some versions write the event first.
    rollout.usage(150, 100, 20)
    rollout.total = [100, 40, 10]
    rollout.record("resp_2", 150, 100, 20)
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert [(call.response_id, call.usage.total_tokens) for call in read.calls] == [("resp_1", 110), ("resp_2", 170)]
    assert [message.call_index for message in read.messages] == [None, 0, None, 1]


def test_a_total_that_falls_is_a_new_counter_and_not_a_negative_call(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.usage(500, 0, 50)
    rollout.counts([200, 0, 10], [200, 0, 10])
    rollout.counts([100, 0, 5], [500, 0, 50])
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert [call.usage.prompt_tokens for call in read.calls] == [500, 200]


def test_totals_that_moved_by_more_than_the_call_are_told(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.usage(100, 0, 10)
    rollout.counts([400, 0, 30], [200, 0, 10])
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert [(one.code, one.value) for one in read.problems] == [("count_mismatch", 110)]


def test_a_window_is_the_history_before_the_answer_began(tmp_path: Path) -> None:
    rollout = Rollout(base_instructions={"text": "be good"})
    rollout.message("user", "<environment_context><cwd>/x</cwd></environment_context>")
    rollout.message("user", "list them")
    rollout.item("reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="eA==")
    rollout.item("function_call", name="shell", arguments='{"cmd":"ls"}', call_id="c1")
    rollout.item("function_call_output", call_id="c1", output="a b")
    rollout.usage(10, 0, 1)
    rollout.message("assistant", "a and b")
    rollout.usage(20, 10, 2)
    pool = MemoryPool()
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"), pool=pool)
    first, second = windows(read, pool)
    environment = "<environment_context><cwd>/x</cwd></environment_context>"
    assert first == ["be good", environment, "list them"]
    assert second == [*first, "hm", '{"name": "shell", "arguments": {"cmd": "ls"}}', "a b"]
    kinds = [(item.role, item.kind, item.state) for item in read.log.window(1)]
    assert kinds[:3] == [
        ("developer", "system", "injected"),
        ("user", "text", "injected"),
        ("user", "text", "verbatim"),
    ]
    assert read.messages[0].blocks[0].kind == "injected"
    assert [message.is_human for message in read.messages][:2] == [False, True]
    assert read.session.title == "list them"
    (pair,) = read.pairs
    assert (pair.call_message, pair.result_message) == (3, 4)


def test_an_answer_cut_off_without_usage_does_not_shorten_the_next_window(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.message("user", "one")
    rollout.message("assistant", "I beg")
    rollout.event("turn_aborted", reason="interrupted")
    rollout.message("user", "two")
    rollout.message("assistant", "yes")
    rollout.usage(30, 0, 3)
    pool = MemoryPool()
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"), pool=pool)
    assert windows(read, pool) == [["one", "I beg", "two"]]
    assert read.failed_calls == 1


def test_a_rolled_back_turn_leaves_the_window_and_the_active_path(tmp_path: Path) -> None:
    rollout = Rollout()
    for text in ("one", "two"):
        rollout.message("user", text)
        rollout.message("assistant", f"re {text}")
        rollout.usage(10, 0, 1)
    rollout.event("thread_rolled_back", num_turns=1)
    rollout.message("user", "three")
    rollout.message("assistant", "re three")
    rollout.usage(12, 0, 1)
    pool = MemoryPool()
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"), pool=pool)
    assert windows(read, pool)[-1] == ["one", "re one", "three"]
    assert [message.on_active_path for message in read.messages] == [True, True, False, False, True, True]
    assert [call.on_active_path for call in read.calls] == [True, False, True]
    assert read.context_at_end == ["line-2", "line-3", "line-9", "line-10"]


def test_a_failed_command_is_an_error_by_the_head_of_its_result_only(tmp_path: Path) -> None:
    rollout = Rollout()
    outputs = [
        "Chunk ID: 1\nProcess exited with code 2\nOutput:\nno",
        "Process exited with code 0\nOutput:\nProcess exited with code 3\n",
        '{"output":"x","metadata":{"exit_code":1}}',
        {"content": "no", "success": False},
        [{"type": "input_text", "text": "fine"}, {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}],
    ]
    for number, output in enumerate(outputs):
        rollout.item("function_call", name="shell", arguments="not json", call_id=f"c{number}")
        rollout.item("function_call_output", call_id=f"c{number}", output=output)
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    results = [message.blocks for message in read.messages if message.role == "tool"]
    assert [blocks[0].is_error for blocks in results] == [True, False, True, True, False]
    image = results[-1][1]
    assert (image.kind, image.media_type, image.media_bytes, image.base64_chars) == ("image", "image/png", 3, 4)


def test_unknown_items_and_lines_are_kept_counted_and_told(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.item("hologram", body="x")
    rollout.add("telepathy", {"a": 1})
    rollout.item("function_call_output", call_id="never", output="lost")
    path = rollout.write(tmp_path / "a.jsonl")
    path.write_text(path.read_text("utf-8") + '{"broken\n', "utf-8")
    (read,) = transcripts(path)
    assert read.lines.unknown_types == {"response_item/hologram": 1, "telepathy": 1}
    assert read.lines.total == read.lines.read + read.lines.unknown + len(read.lines.malformed)
    assert sorted(one.value for one in read.problems if one.code == "unknown_type") == ["hologram", "telepathy"]
    assert read.orphan_results == ["line-4"]
    assert read.lines.malformed == [5]


def test_hostile_shapes_never_raise(tmp_path: Path) -> None:
    rollout = Rollout(source={"subagent": "review"}, base_instructions=7, cwd=3)
    for payload in (
        {"type": "message"},
        {"type": "message", "role": 4, "content": {"a": 1}},
        {"type": "message", "role": "user", "content": [None, 3, {"type": "input_image", "image_url": {"url": 1}}]},
        {"type": "function_call", "name": None, "arguments": "[1]"},
        {"type": "function_call_output", "output": None},
        {"type": "local_shell_call", "action": "x"},
        {"type": "image_generation_call", "result": "QUJD"},
        {"type": "reasoning", "summary": "x", "content": [None]},
    ):
        rollout.add("response_item", payload)
    rollout.event("token_count", info={"total_token_usage": "x", "last_token_usage": []})
    rollout.event("thread_rolled_back", num_turns=10**9)
    rollout.add("compacted", {"message": None, "replacement_history": [None, {"type": "x"}]})
    rollout.add("token_usage_record", {"usage": None})
    rollout.add("turn_context", {"model": []})
    (read,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert len(read.messages) == 8
    assert read.calls == []
