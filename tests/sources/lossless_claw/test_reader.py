"""lossless-claw stores of several ages."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.source import Found, ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.lossless_claw.building import NOW, Lcm, probe_of, read, transcripts


def folded(path: Path) -> Lcm:
    """Eight messages, two batches: {1,2} and {3,4} become a and b, then c of both; 5 and 6 become d."""
    lcm = Lcm(path)
    lcm.conversation(session_key="agent:main:main")
    for number in range(1, 9):
        role = "user" if number % 2 else "assistant"
        lcm.message(number, role, f"text {number}", f"2026-11-30 08:00:{number:02d}", transcript_entry_id=f"e{number}")
    lcm.leaf("a", [1, 2], "2026-11-30 08:00:06", depth=0)
    lcm.leaf("b", [3, 4], "2026-11-30 08:00:06", depth=0)
    lcm.condensed("c", ["a", "b"], "2026-11-30 08:00:06", depth=1, model="unknown", descendant_count=2)
    lcm.leaf("d", [5, 6], "2026-11-30 08:00:09", depth=0, model="m1")
    lcm.context("c", "d", 7, 8)
    lcm.batch("batch-1", "2026-11-30 08:00:06", "a", "b", "c")
    lcm.batch("batch-2", "2026-11-30 08:00:09", "d")
    lcm.db.commit()
    return lcm


def test_parent_rows_name_the_sources_of_a_condensed_summary(tmp_path: Path) -> None:
    (transcript,) = transcripts(folded(tmp_path / "lcm.db").path)
    assert transcript.store is not None
    nodes = {node.id: node for node in transcript.store.nodes}
    assert nodes["c"].made_from == ["a", "b"]
    assert nodes["a"].consumers == ["c"]
    assert nodes["b"].covers == ["3", "4"]
    assert [name for name, node in nodes.items() if node.in_context] == ["c", "d"]
    assert (nodes["c"].model, nodes["d"].model) == (None, "m1")


def test_published_batches_are_compactions_with_the_window_after_each(tmp_path: Path) -> None:
    (transcript,) = transcripts(folded(tmp_path / "lcm.db").path)
    assert [one.id for one in transcript.compactions] == ["batch-1", "batch-2"]
    assert [one.number for one in transcript.compactions] == [1, 2]
    assert transcript.compactions[0].context_items == ["summary c", "5"]
    assert transcript.compactions[1].context_items == ["summary c", "summary d", "7", "8"]
    assert transcript.compactions[1].first_kept == "7"
    assert transcript.compactions[0].tokens_before is None
    assert transcript.store is not None
    assert transcript.store.facts["replayed_context_matches"] == 1


def test_a_summary_is_given_to_the_model_in_the_engines_wrapper_and_escaped(tmp_path: Path) -> None:
    pool = MemoryPool()
    (transcript,) = transcripts(folded(tmp_path / "lcm.db").path, pool)
    assert transcript.store is not None
    given = {node.id: pool.get(node.given) for node in transcript.store.nodes if node.given is not None}
    assert "&lt;a&gt;" in given["a"]
    assert '<summary_ref id="b" />' in given["c"]
    assert given["c"].startswith('<summary id="c" kind="condensed" depth="1" descendant_count="2" trust="untrusted"')


def test_a_first_generation_store_is_read_without_the_columns_that_came_later(tmp_path: Path) -> None:
    lcm = Lcm(tmp_path / "lcm.db", is_old=True)
    lcm.conversation()
    lcm.message(1, "user", "one", "2026-11-30 08:00:01")
    lcm.message(2, "assistant", "two", "2026-11-30 08:00:02")
    lcm.message(3, "system", "LCM compaction leaf pass (normal): 20 -> 4", "2026-11-30 08:00:03")
    facts = {"pass": "leaf", "level": "normal", "tokensBefore": 20, "tokensAfter": 4, "createdSummaryIds": ["a"]}
    lcm.add("message_parts", part_id="p", message_id=3, part_type="compaction", ordinal=0, metadata=json.dumps(facts))
    lcm.leaf("a", [1, 2], "2026-11-30 08:00:03")
    lcm.context("a")
    lcm.db.commit()
    (transcript,) = transcripts(lcm.path)
    (compaction,) = transcript.compactions
    assert (compaction.tokens_before, compaction.tokens_after) == (20, 4)
    assert compaction.context_items == ["summary a"]
    assert compaction.message_index == 2
    assert transcript.store is not None
    assert transcript.store.nodes[0].stored_depth is None
    assert transcript.store.facts["replayed_context_matches"] == 1


def test_without_events_the_summaries_own_times_tell_when_the_context_was_folded(tmp_path: Path) -> None:
    lcm = folded(tmp_path / "lcm.db")
    lcm.db.executescript("DROP TABLE pending_compaction_batches; DROP TABLE pending_summary_nodes")
    (transcript,) = transcripts(lcm.path)
    assert [len(one.context_items) for one in transcript.compactions] == [2, 4]
    assert "no event of its own" in (transcript.compactions[0].summary_note or "")


def test_tool_calls_and_results_come_from_the_parts(tmp_path: Path) -> None:
    lcm = Lcm(tmp_path / "lcm.db")
    lcm.conversation()
    lcm.message(1, "assistant", "", "2026-11-30 08:00:01")
    lcm.message(2, "tool", "18 C", "2026-11-30 08:00:02")
    lcm.add("message_parts", part_id="a", message_id=1, part_type="tool", ordinal=0, tool_call_id="c1",
            tool_name="weather", tool_input='{"city": "Łódź"}')  # fmt: skip
    lcm.add("message_parts", part_id="b", message_id=2, part_type="text", ordinal=0, text_content="18 C",
            metadata='{"toolCallId": "c1", "toolName": "weather", "isError": true}')  # fmt: skip
    lcm.add("message_parts", part_id="c", message_id=2, part_type="hologram", ordinal=1)
    lcm.db.commit()
    pool = MemoryPool()
    (transcript,) = transcripts(lcm.path, pool)
    call, result = transcript.messages[0].blocks[0], transcript.messages[1].blocks[0]
    assert pool.get(call.text) == '{"name": "weather", "arguments": {"city": "Łódź"}}'
    assert (result.kind, result.tool_call_id, result.is_error) == ("tool_result", "c1", True)
    (pair,) = transcript.pairs
    assert (pair.call_message, pair.result_message) == (0, 1)
    assert [problem.code for problem in transcript.problems] == ["unknown_type"]


def test_conversations_stay_apart_and_internal_ones_are_marked(tmp_path: Path) -> None:
    lcm = Lcm(tmp_path / "lcm.db")
    lcm.conversation(1, "s1", session_key="agent:main:main", archived_at="2026-11-30 09:00:00")
    lcm.conversation(2, "s1", session_key="agent:main:main")
    lcm.conversation(3, "internal-session-effects-1", session_key="agent:main:internal-session-effects:1")
    lcm.conversation(4, "empty")
    for number in (1, 2, 3):
        lcm.message(number, "user", "hi", "2026-11-30 08:00:01", number)
    lcm.db.commit()
    found = transcripts(lcm.path)
    assert len({transcript.session.key for transcript in found}) == 3
    assert [transcript.session.hints.get("is_internal") for transcript in found] == [None, None, 1]
    assert [transcript.session.generation for transcript in found] == ["reset", "active", "active"]


def test_a_store_without_messages_is_a_problem_and_no_session(tmp_path: Path) -> None:
    lcm = Lcm(tmp_path / "lcm.db")
    lcm.conversation()
    lcm.db.commit()
    file, problem = read(lcm.path)
    assert isinstance(file, SourceFile)
    assert not file.is_counted
    assert isinstance(problem, ReadProblem)
    assert problem.code == "empty_store"


@pytest.mark.parametrize(
    "tables",
    ["CREATE TABLE users (id)", "CREATE TABLE dag_nodes (id); CREATE TABLE token_budgets (id)",
     "CREATE TABLE conversations (id); CREATE TABLE messages (id); CREATE TABLE summaries (id)"],
)  # fmt: skip
def test_another_projects_lcm_db_is_not_ours(tmp_path: Path, tables: str) -> None:
    path = tmp_path / "lcm.db"
    with sqlite3.connect(path) as db:
        db.executescript(tables)
    db.close()
    assert LosslessClawReader().detect(probe_of(path)) is None


def test_a_broken_file_gives_a_problem_and_reading_never_writes(tmp_path: Path) -> None:
    lcm = folded(tmp_path / "lcm.db")
    lcm.db.close()
    before = hashlib.sha256(lcm.path.read_bytes()).hexdigest()
    read(lcm.path)
    assert hashlib.sha256(lcm.path.read_bytes()).hexdigest() == before
    assert [path.name for path in tmp_path.iterdir()] == ["lcm.db"]
    probe = probe_of(lcm.path)
    lcm.path.write_bytes(b"SQLite format 3\x00 and then nothing")
    detection = LosslessClawReader().detect(probe)
    assert detection is not None
    options = ReadOptions(MemoryPool(), NOW)
    file, problem = LosslessClawReader().read([Found(probe, detection)], options)
    assert isinstance(file, SourceFile)
    assert not file.is_counted
    assert isinstance(problem, ReadProblem)
    assert problem.code == "unreadable_store"
