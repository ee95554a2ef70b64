from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.flowctx import FlowctxReader
from tests.sources.plain.reading import Result, read, write_lines

T0 = 1_772_359_200_000
SCHEMA = (
    "CREATE TABLE flowctx_kv (ns TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
    "expires_at_ms INTEGER, updated_at_ms INTEGER NOT NULL, PRIMARY KEY (ns, key))"
)


def handle(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def node(name: str, depth: int, first: int, last: int, children: list[str] | None = None) -> dict[str, Any]:
    value = {"id": name, "depth": depth, "coverStartTurn": first, "coverEndTurn": last, "coverEndMsgCount": 9,
             "content": f"about {first} to {last}", "estTokens": 7, "createdAtMs": T0 + first,
             "model": "m"}  # fmt: skip
    return value | ({} if children is None else {"childIds": children})


def store(path: Path, rows: list[tuple[str, str, str, int | None]]) -> Result:
    connection = sqlite3.connect(path / "flowctx.sqlite")
    connection.execute(SCHEMA)
    connection.executemany(
        "INSERT INTO flowctx_kv VALUES (?, ?, ?, ?, ?)", [(*row, T0 + n) for n, row in enumerate(rows)]
    )
    connection.commit()
    connection.close()
    return read(FlowctxReader(), path)


def test_summary_nodes_are_a_graph_with_the_unused_ones_in_the_context(tmp_path: Path) -> None:
    nodes = [node("d0-1-3", 0, 1, 3), node("d0-4-6", 0, 4, 6), node("d1-1-6", 1, 1, 6, ["d0-1-3", "d0-4-6"]),
             node("d0-7-9", 0, 7, 9)]  # fmt: skip
    result = store(tmp_path, [("summary-nodes", "s-1", json.dumps(nodes), None)])
    found = result.one

    assert found.session.id == "s-1" and found.store is not None and found.store.engine == "flowctx"
    by_id = {one.id: one for one in found.store.nodes}
    assert by_id["d1-1-6"].made_from == ["d0-1-3", "d0-4-6"] and by_id["d0-1-3"].consumers == ["d1-1-6"]
    assert {one.id: one.kind for one in found.store.nodes}["d1-1-6"] == "condensed"
    assert found.context_at_end == ["summary d1-1-6", "summary d0-7-9"]
    assert found.store.facts == {"first_turn": 1, "last_turn": 9}
    assert result.files[0].role == "store" and result.files[0].session == "s-1"


def test_originals_come_back_whole_and_under_their_hash(tmp_path: Path) -> None:
    text = "line\n" * 400 + "日本 \U0001f642"
    rows = [("refs", handle(text), text, T0 + 10), ("refs", handle("short"), "other", 2**50),
            ("refs", "odd", "x", None), ("scratchpad", "s-1", "goal: ship", None)]  # fmt: skip
    result = store(tmp_path, rows)
    found, noted = result.transcripts

    assert [message.native_role for message in found.messages] == ["original", "original", "original", "scratchpad"]
    (event,) = noted.engine_events
    assert (noted.session.id, event.type, event.data["chars"]) == ("s-1", "recall.injected", len("goal: ship"))
    assert result.texts()[0] == [text]
    assert found.messages[0].blocks[0].text.handle == handle(text) == found.messages[0].id
    assert result.codes() == ["hash_mismatch", "bad_id"]
    assert found.session.counters == {"originals": 3, "originals_expired": 1}


def test_bad_values_and_unknown_name_spaces_are_told(tmp_path: Path) -> None:
    rows = [("summary-nodes", "s-1", "{broken", None), ("summary-nodes", "s-2", json.dumps([{"depth": 1}, 7]), None),
            ("secrets", "a", "b", None)]  # fmt: skip
    result = store(tmp_path, rows)

    assert [problem.code for one in result.transcripts for problem in one.problems] == [
        "malformed_line", "malformed_entry", "malformed_entry", "unknown_type",
    ]  # fmt: skip


def test_an_empty_store_is_told(tmp_path: Path) -> None:
    result = store(tmp_path, [])

    assert result.transcripts == [] and [problem.code for problem in result.problems] == ["empty_store"]


def test_another_programs_database_is_not_ours(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "flowctx.sqlite")
    connection.execute("CREATE TABLE flowctx_kv (key TEXT, value TEXT)")
    connection.commit()
    connection.close()

    assert read(FlowctxReader(), tmp_path).files == []


def test_a_store_in_wal_mode_is_read_without_touching_its_folder(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "flowctx.sqlite")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(SCHEMA)
    connection.execute("INSERT INTO flowctx_kv VALUES ('scratchpad', 's', 'note', NULL, 1)")
    connection.commit()
    before = sorted(path.name for path in tmp_path.iterdir())
    result = read(FlowctxReader(), tmp_path)

    assert result.texts() == [["note"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    connection.close()


def test_the_case_of_the_engine_is_read(shared: Path) -> None:
    folder = shared / "cases" / "engines" / "flowctx"
    if not folder.is_dir():
        pytest.skip("the cases are not here")
    result = read(FlowctxReader(), folder)

    stores = [one for one in result.transcripts if one.store is not None]
    assert [one.session.id for one in stores] == ["session-A"]
    originals = next(one for one in result.transcripts if one.store is None)
    assert originals.problems == [] and originals.session.counters["originals"] == 6


def test_a_scratchpad_is_an_event_of_the_session_whose_summaries_are_there(tmp_path: Path) -> None:
    rows = [("summary-nodes", "s-1", json.dumps([node("d0-1-3", 0, 1, 3)]), None), ("scratchpad", "s-1", "todo", None)]
    result = store(tmp_path, rows)  # type: ignore[arg-type]

    graph, originals = result.transcripts
    assert [event.data["text"] for event in graph.engine_events] == ["todo"]
    assert result.texts(1) == [["todo"]] and originals.session.title == "Originals of flowctx.sqlite"


def test_the_log_of_continuity_is_events_of_the_sessions_it_names(tmp_path: Path) -> None:
    write_lines(tmp_path / "flowctx-sessions.jsonl", [
        {"sessionId": "s-1", "ts": T0, "turns": 4, "note": "left off at the parser", "nodes": [{}, {}]},
        {"sessionId": "s-2", "ts": T0 + 1, "text": "x" * 3000},
        {"other": 1, "ts": T0},
        "not json",
        {"sessionId": "s-1", "ts": "2026-03-01T10:00:05Z", "resumed": True},
    ])  # fmt: skip
    result = read(FlowctxReader(), tmp_path)

    first, second = result.transcripts
    assert (first.session.id, second.session.id) == ("s-1", "s-2")
    assert [(event.type, event.line) for event in first.engine_events] == [
        ("session.bootstrap", 1),
        ("session.bootstrap", 5),
    ]
    data = first.engine_events[0].data
    assert (data["turns"], data["note"], data["nodes.count"]) == (4, "left off at the parser", 2)
    assert len(str(second.engine_events[0].data["text"])) == 2000
    assert {(problem.code, problem.line) for problem in result.problems} == {
        ("malformed_line", 4), ("cut_text", None), ("unknown_type", None),
    }  # fmt: skip
    assert result.files[0].role == "trace"


def test_a_dump_is_what_the_summariser_was_asked_and_answered(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 60}
    write_lines(tmp_path / "memory" / "dump.jsonl", [
        {"sessionId": "s-1", "ts": T0, "assembled": [{"role": "user", "content": "seen"}],
         "request": {"model": "m", "system": "fold", "messages": [{"role": "user", "content": "a"}]},
         "response": {"content": "a summary", "usage": usage}},
        {"sessionId": "s-1", "ts": T0 + 9, "assembled": "text", "request": "fold this", "response": "short"},
    ])  # fmt: skip
    result = read(FlowctxReader(), tmp_path)
    found = result.one

    (call,) = found.calls
    assert (call.purpose, call.usage.prompt_tokens, call.usage.output_tokens, call.model) == ("summary", 900, 60, "m")
    assert result.windows() == [[("system", "text", "fold"), ("user", "text", "a")]]
    assert [message.native_role for message in found.messages] == [
        "system", "user", "summary", "assembled view", "prompt", "summary", "assembled view",
    ]  # fmt: skip
    assert found.session.parent == "s-1" and found.session.format == "flowctx-dump"


def test_a_log_of_requests_without_the_engines_words_is_not_taken(tmp_path: Path) -> None:
    body = {"request": {"model": "m", "messages": [{"role": "user", "content": "a"}]}, "response": {"choices": []}}
    write_lines(tmp_path / "flowctx-dump.jsonl", [body, body])
    write_lines(tmp_path / "sessions.jsonl", [{"sessionId": "s", "ts": T0, "type": "user", "uuid": "u"}])

    assert read(FlowctxReader(), tmp_path).files == []
