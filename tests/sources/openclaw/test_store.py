from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
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


def test_a_cold_transcript_in_the_store_is_its_session_and_one_elsewhere_is_named(
    store: sqlite3.Connection, tmp_path: Path
) -> None:
    fill(store, talk())
    body = "".join(json.dumps(line) + "\n" for line in talk("s-2", "v1").lines()).encode()
    rows = [("s-2", "s-2.jsonl.zst", zstandard.compress(body)), ("s-3", "s-3.jsonl.zst", None)]
    store.executemany("INSERT INTO session_transcript_cold_archives VALUES (?, ?, ?)", rows)
    store.commit()
    result = read(tmp_path)
    assert {one.session.id: (one.session.generation, len(one.calls)) for one in result.transcripts} == {
        "s-1": ("active", 2), "s-2": ("active", 2),
    }  # fmt: skip
    assert [(one.code, one.value) for one in result.problems] == [("archive_missing", "s-3.jsonl.zst")]


def test_a_cold_transcript_in_a_file_of_its_own_is_read_once(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    body = "".join(json.dumps(line) + "\n" for line in talk("s-2", "v1").lines()).encode()
    store.execute("INSERT INTO session_transcript_cold_archives VALUES ('s-2', 's-2.jsonl.zst', NULL)")
    store.commit()
    cold = tmp_path / "agents" / "main" / "sessions" / "cold" / "s-2.jsonl.zst"
    cold.parent.mkdir(parents=True)
    cold.write_bytes(zstandard.compress(body))
    result = read(tmp_path)
    assert sorted((one.session.id, len(one.calls)) for one in result.transcripts) == [("s-1", 2), ("s-2", 2)]
    assert result.problems == []


def test_a_window_that_began_as_a_fork_names_its_source_and_counts_its_own_calls(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as connection:
        connection.executescript(SCHEMA.replace(
            "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, spawned_by TEXT)",
            "CREATE TABLE session_windows (session_id TEXT, session_key TEXT, reason TEXT, previous_session_id TEXT)",
        ))  # fmt: skip
        fork = talk()
        fork.header = {**(fork.header or {}), "id": "s-2"}
        fork.user("w1")
        fork.answer("w1-a")
        fill(connection, talk())
        fill(connection, fork)
        rows = [("s-1", "agent:main:main", "initial", None), ("s-2", "agent:main:fork", "fork", "s-1")]
        connection.executemany("INSERT INTO session_windows VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    result = read(tmp_path)
    found = {one.session.id: (one.session.forked_from, len(one.calls)) for one in result.transcripts}
    assert found == {"s-1": (None, 2), "s-2": ("s-1", 1)}


def test_what_the_client_says_of_its_system_prompt_is_a_hint(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, talk())
    report = {"systemPrompt": {"chars": 33325, "projectContextChars": 13183}, "skills": {"promptChars": 6394},
              "tools": {"listChars": 0, "schemaChars": 6113, "entries": [{"name": "ls"}, {"name": "read"}]},
              "injectedWorkspaceFiles": [{"name": "AGENTS.md"}]}  # fmt: skip
    node(store, "agent:main:main", "s-1", systemPromptReport=report)
    hints = read(tmp_path).only.session.hints
    assert {name: hints[name] for name in hints if name != "session_key"} == {
        "system_prompt_chars": 33325, "project_context_chars": 13183, "skills_prompt_chars": 6394,
        "tool_list_chars": 0, "tool_schema_chars": 6113, "tools": 2, "workspace_files": 1,
    }  # fmt: skip


@contextmanager
def somebody_else() -> Iterator[None]:
    """As a person who owns nothing here, where the tests run as root: root may write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_frames_that_stand_only_in_the_wal_are_read_without_the_right_to_write(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="contextviz-wal-") as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "agents" / "main" / "agent"
        folder.mkdir(parents=True)
        live = tmp_path / "live.sqlite"
        with closing(sqlite3.connect(live)) as writer:
            writer.executescript(SCHEMA)
            writer.execute("PRAGMA journal_mode=WAL")
            writer.execute("PRAGMA wal_autocheckpoint=0")
            fill(writer, talk())
            target = folder / "openclaw-agent.sqlite"
            shutil.copyfile(live, target)
            shutil.copyfile(f"{live}-wal", f"{target}-wal")
            # Nothing of it is in the main file yet, so a reader that leaves the WAL out sees an empty session.
            with closing(sqlite3.connect(f"file:{target}?immutable=1", uri=True)) as alone:
                assert alone.execute("SELECT count(*) FROM transcript_events").fetchone() == (0,)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        try:
            with somebody_else():
                with pytest.raises(PermissionError):
                    (folder / "probe").touch()
                transcript = read(Path(name)).only
        finally:
            folder.chmod(0o755)
        assert (len(transcript.calls), len(transcript.compactions)) == (2, 1)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
