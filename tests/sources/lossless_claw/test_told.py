"""What an lcm.db holds beside messages and summaries: evaluations, debts, large payloads, focus briefs."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from contextviz.events.session import SourceFile
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.lossless_claw.building import NOW, Lcm, transcripts

TABLES = """
CREATE TABLE conversation_compaction_maintenance (conversation_id INTEGER, pending INTEGER, running INTEGER,
  reason TEXT, token_budget INTEGER, current_token_count INTEGER, context_threshold REAL, requested_at TEXT,
  updated_at TEXT);
CREATE TABLE conversation_compaction_telemetry (conversation_id INTEGER, last_observed_prompt_token_count INTEGER,
  last_observed_cache_read INTEGER, cache_state TEXT, model TEXT, updated_at TEXT);
CREATE TABLE large_files (file_id TEXT, conversation_id INTEGER, file_name TEXT, mime_type TEXT, byte_size INTEGER,
  storage_uri TEXT, exploration_summary TEXT, created_at TEXT);
CREATE TABLE focus_briefs (brief_id TEXT, conversation_id INTEGER, prompt TEXT, status TEXT, token_count INTEGER,
  created_at TEXT);
"""


def store(path: Path, current: int = 700) -> Lcm:
    made = Lcm(path)
    made.db.executescript(TABLES)
    made.conversation()
    made.message(1, "user", "hello", "2026-11-30 08:00:01")
    made.add(
        "conversation_compaction_maintenance", conversation_id=1, pending=1, running=0, reason="threshold",
        token_budget=1000, current_token_count=current, context_threshold=0.75, requested_at="2026-11-30 08:00:05",
        updated_at="2026-11-30 08:00:06",
    )  # fmt: skip
    made.add(
        "conversation_compaction_telemetry", conversation_id=1, last_observed_prompt_token_count=640,
        cache_state="hot", model="m", updated_at="2026-11-30 08:00:04",
    )  # fmt: skip
    made.add(
        "large_files", file_id="file_00aa", conversation_id=1, file_name="log.txt", mime_type="text/plain",
        byte_size=90_000, storage_uri="/srv/x", exploration_summary="a long log", created_at="2026-11-30 08:00:02",
    )  # fmt: skip
    made.add(
        "focus_briefs", brief_id="b1", conversation_id=1, prompt="what is open?", status="active", token_count=30,
        created_at="2026-11-30 08:00:03",
    )  # fmt: skip
    made.db.commit()
    return made


def test_each_state_is_an_event_at_the_time_it_was_written(tmp_path: Path) -> None:
    (found,) = transcripts(store(tmp_path / "lcm.db").path)
    events = {event.type: event for event in found.engine_events}

    assert [event.type for event in found.engine_events] == [
        "block.compressed", "recall.injected", "llm.call", "compaction.evaluated", "maintenance.debt",
    ]  # fmt: skip
    assert {event.origin for event in found.engine_events} == {"disk"}
    large = events["block.compressed"].data
    assert (large["key"], large["original.bytes"], large["kept"], large["kept.chars"]) == (
        "file_00aa", 90_000, "a long log", 10,
    )  # fmt: skip
    assert (events["recall.injected"].data["tokens"], events["recall.injected"].data["status"]) == (30, "active")
    assert (events["llm.call"].data["inputTokens"], events["llm.call"].data["cacheRead"]) == (640, None)
    assert events["maintenance.debt"].data["pending"] is True and events["maintenance.debt"].data["running"] is False


@pytest.mark.parametrize(("current", "should"), [(700, False), (750, False), (751, True)])
def test_whether_it_would_compact_follows_from_the_row(tmp_path: Path, current: int, should: bool) -> None:
    (found,) = transcripts(store(tmp_path / "lcm.db", current).path)
    (event,) = [one for one in found.engine_events if one.type == "compaction.evaluated"]

    assert (event.data["current"], event.data["threshold"], event.data["should"]) == (current, 750, should)
    assert event.quality == "derived" and event.did_not_fire is not should


def test_a_store_of_the_first_generation_has_none(tmp_path: Path) -> None:
    made = Lcm(tmp_path / "lcm.db", is_old=True)
    made.conversation()
    made.message(1, "user", "hello", "2026-11-30 08:00:01")
    made.db.commit()
    (found,) = transcripts(made.path)

    assert found.engine_events == []


def test_another_programs_database_of_that_name_gets_one_clear_sentence(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "lcm.db")
    connection.executescript("CREATE TABLE dag_nodes (id INTEGER); CREATE TABLE token_budgets (id INTEGER);")
    connection.commit()
    connection.close()
    (item,) = read_paths(list(walk(tmp_path)), ReadOptions(MemoryPool(), NOW))

    assert isinstance(item, SourceFile) and item.role == "ignored"
    assert item.reason == (
        "a SQLite database of another program: it is called like lossless-claw's store, but its tables are others"
        " (dag_nodes, token_budgets)"
    )
