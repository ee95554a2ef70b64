"""Cortext's compaction state over its versions, and the plain tables of its memory."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.cortext import CortextReader
from contextviz.sources.cortext.state import is_state
from tests.sources.plain.reading import Result, read, write

T0 = 1_772_359_200_000
SCHEMA = (
    "CREATE TABLE memories (memory_id INTEGER PRIMARY KEY, source_id TEXT, kind TEXT, strength REAL,"
    " retrieved_count INTEGER, created_at INTEGER)",
    "CREATE TABLE signals (signal_id INTEGER PRIMARY KEY, memory_id INTEGER, source_id TEXT, timestamp INTEGER,"
    " modality TEXT, relevance REAL, write_decision INTEGER, created_at INTEGER)",
    "CREATE TABLE associations (source_memory_id INTEGER, target_memory_id INTEGER, weight REAL)",
    "CREATE TABLE episodes (episode_id INTEGER PRIMARY KEY, start_ts INTEGER)",
    "CREATE TABLE memory_evictions (memory_id INTEGER, reason TEXT, created_at INTEGER)",
    "CREATE TABLE memory_reconstructions (memory_id INTEGER, trigger TEXT, created_at INTEGER)",
    "CREATE TABLE credentials (secret TEXT)",
)


def anchor(text: str, dropped: int, at: int = T0) -> dict[str, Any]:
    return {"role": "user", "textPrefix": text, "dropped": dropped, "ts": at}


def memory(path: Path) -> None:
    connection = sqlite3.connect(path)
    for statement in SCHEMA:
        connection.execute(statement)
    kinds = ("WORKING", "LONG_TERM", "LONG_TERM")
    connection.executemany(
        "INSERT INTO memories VALUES (?, 's', ?, 1.0, ?, ?)", [(n, kind, n, T0) for n, kind in enumerate(kinds)]
    )
    source = "openclaw/user/S/ingest"
    connection.execute("INSERT INTO signals VALUES (1, 2, ?, ?, 'text', 0.5, 1, ?)", (source, T0 + 1000, T0))
    connection.execute("INSERT INTO signals VALUES (2, NULL, ?, ?, 'text', 0.25, 0, ?)", (source, T0 + 2000, T0))
    connection.execute("INSERT INTO memory_evictions VALUES (1, 'weak', ?)", (T0 + 3000,))
    connection.execute("INSERT INTO memory_reconstructions VALUES (2, 'retrieval', ?)", (T0 + 1500,))
    connection.execute("INSERT INTO credentials VALUES ('not for anybody')")
    connection.commit()
    connection.close()


def states(folder: Path, *versions: dict[str, Any]) -> Result:
    """Versions of one file, as a batch names them: the first plain, the later ones with a number."""
    for number, version in enumerate(versions, start=1):
        write(folder / (f"{number}/compaction.json" if number > 1 else "compaction.json"), version)
    return read(CortextReader(), folder)


def test_an_anchor_is_where_the_window_began_and_a_compaction(tmp_path: Path) -> None:
    result = states(tmp_path, {"s-agent_main_S": anchor("what next?", 4)})
    found = result.one

    assert (found.session.id, found.session.format) == ("s-agent_main_S", "cortext")
    (event,) = found.engine_events
    assert (event.type, event.quality, event.origin) == ("window.moved", "exact", "disk")
    assert event.data["textPrefix"] == "what next?" and event.data["dropped"] == 4
    (made,) = found.compactions
    assert (made.kind, made.producer, made.tokens_before, made.tokens_after) == ("trim", "cortext", None, None)
    assert made.at == datetime.fromtimestamp(T0 / 1000, UTC)
    assert result.files[0].role == "store" and result.files[0].session == "s-agent_main_S"


def test_what_differs_between_versions_is_what_happened(tmp_path: Path) -> None:
    other = anchor("elsewhere", 2)
    found = states(
        tmp_path,
        {"s-a": anchor("first", 4), "s-b": other},
        {"s-a": anchor("second", 9, T0 + 5000), "s-b": other},
        {"s-b": other},
    ).transcripts
    by_scope = {one.session.id: one for one in found}

    told = [
        (event.type, event.data["dropped"], event.data.get("previousDropped"))
        for event in by_scope["s-a"].engine_events
    ]
    assert told == [("window.moved", 4, None), ("window.moved", 9, 4), ("window.cleared", 9, None)]
    assert by_scope["s-a"].engine_events[-1].at is None, "when it was cleared is written nowhere"
    assert [one.number for one in by_scope["s-a"].compactions] == [1, 2]
    assert [event.type for event in by_scope["s-b"].engine_events] == ["window.moved"]


def test_versions_are_put_in_order_by_their_anchors(tmp_path: Path) -> None:
    found = states(tmp_path, {"s-a": anchor("second", 9, T0 + 5000)}, {"s-a": anchor("first", 4)}).one

    assert [event.data["dropped"] for event in found.engine_events] == [4, 9]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path / "compaction.json", {"s-a": anchor("x", 1), "s-b": {"role": "user", "dropped": "many"}})
    write(tmp_path / "empty" / "compaction.json", {})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "compaction.json").write_text('{"s-a": {"role": "user", "textPrefix": "a"')
    result = read(CortextReader(), tmp_path)

    assert {problem.code for problem in result.problems} == {"malformed_entry", "malformed_line"}
    assert next(one for one in result.problems if one.code == "malformed_entry").entry == "s-b"
    assert sum(one.is_counted for one in result.files) == 1


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": "x"},
        {"s-a": {"role": "user"}},
        {"some key": anchor("x", 1)},
        {"s-a": anchor("x", 1), "version": 2},
        {"s-a": {"role": "user", "textPrefix": "x", "dropped": True}},
    ],
)
def test_other_json_of_that_name_is_no_state(document: dict[str, Any]) -> None:
    assert not is_state(document)


def test_a_memory_is_counted_and_its_signals_are_events(tmp_path: Path) -> None:
    memory(tmp_path / "s-agent_main_S.sqlite")
    result = read(CortextReader(), tmp_path)
    found = result.one

    assert found.session.id == "s-agent_main_S"
    counters = found.session.counters
    assert (counters["memories"], counters["memories_long_term"], counters["memories_working"]) == (3, 2, 1)
    assert (counters["recalled"], counters["signals"]) == (3, 2)
    told = [(event.type, event.data.get("stored"), event.data.get("reason")) for event in found.engine_events]
    assert told == [
        ("message.ingested", True, None), ("message.ingested", False, None), ("retrieve", None, None),
        ("consolidation", None, "weak"),
    ]  # fmt: skip
    assert found.engine_events[0].data["relevance"] == 0.5
    assert "not for anybody" not in json.dumps([event.data for event in found.engine_events])
    assert [problem.code for problem in found.problems] == ["not_readable_part"]


def test_a_state_and_its_memory_are_one_scope(tmp_path: Path) -> None:
    memory(tmp_path / "s-a.sqlite")
    write(tmp_path / "compaction.json", {"s-a": anchor("x", 1)})
    found = read(CortextReader(), tmp_path).one

    assert found.session.counters["signals"] == 2 and len(found.compactions) == 1
    assert sorted(found.files) == ["compaction.json", "s-a.sqlite"]


def test_another_programs_database_is_not_taken(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "s-a.sqlite")
    connection.execute("CREATE TABLE memories (id INTEGER, text TEXT)")
    connection.commit()
    connection.close()

    assert read(CortextReader(), tmp_path).files == []
