"""What fuzzing found (bench/fuzz): one small file each, and what is read of it."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import orjson
import pytest

from contextviz.analysis.inspect import session_json
from contextviz.events.session import SourceFile, Transcript
from contextviz.events.times import instant
from contextviz.sources.conversation_map.contextlog import duration_ms
from contextviz.sources.engine_log.words import said_by
from contextviz.sources.files import read_paths, walk
from contextviz.sources.openvole.log import read_log
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.sources.values import as_plain
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 12, 31, tzinfo=UTC)


def read(folder: Path) -> list[ReadItem]:
    return list(read_paths(list(walk(folder)), ReadOptions(MemoryPool(), NOW)))


def test_a_store_whose_schema_is_no_text_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "lcm.db"
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE conversations (conversation_id INTEGER)")
        store.commit()
    path.write_bytes(path.read_bytes().replace(b"conversations", b"\xe6(nversations"))

    (source,) = read(tmp_path)

    assert isinstance(source, SourceFile)
    assert (source.role, source.reason) == ("ignored", "a SQLite database that is empty or damaged")


def test_a_type_that_is_no_word_makes_no_file_of_its_folder_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"type": {"type": "session"}, "engine": "x"}\n')
    said = {"role": "user", "content": "hello"}
    rows = [{"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-06-18T08:00:00Z"},
            {"type": "message", "id": "m1", "parentId": None, "timestamp": "2026-06-18T08:00:01Z",
             "message": said}]  # fmt: skip
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    items = read(tmp_path)

    assert [item.reason for item in items if isinstance(item, SourceFile) and item.path == "a.jsonl"] == [
        "JSON of a kind that no reader knows"
    ]
    assert [len(item.messages) for item in items if isinstance(item, Transcript)] == [1]


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59Z"],
)
def test_a_time_with_no_room_around_it_is_unknown(value: object) -> None:
    assert instant(value) is None


def test_the_years_next_to_the_edge_are_times() -> None:
    first, last = instant("0002-01-01T00:00:00Z"), instant("9998-12-31T23:59:59.000Z")

    assert first is not None and last is not None
    assert (first.year, last.year) == (2, 9998)


def test_a_number_of_any_length_in_an_agents_log_is_passed_by_and_a_cost_that_is_none_unknown(tmp_path: Path) -> None:
    at = "2026-03-02T10:00:00.000Z [INFO]"
    lines = [f"{at} [loop] Context over budget by {'9' * 5000} tokens \u2014 trimming",
             f"{at} [loop] LLM cost: $. (in: 1 × $2/M = $0, out: 2 × $8/M = $0)"]  # fmt: skip
    (tmp_path / "vole.log").write_text("".join(line + "\n" for line in lines))

    log = read_log(tmp_path / "vole.log", "vole.log")

    assert log.lines == 2
    assert [(event.kind, event.cost) for task in log.tasks for event in task.events] == [("call", None)]


@pytest.mark.parametrize("text", ["9" * 5000 + "h", "9" * 400 + "s", "1." + "0" * 5000 + "s"])
def test_a_duration_of_any_length_is_unknown(text: str) -> None:
    assert duration_ms(text) is None


def test_a_number_beyond_64_bits_in_an_engines_event_is_unknown_and_can_be_written(tmp_path: Path) -> None:
    data = {"strategy": "llm", "tokensBefore": 900, "tokensAfter": 10**40, "compacted": False, "share": -0.5,
            "a": {"b": {"c": {"d": {"e": {"f": 1, "g": 2}}}}}}  # fmt: skip
    event = {"v": 1, "seq": 1, "ts": "2026-03-02T10:00:00Z", "engine": "tidy", "session": "s", "data": data}
    (tmp_path / "talk.ndjson").write_text(json.dumps(event | {"type": "compaction.finished"}) + "\n")

    (session,) = [item for item in read(tmp_path) if isinstance(item, Transcript)]

    (told,) = session.engine_events
    assert told.data == {"strategy": "llm", "tokensBefore": 900, "tokensAfter": None, "compacted": False,
                         "share": -0.5, "a.b.c.d.e": 2}  # fmt: skip
    assert orjson.dumps(session_json(session, zone=ZoneInfo("UTC")))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (-3, -3), (2**63 - 1, 2**63 - 1), (2**63, None), (-(2**63) - 1, None), (1.5, 1.5),
     (float("inf"), None), (float("nan"), None), ("1", None), ([], None), (None, None)],
)  # fmt: skip
def test_a_plain_value_is_what_every_json_can_hold(value: object, expected: object) -> None:
    assert as_plain(value) == expected and type(as_plain(value)) is type(expected)


def test_records_recovered_from_a_malformed_line_are_no_lines_that_were_read(tmp_path: Path) -> None:
    reply = {"id": "r1", "object": "chat.completion", "model": "m", "created": 1772359200,
             "choices": [{"message": {"role": "assistant", "content": "hi"}}],
             "usage": {"prompt_tokens": 5, "completion_tokens": 1}}  # fmt: skip
    body = {"request": {"model": "m", "messages": [{"role": "user", "content": "hello"}]}, "response": reply}
    lines = [json.dumps(body), json.dumps(body), '{"no": "body"}', 'cut {"type": "a"}{"type": "b"}']
    (tmp_path / "log.jsonl").write_text("".join(line + "\n" for line in lines))

    (session,) = [item for item in read(tmp_path) if isinstance(item, Transcript)]

    counts = session.lines
    assert (counts.total, counts.read, counts.malformed, counts.unknown_types) == (4, 2, [4], {"no body": 1})
    assert len(counts.recovered[4]) == 2
    assert [one.value for one in session.problems if one.code == "unknown_type"] == [3]


@pytest.mark.parametrize(
    "line",
    ["[flowctx] " + "1" * 4_000, "[lcm] " + "a" * 4_000, "cortext: compaction: " + "1" * 4_000],
    ids=["digits", "a-word", "compaction"],
)
def test_a_long_line_of_an_engines_log_costs_no_more_than_its_length(line: str) -> None:
    started = time.process_time()
    for _ in range(50):
        said_by(line)
    assert time.process_time() - started < 1  # each took a tenth of a second


def test_a_long_line_of_an_agents_log_costs_no_more_than_its_length(tmp_path: Path) -> None:
    line = "2026-03-02T10:00:00.000Z [INFO] [loop] LLM cost: $1 (in: 1 " + "out: 1)" * 14_000 + "x\n"
    (tmp_path / "vole.log").write_text(line)

    started = time.process_time()
    assert read_log(tmp_path / "vole.log", "vole.log").lines == 1
    assert time.process_time() - started < 1  # it took nine, and a line may be ten times as long
