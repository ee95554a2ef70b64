"""The trajectory in its three forms: beside the transcript, in the store's rows, exported."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from contextviz.events.compaction import SummaryStore
from contextviz.events.evidence import TracedMessage, TracedWindow
from contextviz.events.snapshot import ContextItem
from contextviz.sources.checking import confirm
from tests.sources.openclaw.build import Script, codes, script
from tests.sources.openclaw.test_cache_trace import conversation, message_of, said
from tests.sources.openclaw.tracing import CUT, CacheTrace, carrier, check_of, dated, event, read_all, user

Json = dict[str, Any]
HIDDEN = "the system prompt and the tool definitions are not in the transcript"
SIDECAR = "s-1.trajectory.jsonl"


def write(folder: Path, events: list[Json], name: str = SIDECAR) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")


def compiled(seconds: float, messages: Any, prompt: Any, run: str = "run-1", **more: Any) -> Json:
    return event("context.compiled", seconds, run, messages=messages, prompt=prompt, **more)


def test_the_first_call_of_a_run_is_held_against_what_was_compiled(tmp_path: Path) -> None:
    made = conversation()
    earlier = [message_of(made, entry) for entry in ("u1", "a1", "r1", "a2")]
    write(
        tmp_path,
        [compiled(0.2, [], "first question"), compiled(4.5, [*earlier[:2], CUT, CUT], "second question", "run-2")],
    )
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    assert [one.check is None for one in result.only.log.snapshots] == [False, True, False]
    first, last = check_of(result, 0), check_of(result, 2)
    assert (first.source, first.verdict, first.traced, first.proven) == ("trajectory", "confirmed", 1, 1)
    assert (last.verdict, last.traced, last.rebuilt, last.proven, last.by_role) == ("confirmed", 5, 5, 3, 2)
    assert result.files[SIDECAR].sessions == ("s-1",)
    assert result.only.log.snapshots[0].basis == "rules"


def test_a_count_that_differs_refutes_the_window(tmp_path: Path) -> None:
    made = conversation()
    write(tmp_path, [compiled(0.2, [CUT, CUT], "first question")])
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    found = check_of(result)
    assert (found.verdict, found.traced, found.rebuilt, found.missing) == ("refuted", 3, 1, 2)
    assert result.only.log.snapshots[0].basis == "partial"
    assert "trace_disagrees" in codes(result.only)


def test_the_prompt_of_an_announce_run_is_filled_in_for_that_run_alone(tmp_path: Path) -> None:
    made = script(version=4)
    said(made, "u1", "ask")
    made.answer("a1")
    made.call("b1", "c-1")
    made.result("r1", "c-1")
    made.answer("b2")
    said(made, "u2", "go on")
    made.answer("a2")
    history = [message_of(made, entry) for entry in ("u1", "a1")]
    write(tmp_path, [compiled(2.5, history, "the sub-agent says: done"), event("session.ended", 5.2)])
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    announce = "the sub-agent says: done"
    # Calls: a1, b1 and b2 (the run that nothing in the transcript starts), a2.
    assert [announce in result.window(call) for call in range(4)] == [False, True, True, False]
    assert result.window(1)[-1] == announce
    assert result.window(2).index(announce) == 3
    assert result.only.log.snapshots[1].basis == "rules"
    assert check_of(result, 1).verdict == "corrected"


def noted(entry: str, kind: str) -> Json:
    """A client's own entry as the trajectory notes it among the messages."""
    return {"role": "custom", "customType": kind, "content": f"context of {entry}", "display": False,
            "details": {"source": kind}, "timestamp": 1_772_445_602_000}  # fmt: skip


def with_runtime_contexts(folder: Path) -> Script:
    """Three questions, each with a runtime context of its own after it, and one entry that is sent as a message."""
    made = script()
    for number in (1, 2, 3):
        made.user(f"u{number}")
        made.add("custom_message", f"c{number}", customType="openclaw.runtime-context", content=f"context of c{number}")
        made.answer(f"a{number}")
        if number == 1:
            made.add("custom_message", "y1", customType="openclaw.sessions_yield", content="context of y1")
    made.save(folder / "s-1.jsonl")
    return made


@pytest.mark.parametrize("is_context_cut", [False, True])
def test_a_runtime_context_that_the_trajectory_notes_among_the_messages_is_no_message(
    tmp_path: Path, is_context_cut: bool
) -> None:
    made = with_runtime_contexts(tmp_path)
    alone = read_all(tmp_path)
    said = [made.entries[place]["message"] for place in (0, 2, 4, 6)]
    c1, c2 = noted("c1", "openclaw.runtime-context"), noted("c2", "openclaw.runtime-context")
    if is_context_cut:
        c1["content"] = c2["content"] = {"truncated": True, "reason": "trajectory-field-size-limit"}
    history = [said[0], c1, said[1], noted("y1", "openclaw.sessions_yield"), said[2], c2, said[3]]
    write(tmp_path, [compiled(0.2, [], "ask u1"), compiled(4.5, history[:4], "ask u2", "run-2"),
                     compiled(7.5, history, "ask u3", "run-3")])  # fmt: skip
    result = read_all(tmp_path)
    assert [result.window(call) for call in range(3)] == [alone.window(call) for call in range(3)]
    assert result.window(2) == [
        "context of c3", "ask u1", "say a1", "context of y1", "ask u2", "say a2", "ask u3",
    ]  # fmt: skip
    checks = [check_of(result, call) for call in range(3)]
    assert [(one.verdict, one.traced, one.rebuilt, one.proven) for one in checks] == [
        ("confirmed", 1, 1, 1), ("confirmed", 4, 4, 4), ("confirmed", 6, 6, 6),
    ]  # fmt: skip
    assert [one.basis for one in result.only.log.snapshots] == ["rules"] * 3


def test_a_compaction_between_the_opening_and_the_answer_leaves_the_window_unchecked(tmp_path: Path) -> None:
    made = script(version=4)
    said(made, "u1", "ask")
    made.answer("a1")
    said(made, "u2", "more")
    made.add("compaction", "c1", summary="short", firstKeptEntryId="u2", tokensBefore=100)
    made.answer("a2")
    write(tmp_path, [compiled(2.5, [CUT, CUT], "more")])
    made.save(tmp_path / "s-1.jsonl")
    assert all(one.check is None for one in read_all(tmp_path).only.log.snapshots)


def test_the_size_of_a_cut_system_prompt_is_said(tmp_path: Path) -> None:
    made = conversation()
    cut = {"truncated": True, "reason": "trajectory-field-size-limit", "originalChars": 41587, "limitChars": 32768}
    write(tmp_path, [compiled(0.2, [], "first question", systemPrompt=cut)])
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    note = f"{HIDDEN}; the trajectory gives the system prompt's size, 41,587 characters"
    assert [one.note for one in result.only.log.snapshots] == [note, note, HIDDEN]
    assert result.only.log.window(0)[0].role == "user"


def test_whole_prompt_and_tools_stand_before_the_messages(tmp_path: Path) -> None:
    made = conversation()
    tools = [{"name": "read", "description": "Reads a file.", "parameters": {"type": "object"}},
             {"name": "exec", "description": "Runs a command."}]  # fmt: skip
    write(tmp_path, [event("session.started", 0.1, toolCount=2),
                     compiled(0.2, [], "first question", systemPrompt="Be exact.", tools=tools)])  # fmt: skip
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    for call in (0, 1):
        window = result.only.log.window(call)
        assert [(one.kind, one.tool_name) for one in window[:4]] == [
            ("system", None), ("tools", "read"), ("tools", "exec"), ("injected", None),
        ]  # fmt: skip
        assert json.loads(result.pool.get(window[1].text)) == tools[0]
        assert result.only.log.snapshots[call].note is None
    assert result.only.log.window(2)[0].role == "user"


def test_definitions_of_which_one_is_cut_are_told_by_name_alone(tmp_path: Path) -> None:
    made = conversation()
    tools = [{"name": "read"}, {"name": "exec", "parameters": {"truncated": True, "reason": "depth"}}]
    write(tmp_path, [event("session.started", 0.1, toolCount=2), compiled(0.2, [], "first question", tools=tools)])
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    assert not any(one.kind == "tools" for one in result.only.log.window(0))
    assert (result.only.log.snapshots[0].note or "").endswith("; the trajectory names 2 tools: read, exec")


def test_a_catalogue_longer_than_what_was_offered_is_not_taken_for_the_tools(tmp_path: Path) -> None:
    made = conversation()
    events = [event("session.started", 0.1, toolCount=1),
              compiled(0.2, [], "first question", tools=[{"name": "read"}, {"name": "exec"}])]  # fmt: skip
    write(tmp_path, events)
    made.save(tmp_path / "s-1.jsonl")
    assert not any(one.kind == "tools" for one in read_all(tmp_path).only.log.window(0))


def test_the_cache_trace_says_which_tools_of_the_trajectory_were_offered(tmp_path: Path) -> None:
    made, trace = conversation(), CacheTrace()
    trace.row("cache:state", 0.9, options={"snapshot": {"toolDigest": "d", "toolNames": ["exec"]}})
    trace.request(1.0, [user(dated("first question"), 0.4), carrier(0.3)])
    trace.save(tmp_path)
    write(
        tmp_path,
        [compiled(0.2, [], "first question", tools=[{"name": "read"}, {"name": "exec", "description": "Runs."}])],
    )
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    tools = [one for one in result.only.log.window(0) if one.kind == "tools"]
    assert [(one.tool_name, one.state) for one in tools] == [("exec", "verbatim")]
    assert check_of(result).source == "cache_trace"


def test_a_store_with_its_own_trajectory_and_an_export_of_it_counts_once(tmp_path: Path) -> None:
    made = conversation()
    rows = [compiled(0.2, [], "first question", systemPrompt={"truncated": True, "reason": "x", "originalChars": 9})]
    store(tmp_path / "openclaw-agent.sqlite", made, rows)
    whole = compiled(0.2, [], "first question", systemPrompt="Be exact.")
    write(tmp_path, [whole, event("model.completed", 3.5)], "openclaw-trajectory-s-1/events.jsonl")
    (tmp_path / "openclaw-trajectory-s-1" / "manifest.json").write_text(
        json.dumps({"traceSchema": "openclaw-trajectory", "sessionId": "s-1", "eventCount": 2}, indent=2)
    )
    result = read_all(tmp_path)
    assert len(result.only.calls) == 3
    assert check_of(result).verdict == "confirmed"
    assert result.window(0)[0] == "Be exact."
    assert {name: one.role for name, one in result.files.items() if "trajectory" in name} == {
        "openclaw-trajectory-s-1/events.jsonl": "trace", "openclaw-trajectory-s-1/manifest.json": "trace",
    }  # fmt: skip
    assert result.problems == []


def test_redacted_bodies_of_a_trajectory_are_compared_by_role(tmp_path: Path) -> None:
    made = conversation()
    hidden = {"role": "user", "content": "first question about $WORKSPACE_DIR"}
    written = [hidden, *(message_of(made, entry) for entry in ("a1", "r1", "a2"))]
    write(tmp_path, [compiled(4.5, written, "second question", "run-2")])
    made.save(tmp_path / "s-1.jsonl")
    found = check_of(read_all(tmp_path), 2)
    assert (found.verdict, found.proven, found.by_role) == ("confirmed", 4, 1)


def test_with_a_context_engine_a_trajectory_that_differs_refutes_nothing(tmp_path: Path) -> None:
    made = conversation()
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    one = result.only
    one.store = SummaryStore(engine="lossless-claw", file="lcm.db")
    messages = (TracedMessage("user"),)
    one.traced = [TracedWindow(2, "trajectory", SIDECAR, 4, messages, is_literal=False)]
    before = result.window(2)
    confirm(one, result.pool)
    assert check_of(result, 2).verdict == "differs"
    assert (result.window(2), one.log.snapshots[2].basis) == (before, "rules")
    assert [(problem.code, problem.severity) for problem in one.problems if "trace" in problem.code] == [
        ("trace_differs", "info")
    ]


def test_a_message_that_was_folded_is_extra_and_named_so(tmp_path: Path) -> None:
    made = conversation()
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    one = result.only
    known = tuple(TracedMessage(None, entry) for entry in ("u1", "a2", "u2"))
    one.traced = [TracedWindow(2, "cache_trace", "t.jsonl", 7, known)]
    confirm(one, result.pool)
    found = check_of(result, 2)
    assert (found.verdict, found.extra, found.missing, found.proven) == ("corrected", 2, 0, 3)
    assert [item.entry for item in one.log.window(2)] == ["u1", "u1", "a2", "u2", "u2"]


def test_a_fill_of_one_call_does_not_leak_into_the_next(tmp_path: Path) -> None:
    made = conversation()
    made.save(tmp_path / "s-1.jsonl")
    result = read_all(tmp_path)
    one, text = result.only, result.pool.put("only in call 1")
    before = [result.window(call) for call in range(3)]
    added = TracedMessage("user", None, (ContextItem("user", "injected", text),), is_client=True)
    one.traced = [TracedWindow(0, "cache_trace", "t.jsonl", 1, (TracedMessage("user", "u1"), added))]
    confirm(one, result.pool)
    assert result.window(0) == [*before[0], "only in call 1"]
    assert [result.window(1), result.window(2)] == before[1:]


def store(path: Path, made: Script, trajectory: list[Json]) -> None:
    """A small store: the transcript's entries, and the trajectory's events as rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER)"
        )
        connection.execute(
            "CREATE TABLE trajectory_runtime_events (session_id TEXT, seq INTEGER, run_id TEXT, event_json TEXT)"
        )
        rows = [("s-1", number, json.dumps(line), number) for number, line in enumerate(made.lines())]
        connection.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", rows)
        runs = [("s-1", number, "run-1", json.dumps(one)) for number, one in enumerate(trajectory)]
        connection.executemany("INSERT INTO trajectory_runtime_events VALUES (?, ?, ?, ?)", runs)
    connection.close()
