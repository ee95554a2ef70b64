from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

from tests.sources.openclaw.build import Script, codes, read, script

SCHEMA = """
CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, agent_id TEXT);
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT, entry_json TEXT,
  spawned_by TEXT, fork_source_session_id TEXT);
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, spawned_by TEXT);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, event_zstd BLOB,
  event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq));
CREATE TABLE session_transcript_archives (session_id TEXT, generation TEXT, reason TEXT, encoding TEXT,
  archive_blob BLOB, archive_name TEXT, created_at INTEGER);
CREATE TABLE session_transcript_cold_archives (session_id TEXT, archive_name TEXT, archive_blob BLOB);
CREATE TABLE auth_profile_store (store_key TEXT, store_json TEXT);
INSERT INTO auth_profile_store VALUES ('key', 'never to be read');
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    folder = tmp_path / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as connection:
        connection.executescript(SCHEMA)
        yield connection


def fill(store: sqlite3.Connection, made: Script, *, packed: frozenset[str] = frozenset()) -> None:
    session = (made.header or {})["id"]
    for number, line in enumerate(made.lines()):
        body = json.dumps(line).encode()
        is_packed = line.get("type") in packed
        row = (session, number, None if is_packed else body.decode(), 1000 + number,
               zstandard.compress(body, 1) if is_packed else None, len(body) if is_packed else None)  # fmt: skip
        store.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)", row)
    store.commit()


def node(store: sqlite3.Connection, key: str, session: str, **entry: object) -> None:
    row = (key, session, json.dumps({"sessionId": session, **entry}))
    store.execute("INSERT INTO session_nodes (session_key, current_session_id, entry_json) VALUES (?, ?, ?)", row)
    store.commit()


def talk(session: str = "s-1", first: str = "u1") -> Script:
    made = script(session, version=4)
    made.user(first)
    made.answer(f"{first}-a")
    made.add("compaction", f"{first}-k", summary="the gist", firstKeptEntryId=f"{first}-a", tokensBefore=110)
    made.user(f"{first}-b")
    made.answer(f"{first}-c")
    return made


def test_packed_rows_hold_the_compactions(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk(), packed=frozenset({"compaction"}))
    node(store, "agent:main:main", "s-1", contextTokens=32000, compactionCount=1, label="planning")
    transcript = read(tmp_path).only
    session = transcript.session
    assert (session.format, session.agent, session.title) == ("openclaw-sqlite", "main", "planning")
    assert (session.window, session.window_basis) == (32000, "hint")
    assert (len(transcript.calls), len(transcript.compactions), codes(transcript)) == (2, 1, [])
    assert (transcript.lines.total, transcript.lines.read) == (6, 6)


def test_rows_that_cannot_be_read_are_named_and_the_rest_is_read(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    store.execute("UPDATE transcript_events SET event_json = '{broken' WHERE seq = 1")
    store.execute("INSERT INTO transcript_events VALUES ('s-1', 99, NULL, 1, x'28B52FFD00', 10)")
    store.commit()
    transcript = read(tmp_path).only
    assert transcript.lines.malformed == [1, 99]
    assert len(transcript.calls) == 2


def test_a_sub_agents_session_names_its_parent(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk("s-1"))
    fill(store, talk("s-2", "v1"))
    node(store, "agent:main:main", "s-1")
    node(store, "agent:main:subagent:1", "s-2", spawnedBy="agent:main:main")
    result = read(tmp_path)
    assert [(one.session.id, one.session.parent) for one in result.transcripts] == [("s-1", None), ("s-2", "s-1")]


def test_archives_in_the_store_are_earlier_generations(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    older = talk(first="o1")
    older.clock = 900
    body = "".join(json.dumps(line) + "\n" for line in older.lines()).encode()
    name = "s-1.jsonl.reset.2026-03-02T09-00-00.000Z.zst"
    row = ("s-1", "g1", "reset", "zstd", zstandard.compress(body), name, 1772442000000)
    store.execute("INSERT INTO session_transcript_archives VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    store.execute("INSERT INTO session_transcript_cold_archives VALUES ('s-9', 'cold-9.jsonl.zst', NULL)")
    store.commit()
    result = read(tmp_path)
    assert [(one.session.generation, len(one.calls)) for one in result.transcripts] == [("active", 2), ("reset", 2)]
    assert [(problem.code, problem.value) for problem in result.problems] == [("archive_missing", "cold-9.jsonl.zst")]


def test_an_older_transcript_file_of_a_stored_session_is_a_duplicate(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    talk().save(tmp_path / "agents" / "main" / "sessions" / "s-1.jsonl")
    result = read(tmp_path)
    assert len(result.only.calls) == 2
    assert result.files["agents/main/sessions/s-1.jsonl"].role == "duplicate"


def test_columns_that_an_older_schema_lacks_are_not_asked_for(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "openclaw-agent.sqlite")) as connection:
        connection.executescript("CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT)")
        for number, line in enumerate(talk().lines()):
            connection.execute("INSERT INTO transcript_events VALUES ('s-1', ?, ?)", (number, json.dumps(line)))
        connection.commit()
    assert len(read(tmp_path).only.calls) == 2


def test_nothing_is_written_beside_the_store(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    before = sorted((path.name, path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    read(tmp_path)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before
