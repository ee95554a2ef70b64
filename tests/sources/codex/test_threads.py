"""Files that belong together: forks, copies, sub-agents, indexes; and the oldest era."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path

import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.codex import CodexReader
from contextviz.sources.codex.records import line_of
from contextviz.sources.files import NamedPath, probe, read_paths
from contextviz.sources.source import ReadOptions
from contextviz.sources.unpack import unpacked
from contextviz.tokens.pool import MemoryPool
from tests.sources.codex.building import NOW, THREAD, Rollout, read, transcripts, windows

CHILD = "019e0000-ffff-7000-8000-00000000000c"
CHILD_TURN = "019e0001-0000-7000-8000-0000000000f1"


def parent_rollout() -> Rollout:
    rollout = Rollout()
    rollout.turn("019e0000-0002-7000-8000-0000000000a1")
    rollout.message("user", "build")
    rollout.message("assistant", "built")
    rollout.usage(400, 0, 20)
    return rollout


def fork_of(parent: Rollout, *, turn: str | None = CHILD_TURN) -> Rollout:
    """A fork that repeats the parent's lines at once, then goes on by itself."""
    fork = Rollout(CHILD, forked_from_id=THREAD)
    for line in parent.lines:
        value = json.loads(line)
        fork.add(value["type"], value["payload"], after=0.001)
    fork.total = list(parent.total)
    fork.turn(turn)
    fork.message("user", "ship")
    fork.message("assistant", "shipped")
    fork.usage(500, 400, 30)
    return fork


def test_a_fork_counts_only_its_own_calls_but_shows_the_whole_window(tmp_path: Path) -> None:
    parent = parent_rollout()
    paths = [fork_of(parent).write(tmp_path / "b.jsonl"), parent.write(tmp_path / "a.jsonl")]
    pool = MemoryPool()
    first, second = transcripts(*paths, pool=pool)
    assert (first.session.id, second.session.id) == (THREAD, CHILD)
    assert [call.usage.total_tokens for one in (first, second) for call in one.calls] == [420, 530]
    assert (second.session.forked_from, second.session.replayed_lines) == (THREAD, 5)
    assert second.session.first_own_line == 7
    assert windows(second, pool) == [["build", "built", "ship"]]


def test_a_fork_without_its_parent_is_cut_at_its_first_own_turn(tmp_path: Path) -> None:
    (read_fork,) = transcripts(fork_of(parent_rollout()).write(tmp_path / "b.jsonl"))
    assert [call.usage.total_tokens for call in read_fork.calls] == [530]
    assert read_fork.session.first_own_line == 7


def test_a_fork_whose_turns_have_no_ids_is_cut_by_comparing_with_its_parent(tmp_path: Path) -> None:
    parent = parent_rollout()
    fork = fork_of(parent, turn=None).write(tmp_path / "b.jsonl")
    _, second = transcripts(parent.write(tmp_path / "a.jsonl"), fork)
    assert (second.session.replayed_lines, len(second.calls)) == (5, 1)


def test_a_copy_with_its_old_times_is_none_of_the_forks_own_lines(tmp_path: Path) -> None:
    parent = parent_rollout()
    fork = Rollout(CHILD, forked_from_id=THREAD)
    head = json.loads(fork.lines[0])
    made = "2026-05-01T12:00:00Z"
    head["payload"]["timestamp"] = head["timestamp"] = made
    fork.lines = [json.dumps(head), *parent.lines]
    fork.clock += timedelta(hours=2, seconds=5)
    fork.total = list(parent.total)
    fork.turn()
    fork.message("user", "ship")
    fork.message("assistant", "shipped")
    fork.usage(500, 400, 30)
    (found,) = transcripts(fork.write(tmp_path / "b.jsonl"))
    assert [call.usage.total_tokens for call in found.calls] == [530]
    assert (found.session.replayed_lines, found.session.first_own_line) == (5, 7)


def test_a_sub_agent_that_begins_with_its_parents_lines_counts_its_own(tmp_path: Path) -> None:
    parent = parent_rollout()
    child = fork_of(parent)
    head = json.loads(child.lines[0])
    head["payload"]["source"] = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    child.lines[0] = json.dumps(head)
    paths = [child.write(tmp_path / "b.jsonl"), parent.write(tmp_path / "a.jsonl")]
    first, second = transcripts(*paths)
    assert [call.usage.total_tokens for one in (first, second) for call in one.calls] == [420, 530]
    assert (second.session.parent, second.session.forked_from) == (THREAD, THREAD)


def test_the_tools_that_a_thread_was_given_stand_before_its_messages(tmp_path: Path) -> None:
    tools = {"thread_id": THREAD, "tools": [{"name": "look", "inputSchema": {}}, "odd"]}
    rollout = Rollout(base_instructions={"text": "be exact"}, dynamic_tools=tools)
    rollout.message("user", "go")
    rollout.message("assistant", "gone")
    rollout.usage(10, 0, 1)
    (found,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    items = found.log.window(0)
    assert [(item.kind, item.tool_name) for item in items] == [("system", None), ("tools", "look"), ("text", None)]


def test_a_packed_rollout_is_read_under_its_own_name(tmp_path: Path) -> None:
    plain = parent_rollout().write(tmp_path / "plain" / "a.jsonl").read_bytes()
    packed = tmp_path / "sessions" / f"rollout-2026-05-01T10-00-00-{THREAD}.jsonl.zst"
    packed.parent.mkdir()
    packed.write_bytes(zstandard.compress(plain))
    options = ReadOptions(MemoryPool(), NOW)
    with unpacked([NamedPath(packed, packed.name)]) as opened:
        items = list(opened.all_of(read_paths(opened.paths, options)))
    (file,) = [item for item in items if isinstance(item, SourceFile)]
    (found,) = [item for item in items if isinstance(item, Transcript)]
    assert (file.path, file.role, file.size) == (packed.name, "session", packed.stat().st_size)
    assert (found.session.id, len(found.calls), found.files) == (THREAD, 1, [packed.name])


def test_a_sub_agent_is_a_session_of_its_own_with_its_parent(tmp_path: Path) -> None:
    spawn = {"parent_thread_id": THREAD, "depth": 1, "agent_nickname": "Nova", "agent_role": "explorer"}
    child = Rollout(CHILD, source={"subagent": {"thread_spawn": spawn}})
    child.message("user", "look")
    child.message("assistant", "seen")
    child.usage(10, 0, 1)
    first, second = transcripts(parent_rollout().write(tmp_path / "a.jsonl"), child.write(tmp_path / "b.jsonl"))
    assert (second.session.parent, second.session.agent, len(second.calls)) == (THREAD, "Nova", 1)
    assert second.session.replayed_lines is None
    assert first.session.parent is None


def test_a_repeated_session_meta_changes_nothing(tmp_path: Path) -> None:
    rollout = parent_rollout()
    rollout.add("session_meta", {"id": THREAD, "timestamp": rollout.stamp(), "cwd": "/elsewhere"})
    rollout.message("user", "again")
    (one,) = transcripts(rollout.write(tmp_path / "a.jsonl"))
    assert one.session.cwd == "/srv/demo"
    assert (one.session.replayed_lines, len(one.messages)) == (None, 3)


def test_a_copy_of_the_beginning_is_listed_and_not_counted(tmp_path: Path) -> None:
    rollout = parent_rollout()
    copy = rollout.write(tmp_path / "copy.jsonl")
    rollout.message("user", "more")
    items = read(copy, rollout.write(tmp_path / "whole.jsonl"))
    roles = {item.path: (item.role, item.is_counted) for item in items if isinstance(item, SourceFile)}
    assert roles == {"copy.jsonl": ("duplicate", False), "whole.jsonl": ("session", True)}
    assert len([item for item in items if isinstance(item, Transcript)]) == 1
    assert not [item for item in items if isinstance(item, ReadProblem)]


def test_the_thread_index_is_a_hint_and_never_counted(tmp_path: Path) -> None:
    path = tmp_path / "state_5.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE threads (id TEXT, rollout_path TEXT, tokens_used INTEGER, title TEXT)")
        db.execute("INSERT INTO threads VALUES (?, '/x', 999, 't')", [THREAD])
    db.close()
    items = read(path, parent_rollout().write(tmp_path / "a.jsonl"))
    (index,) = [item for item in items if isinstance(item, SourceFile) and item.role == "index"]
    assert index.reason is not None
    (one,) = [item for item in items if isinstance(item, Transcript)]
    assert one.session.hints == {"total_tokens": 999}


def test_codexs_other_stores_are_known_and_foreign_ones_are_not(tmp_path: Path) -> None:
    tables = {
        "thread_history_1.sqlite": ("thread_turns (a)", "thread_items (a)"),
        "queue_1.sqlite": ("queued_items (a)", "queued_thread_revisions (a)"),
        "state_9.sqlite": ("threads (id, title)",),
    }
    roles = {}
    for name, ones in tables.items():
        with sqlite3.connect(tmp_path / name) as db:
            for one in ones:
                db.execute(f"CREATE TABLE {one}")
        db.close()
        detection = CodexReader().detect(probe(tmp_path / name, name))
        roles[name] = detection.role if detection else None
    assert roles == {"thread_history_1.sqlite": "index", "queue_1.sqlite": "index", "state_9.sqlite": None}
    broken = tmp_path / "thread_history_2.sqlite"
    broken.write_bytes(b"SQLite format 3\x00" + b"?" * 200)
    detection = CodexReader().detect(probe(broken, broken.name))
    assert detection is not None
    assert detection.role == "index"


def test_the_bare_era_is_read_without_usage(tmp_path: Path) -> None:
    environment = "<environment_context>\n<cwd>/old/place</cwd>\n</environment_context>"
    lines = [
        {"id": THREAD, "timestamp": "2025-06-01T08:00:00Z", "instructions": "house rules", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": environment}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
        {"record_type": "state"},
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (one,) = transcripts(path)
    assert (one.session.id, one.session.cwd, one.session.title) == (THREAD, "/old/place", "hello")
    assert len(one.messages) == 4
    assert (one.calls, one.problems) == ([], [])
    assert one.lines.read == 7


def test_other_formats_are_not_taken(tmp_path: Path) -> None:
    reader = CodexReader()
    for value in (
        {"type": "session", "id": "x", "timestamp": "t", "cwd": "/"},
        {"type": "user", "sessionId": "s", "uuid": "u", "timestamp": "t"},
        {"timestamp": "t", "type": "log", "payload": {}},
        {"id": 1, "timestamp": 2},
    ):
        path = tmp_path / "x.jsonl"
        path.write_text(json.dumps(value), "utf-8")
        assert reader.detect(probe(path, "rollout-x.jsonl")) is None, value
    assert line_of({"a": 1}).kind == "no type"
