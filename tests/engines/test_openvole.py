"""OpenVole's replay on sessions made up here: when it compacts, what it trims, what it says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.openvole import (
    AgentMessage,
    MemoryFile,
    OpenVole,
    ToolCall,
    build_prompt,
    chunk_markdown,
    compact_messages,
    facts_before_compaction,
    format_budget,
    from_plain,
    heuristic_summary,
    history_lines,
    identity_section,
    inject_history,
    memory_section,
    parse_transcript,
    read_memory,
    read_sessions,
    search_memory,
    session_folder_name,
    trim,
    usage_cost,
)
from contextviz.engines.openvole.budget import Budget, should_compact
from contextviz.engines.registry import named
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summaries import RuleSummariser, Summariser, SummariserFailed, SummaryRequest
from contextviz.events.message import Role
from contextviz.events.run import Run
from contextviz.tokens.pool import MemoryPool
from tests.engines.building import SHORT, START, run, session

CHAT: list[tuple[Role, str]] = [("user", "begin"), *[("assistant", f"step {number}") for number in range(12)]]


def shown(material: Material, call: int, *, window: int | None = 128_000, summarise: Summariser = SHORT,
          **settings: Any) -> tuple[Run, list[str]]:  # fmt: skip
    """A run and the texts of one of its windows."""
    pool = MemoryPool()
    made = replay(material, OpenVole, RunRequest(settings, window=window), pool=pool, summarise=summarise)
    return made, [pool.get(item.text) for item in made.log.window(call)]


def events(made: Run, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in made.events if event.type == kind]


def with_tools(*outputs: str, error: bool = False) -> Material:
    """A user's message, and for each output a call, its result, and the call before each."""
    material = Material(session_id="tools")
    material.messages.append(ReplayMessage(0, "user", (Piece("text", "do it", 0),), 1, START))
    for number, output in enumerate(outputs):
        seq, name = len(material.messages), f"c{number}"
        call = json.dumps({"name": "fetch", "arguments": {"n": number}})
        material.points.append(CallPoint(seq))
        material.messages += [
            ReplayMessage(seq, "assistant",
                          (Piece("tool_call", call, 0, tool_name="fetch", tool_call_id=name),), 1, START + seq),
            ReplayMessage(seq + 1, "tool", (Piece("tool_result", output, 0, tool_name="fetch", tool_call_id=name,
                                                  is_error=error),), 1, START + seq + 1),
        ]  # fmt: skip
    material.points.append(CallPoint(len(material.messages)))
    return material


# ---- triggers ----


def test_it_is_registered() -> None:
    assert named("openvole") is OpenVole


def test_more_messages_than_the_threshold_compact_and_as_many_do_not() -> None:
    made, _ = shown(session(CHAT), 0, compactThreshold=6, keepRecent=2)

    assert [boundary.compaction.trigger for boundary in made.boundaries] == ["message-count"] * 2
    assert made.calls[made.boundaries[0].compaction.after_call or 0].messages == 7
    assert made.boundaries[0].dropped == (1, 2, 3, 4)
    assert made.boundaries[0].compaction.summary is not None


def test_no_threshold_no_compaction() -> None:
    assert shown(session(CHAT), 0, compactThreshold=0)[0].boundaries == []


def test_where_both_triggers_apply_the_window_is_the_one() -> None:
    material = session([*CHAT[:6], ("assistant", "word " * 600), ("assistant", "done")])
    settings: dict[str, Any] = {"responseReserve": 100, "compactThreshold": 6, "keepRecent": 2}
    small, _ = shown(material, 0, window=1100, **settings)
    large, _ = shown(material, 0, window=1200, **settings)

    assert [data["trigger"] for data in events(small, "compaction.evaluated")] == ["none"] * 6 + ["ratio"]
    assert events(small, "compaction.evaluated")[-1]["current"] > events(small, "compaction.evaluated")[-1]["threshold"]
    assert events(large, "compaction.evaluated")[-1]["trigger"] == "message-count"


def test_exactly_three_quarters_do_not_compact() -> None:
    assert not should_compact(Budget(0, 0, 0, 75, 0, 100))
    assert should_compact(Budget(0, 0, 0, 76, 0, 100))
    assert format_budget(Budget(0, 0, 0, 1250, 0, 1000)).endswith("Messages: 1.3K | Reserve: 0 | Free: -250 / 1.0K")


# ---- compaction ----


def test_summaries_roll_one_consumes_the_one_before() -> None:
    made, texts = shown(session(CHAT), 11, compactThreshold=6, keepRecent=2)
    first, second = made.nodes

    assert (first.kind, first.depth, first.made_from, first.consumers) == ("rolling", 0, [], [second.id])
    assert second.made_from == [first.id] and second.in_context and not first.in_context
    assert first.covers == ["1", "2", "3", "4"]
    assert texts[0] == "begin"
    assert texts[1].startswith('[Context Summary — 4 messages compacted]\n- Brain: "[Context Summary')
    assert texts[2:] == ["step 7", "step 8", "step 9", "step 10"]


def test_a_large_result_is_shrunk_once_the_brain_has_seen_it() -> None:
    material = with_tools("x" * 900, "short")
    made, texts = shown(material, 2, compactThreshold=2, keepRecent=10)

    assert [boundary.compaction.kind for boundary in made.boundaries] == ["microcompact"]
    assert texts[2] == "[fetch: success (900 chars)] " + "x" * 150 + "..."
    (compressed,) = events(made, "block.compressed")
    assert (compressed["route"], compressed["originalChars"], compressed["reversible"]) == ("shrink", 900, False)
    assert [(one.handle, one.seq) for one in made.originals] == [(compressed["hash"], 2)]
    assert made.log.window(1)[2].state == "verbatim"


def test_a_summary_by_a_model_and_the_rule_where_it_fails() -> None:
    def refuse(request: SummaryRequest) -> str:
        raise SummariserFailed("no key")

    told, texts = shown(session(CHAT), 11, compactThreshold=6, keepRecent=2, summary="llm")
    failed, other = shown(session(CHAT), 11, compactThreshold=6, keepRecent=2, summary="llm",
                          summarise=RuleSummariser("refuses", refuse))  # fmt: skip

    assert texts[1].startswith("[LLM Summary — 4 messages compacted]\nsummary of")
    assert other[1].startswith("[Context Summary — 4 messages")
    assert [data["level"] for data in events(told, "summary.created")] == ["llm", "llm"]
    assert [boundary.data["level"] for boundary in failed.boundaries] == ["fallback", "fallback"]
    assert failed.summariser_calls == 2


def test_a_result_whose_call_was_compacted_away_says_so() -> None:
    made, _ = shown(with_tools(*["out"] * 6), 6, compactThreshold=4, keepRecent=1)
    reasons = [item.reason for item in made.log.window(6)]

    assert any("its call left the window" in reason for reason in reasons)
    assert events(made, "engine.error")[0]["phase"] == "invariant"


def test_a_window_that_only_grows_keeps_its_prefix() -> None:
    made, _ = shown(with_tools(*["out"] * 6), 6)

    assert all(call.kept_items == before.items for before, call in zip(made.calls, made.calls[1:], strict=False))
    assert made.hash == shown(with_tools(*["out"] * 6), 6)[0].hash


# ---- trimming ----


def stale() -> list[AgentMessage]:
    """Six old errors, then what must stay: after the errors are gone the positions are wrong."""
    first = AgentMessage("user", "the task " * 10)
    errors = [AgentMessage("error", f"failure {number}") for number in range(6)]
    tail = [AgentMessage(role, f"{role} {'word ' * 30}") for role in ("brain", "brain", "user", "tool_result", "brain")]
    return [first, *errors, *tail]


def test_upstream_loses_what_it_protects_and_the_mended_trimmer_does_not() -> None:
    given = stale()
    upstream, mended = trim(given, 40, 9), trim(stale(), 40, 9, fixed=True)

    assert [message.role for message in upstream.messages] == ["user"]
    assert len(upstream.broken) == 4
    assert [message.role for message in mended.messages] == ["user", "brain", "user", "tool_result", "brain"]
    assert mended.broken == []


def test_the_engine_trims_by_either_rule() -> None:
    long: list[tuple[Role, str]] = [("user", "begin"), *[("assistant", "word " * 100) for _ in range(6)]]
    settings: dict[str, Any] = {"compactThreshold": 0, "keepRecent": 10, "responseReserve": 50}
    made, _ = shown(session(long), 5, window=500, **settings)
    trimmed = events(made, "message.trimmed")

    assert {data["action"] for data in trimmed} == {"drop"}
    assert made.boundaries[-1].compaction.kind == "trim"
    assert [item.message_index for item in made.log.window(5)] == [0, 3, 4, 5]
    assert shown(session(long), 5, window=500, fixed=True, **settings)[0].hash == made.hash


def test_an_old_result_is_shrunk_again_without_being_told_again() -> None:
    material = with_tools("y" * 400, *["z" * 60] * 9)
    made, _ = shown(material, 0, window=400, responseReserve=100, compactThreshold=0, keepRecent=100)

    assert sum(int(boundary.data.get("again") or 0) for boundary in made.boundaries) > 0
    assert [data["msg"] for data in events(made, "block.compressed")].count(2) == 1
    assert [one.seq for one in made.originals].count(2) == 1


# ---- bad input ----


def test_no_user_message_at_all() -> None:
    made, _ = shown(session([("assistant", "word " * 50)] * 8), 7, window=300, responseReserve=50, keepRecent=2)

    assert made.calls[0].items == 0
    assert made.calls[7].items >= 2


def test_one_message_larger_than_the_window_stays_and_is_flagged() -> None:
    made, texts = shown(session([("user", "word " * 4000), ("assistant", "yes")]), 0, window=5000, responseReserve=500)

    assert made.calls[0].is_over and made.calls[0].items == 1
    assert texts == ["word " * 4000]
    assert events(made, "compaction.finished")[-1]["reason"] == "all that is left is protected"


def test_a_window_of_nothing_and_settings_that_are_none() -> None:
    made = run(OpenVole, session(CHAT), window=0, keeprecent=3, compactThreshold="many", fixed="perhaps")

    assert any("window of 0" in note for note in made.notes)
    assert any("keepRecent" in note for note in made.notes)
    assert any("compactThreshold is a number" in note for note in made.notes)
    assert any("fixed is true or false" in note for note in made.notes)
    assert not any(call.is_over for call in made.calls)
    assert events(made, "compaction.evaluated")[0]["threshold"] is None


def test_what_is_fixed_fills_the_window_is_told_once_as_a_call_that_is_not_made() -> None:
    made, _ = shown(session(CHAT), 0, window=3000)
    (error,) = events(made, "engine.error")

    assert "more than the window of 3,000" in error["message"]
    assert all("no call: no room for messages" in (call.mode or "") for call in made.calls)
    said = "12 calls would have failed: system prompt, tools and reserve leave no room."
    assert len(made.calls) == 12 and made.notes.count(said) == 1
    assert not any("would have failed" in note for note in shown(session(CHAT), 0)[0].notes)


def test_an_empty_session_and_a_message_without_pieces() -> None:
    material = Material(points=[CallPoint(0), CallPoint(1)], messages=[ReplayMessage(0, "tool", ())])

    assert [call.items for call in run(OpenVole, material).calls] == [0, 0]


# ---- how a session becomes OpenVole's ----


def test_a_long_output_is_cut_when_it_comes_and_kept() -> None:
    made, texts = shown(with_tools("a" * 10_001), 1)

    assert texts[2] == "a" * 5000 + "... [truncated, 10001 chars total]"
    assert made.originals[0].text.chars == 10_001
    assert made.log.window(1)[2].state == "truncated"


def test_an_error_is_no_result_and_is_not_cut() -> None:
    made, texts = shown(with_tools("b" * 10_001, error=True), 1)

    assert texts[2] == "b" * 10_001
    assert events(made, "context.assembled")[1]["errors"] == 2505


def test_results_that_came_together_are_messages_of_their_own() -> None:
    pieces = tuple(Piece("tool_result", text * 700, at, tool_name="t", tool_call_id=text)
                   for at, text in enumerate("ab"))  # fmt: skip
    material = Material(
        messages=[ReplayMessage(0, "user", (Piece("text", "go", 0),), 1), ReplayMessage(1, "tool", pieces)]
    )
    material.points = [CallPoint(2), CallPoint(2)]
    made, texts = shown(material, 1, compactThreshold=1)

    assert events(made, "context.assembled")[0]["messages"] == 3
    assert texts[1:] == [f"[t: success (700 chars)] {letter * 150}..." for letter in "ab"]
    assert made.boundaries[0].dropped == ()


def test_a_task_for_each_turn_has_the_history_of_those_before() -> None:
    chat: list[tuple[Role, str]] = [
        ("user", "my name is Ada, remember it"),
        ("assistant", "noted"),
        ("user", "who am I"),
        ("assistant", "Ada"),
    ]
    made, texts = shown(session(chat), 1, tasks="turn")

    assert texts == ["my name is Ada, remember it", "noted", "who am I"]
    assert [item.state for item in made.log.window(1)] == ["injected", "injected", "verbatim"]
    assert [(one.compaction.kind, one.compaction.trigger, one.dropped) for one in made.boundaries] == [
        ("reset", "new-task", (0, 1)),
    ]  # fmt: skip
    assert shown(session(chat), 1, tasks="turn", sessionHistory=False)[1] == ["who am I"]


def test_a_history_is_not_injected_after_a_long_pause() -> None:
    material = session([("user", "one"), ("assistant", "two"), ("user", "three"), ("assistant", "four")])
    late = material.messages[2]
    material.messages[2] = ReplayMessage(2, "user", late.pieces, 2, START + 3_700_000, "m2", 2)

    assert shown(material, 1, tasks="turn")[1] == ["three"]
    assert shown(material, 1, tasks="turn", sessionTtl=90)[1] == ["one", "two", "three"]


def test_what_is_written_down_before_a_compaction_is_in_the_next_task() -> None:
    material = session([("user", "start"), ("assistant", "yes")])
    wish = ReplayMessage(2, "developer", (Piece("text", "always answer in French, please", 0),), 1, START + 2)
    material.messages.append(wish)
    for seq in range(3, 16):
        material.points.append(CallPoint(seq))
        material.messages.append(ReplayMessage(seq, "assistant", (Piece("text", "words", 0),), 1, START + seq))
    material.messages.append(ReplayMessage(16, "user", (Piece("text", "next", 0),), 2, START + 16))
    material.points.append(CallPoint(17))
    made, texts = shown(material, len(material.points) - 1, tasks="turn", compactThreshold=13)

    assert texts[0].startswith("## Agent Memory\n## Today (user)\n")
    assert 'User said: "always answer in French, please"' in texts[0]
    assert made.log.window(len(made.calls) - 1)[0].role == "system"


# ---- pure functions ----


def test_a_summary_has_a_line_for_each_message() -> None:
    summary = heuristic_summary([
        AgentMessage("brain", "x", tool_call=ToolCall("run", {"b": "q" * 41, "1": True, "no": None, "n": [1, 2.0]})),
        AgentMessage("brain", ""), AgentMessage("tool_result", "", tool_call=ToolCall("run", "text " * 20)),
        AgentMessage("tool_result", 'Error "x"'), AgentMessage("error", "e" * 121), AgentMessage("user", "hi"),
        AgentMessage("tool_result", "ok", tool_call=ToolCall("count", 5)),
    ])  # fmt: skip

    assert summary.split("\n") == [
        "[Context Summary — 7 messages compacted]",
        f'- Called run(1: true, b: "{"q" * 40}...", n: [1,2])',
        f"- Called run({('text ' * 20)[:60]}...) -> empty",
        "- Tool result: error (9 chars)",
        f"- Error: {'e' * 120}...",
        '- User: "hi"',
        "- Called count(5) -> success (2 chars)",
    ]


def test_few_messages_are_left_as_they_are() -> None:
    given = [AgentMessage("user", str(number)) for number in range(12)]

    assert compact_messages(given) == given
    assert len(compact_messages([*given, AgentMessage("user", "12")])) == 12


def test_a_role_that_is_none_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="'robot' is no role of OpenVole"):
        from_plain({"role": "robot"})


def test_a_history_ends_where_the_next_line_would_be_too_much() -> None:
    lines = [f"[10:00:0{number}] user: {'w' * 2979}" for number in range(4)]

    assert inject_history([*lines, "[10:00:09] tool:x: long", "no bracket", "[x] no colon"]).split("\n") == lines[2:]


def test_transcripts_with_torn_and_old_lines() -> None:
    entries = parse_transcript('{"ts":1,"role":"in","content":"a\\nb"}\n{"role":3}\n\n[09:00] tool:x: y: z\n{"torn')

    assert [(one.at, one.role, one.content) for one in entries] == [("", "in", "a\nb"), ("09:00", "tool:x", "y: z")]
    assert history_lines(entries) == ["[] in: a b", "[09:00] tool:x: y: z"]


def test_folders_that_are_odd_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "meta.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "a" / "note.md").write_bytes(b"\xff text")
    (tmp_path / "loose.md").write_text("loose", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "a")

    assert [(one.id, one.entries, one.meta) for one in read_sessions(tmp_path)] == [("a", (), None)]
    assert [(one.source, one.name) for one in read_memory(tmp_path)] == [("shared", "loose.md"), ("a", "note.md")]
    assert session_folder_name("../evil/s\\x") == "__evil_s_x"


def test_shared_files_are_searched_by_every_source_and_twice_by_their_own() -> None:
    files = [MemoryFile("shared", "MEMORY.md", "blue pipeline"), MemoryFile("user", "d.md", "blue fish"),
             MemoryFile("paw", "e.md", "blue whale"), MemoryFile("paw", "blank.md", " \n")]  # fmt: skip

    assert {hit.source for hit in search_memory(files, "blue", "user")} == {"user", "shared"}
    assert len(search_memory(files, "blue", "all")) == 3
    assert [hit.file for hit in search_memory(files, "blue", "shared")] == ["MEMORY.md", "MEMORY.md"]
    assert search_memory(files, "blue", "all", 1)[0].score == round(search_memory(files, "blue", "all", 1)[0].score, 3)


def test_chunks_overlap_and_a_line_that_is_too_long_is_one() -> None:
    chunks = chunk_markdown("aaaa\nbbbb\n" + "c" * 30, "p", "s", 10, 3)

    assert [(one.content, one.start_line, one.end_line) for one in chunks] == [
        ("aaaa\nbbbb", 1, 2), ("bbb\n" + "c" * 30, 2, 3),
    ]  # fmt: skip
    assert chunk_markdown("  \n ", "p", "s") == []


def test_facts_are_wishes_and_large_successes() -> None:
    old = [AgentMessage("user", "first"), AgentMessage("user", "I prefer tabs over spaces"),
           AgentMessage("user", "never"), AgentMessage("tool_result", '{"ok":true}' + "x" * 500,
                                                       tool_call=ToolCall("build"))]  # fmt: skip

    facts = facts_before_compaction([*old, *[AgentMessage("brain", "y")] * 10])
    assert facts.split("\n")[1:] == ['User said: "I prefer tabs over spaces"', "Used build successfully"]
    assert facts_before_compaction(old) == ""


def test_the_prompt_has_its_order_and_its_bounds() -> None:
    memory = memory_section("m" * 20_001)

    assert build_prompt({"memory": "M", "tools": "T", "brain": "B", "other": "O", "skills": ""}) == "B\n\nT\n\nM"
    assert memory.startswith("## Agent Memory\n") and memory.endswith("m\n\n[... truncated]")
    assert identity_section({"USER.md": " u ", "SOUL.md": "s"}) == "## Agent Identity\ns\n\n## User Profile\nu"


def test_prices_without_a_model_of_ours() -> None:
    assert usage_cost(1_000_000, "many", "no-such-model").total_cost == 2
    assert usage_cost(1_000_000, 0, "x:cloud", "ollama").total_cost == 2
    assert usage_cost(5, 5, "gpt-4o", mode="disabled").plain()["inputTokens"] == 0
