"""Files of engines with values of any type and any cut: each is read or refused with a sentence, never an exception."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.events.session import SourceFile
from contextviz.sources.engine_log.words import said_by
from contextviz.sources.files import NamedPath, read_paths
from contextviz.sources.source import ReadItem, ReadOptions
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 6, 18, 12, tzinfo=UTC)
SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=40), st.just("a\ud800\x00b")
)
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FEW = settings(max_examples=25, deadline=None, derandomize=True)


def read(name: str, data: bytes) -> list[ReadItem]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name.rpartition("/")[2]
        path.write_bytes(data)
        items = list(read_paths([NamedPath(path, name)], ReadOptions(pool=MemoryPool(), now=NOW)))
    assert sum(isinstance(item, SourceFile) for item in items) == 1
    return items


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value, allow_nan=True).encode() + b"\n" for value in values)


@FEW
@given(VALUE, VALUE, VALUE, st.integers(0, 400))
def test_a_state_of_cortext(role: Any, prefix: Any, at: Any, cut: int) -> None:
    good = {"role": "user", "textPrefix": "x", "dropped": 1, "ts": 1_772_359_200_000}
    odd = {"role": role, "textPrefix": prefix, "dropped": at, "ts": at}
    data = json.dumps({"s-a": good, "s-b": odd}, allow_nan=True).encode()
    read("compaction.json", data)
    read("compaction.json", data[:cut])


@FEW
@given(VALUE, VALUE, VALUE)
def test_what_flowctx_writes_beside_its_store(first: Any, second: Any, third: Any) -> None:
    head = {"sessionId": "s", "ts": 1_772_359_200_000}
    read("flowctx-sessions.jsonl", lines(head, head | {"ts": first, "note": second, "x": third}, head))
    dump = {"request": first, "response": second, "assembled": third, "usage": first, "ts": second}
    read("dump.jsonl", lines(dump, dump | {"request": {"messages": third}, "response": {"usage": first}}))


@FEW
@given(VALUE, VALUE, VALUE)
def test_files_of_opencodes_storage(first: Any, second: Any, third: Any) -> None:
    read(
        "message/m.json",
        json.dumps({"id": first, "sessionID": "ses_1", "role": "user", "time": {"created": second}}).encode(),
    )
    read(
        "part/p.json",
        json.dumps({"id": first, "sessionID": "ses_1", "messageID": "m", "type": "tool", "state": third}).encode(),
    )
    info = {"id": "ses_1", "projectID": first, "directory": second, "time": {"created": third}, "revert": first}
    read("session/s.json", json.dumps(info).encode())


@FEW
@given(st.text(max_size=200), SCALAR)
def test_a_line_of_an_engines_log(words: str, value: Any) -> None:
    for begin in ("[lcm] compact: decision ", "cortext compaction: ", "[flowctx:engine] ", "cortext interrupt gate: "):
        said = said_by(begin + words)
        assert said is None or all(isinstance(one, str | int | float | bool | None) for one in said.data.values())
    record = {"time": value, "level": "info", "plugin": "lossless-claw", "message": "[lcm] compact: done " + words}
    read("x.log", lines(record, record | {"message": value}))


@FEW
@given(SCALAR, SCALAR)
def test_rows_of_a_store(first: Any, second: Any) -> None:
    def kept(value: Any) -> Any:
        return (
            value
            if value is None or isinstance(value, float)
            else repr(value)
            if isinstance(value, int)
            else str(value)
        )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        with closing(sqlite3.connect(path)) as store:
            store.executescript(
                "CREATE TABLE session (id, directory, title, time_created);"
                "CREATE TABLE message (id, session_id, data); CREATE TABLE part (id, message_id, data);"
            )
            odd = [kept(value) if value != "a\ud800\x00b" else b"\xff" for value in (first, second)]
            store.execute("INSERT INTO session VALUES ('ses_1', ?, ?, ?)", (odd[0], odd[1], odd[0]))
            store.execute("INSERT INTO message VALUES ('m', 'ses_1', ?)", (odd[0],))
            store.execute("INSERT INTO message VALUES (?, 'ses_1', '{\"role\": \"user\"}')", (odd[1],))
            store.execute("INSERT INTO part VALUES (?, 'm', ?)", (odd[0], odd[1]))
            store.commit()
        list(read_paths([NamedPath(path, path.name)], ReadOptions(pool=MemoryPool(), now=NOW)))
