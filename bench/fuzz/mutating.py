"""Changes to a file that keep most of its structure: values, lines, cells; and bytes where it has none that we know."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from random import Random
from typing import Any

MOST_BYTES = 64 * 1024
SQLITE = b"SQLite format 3\x00"
HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 10**400, 1e308, -0.0, 1.5, float("nan"),
    float("inf"), "", " ", "0", "-1", "1e999", "REDACTED", "null", "[]", "{}", "[" * 300, "\x00", "\ud83d", "\ufeff",
    "\u0663", "a" * 5000, "9" * 5000, "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.000Z", "../../../etc/passwd", "2026-02-30T25:61:61Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-12:00", "2026-03-01", -62135596800000, 253402300800000, 1e18,
    "data:image/png;base64,", "[flowctx hash=0123456789abcdef01234567 tokens=9]", "<system-reminder>",
    '{"type":"text","text":"x"}', [], {}, [[]], [None], [{}], {"": {}}, [1, "a", None, {}], {"type": "text"},
    {"type": "text", "text": None}, [{"type": "tool_use"}], {"role": 1, "content": {"a": []}},
)  # fmt: skip
WORDS = ("", "-1", "0", "1", "9" * 18, "9" * 5000, ".", "1.5", "\u0663", "x")  # in place of a number in a text
FRAGMENTS = (
    b"\x00", b"\x00" * 64, b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\xbd", b"{", b"}", b"[", b"]", b'"',
    b"\\", b"\\ud83d", b"\xc0\x80", b"1" * 30, b"9" * 5000, b"e999", b".", b"0001-01-01",
    b"9999-12-31", b",,", b"null", b"{}\n", b"[]\n", b'{"type":"', b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PK\x01\x02", SQLITE,
)  # fmt: skip
Json = Any


def mutated(data: bytes, draw: Random, most: int = MOST_BYTES) -> bytes:
    """`data` with one to six changes; at most `most` bytes."""
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 6))):
        data = _once(data, draw)
    return data[:most]


def _once(data: bytes, draw: Random) -> bytes:
    if data.startswith(SQLITE):
        return _in_store(data, draw) if draw.random() < 0.7 else draw.choice(BYTES)(data, draw)
    chance = draw.random()
    if chance < 0.65:
        return _in_json(data, draw)
    return draw.choice(LINES)(data, draw) if chance < 0.85 else draw.choice(BYTES)(data, draw)


def _in_json(data: bytes, draw: Random) -> bytes:
    """One value of the document, or of one line, changed."""
    with contextlib.suppress(ValueError, RecursionError):
        return _dumped(_changed(json.loads(data), draw))
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    try:
        lines[at] = _dumped(_changed(json.loads(lines[at]), draw))
    except (ValueError, RecursionError):
        lines[at] = _in_line(lines[at], draw)
    return b"\n".join(lines)


def _in_line(line: bytes, draw: Random) -> bytes:
    """A line that is no JSON: a log's, or a damaged one."""
    text = str(_in_text(line.decode("utf-8", errors="replace"), draw))
    return text.encode("utf-8", errors="surrogatepass") if draw.random() < 0.6 else draw.choice(BYTES)(line, draw)


def _dumped(value: Json) -> bytes:
    return json.dumps(value).encode("utf-8", errors="replace")


def _changed(value: Json, draw: Random) -> Json:
    """`value` with one place in it changed; another value of the same tree is as likely as a hostile one."""
    places: list[tuple[Any, Any]] = []
    _collect(value, places)
    if not places:
        return draw.choice(HOSTILE)
    holder, key = draw.choice(places)
    action = draw.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        name = draw.choice(list(holder))
        holder[name] = holder.pop(key)
    elif action == 1:
        holder.insert(key, holder[draw.randrange(len(holder))])
    elif action == 2:
        holder[key] = [holder[key]]
    elif action == 3:
        holder[key] = {"type": holder[key]}
    elif action in (4, 5):
        other, where = draw.choice(places)
        # Not the tree itself into itself: JSON has no cycles.
        holder[key] = json.loads(json.dumps(other.get(where) if isinstance(other, dict) else _at(other, where)))
    elif action == 6 and isinstance(holder[key], str):
        holder[key] = _in_text(holder[key], draw)
    else:
        holder[key] = draw.choice(HOSTILE)
    return value


def _at(items: list[Any], where: int) -> Any:
    return items[where] if where < len(items) else None


def _in_text(text: str, draw: Random) -> Any:
    """A text changed: the JSON within it where it is some, else cut, doubled or broken."""
    with contextlib.suppress(ValueError, RecursionError):
        return json.dumps(_changed(json.loads(text), draw))
    at = draw.randrange(len(text) + 1)
    if any(char.isdigit() for char in text) and draw.random() < 0.5:
        return draw.choice(WORDS).join(re.split(r"\d+", text, maxsplit=1))
    return draw.choice((text[:at], text[at:], text * 2, text.upper(), text[:at] + "\n" + text[at:], f"{text}\ud83d"))


def _collect(value: Json, places: list[tuple[Any, Any]]) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        pairs = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, item in pairs:
            places.append((one, key))
            if isinstance(item, dict | list):
                waiting.append(item)


def _in_store(data: bytes, draw: Random) -> bytes:
    """A SQLite file with one cell, row, table or column changed; as it was where it is too damaged for that."""
    store = sqlite3.connect(":memory:")
    store.text_factory = bytes
    try:
        store.deserialize(data)
        store.execute("PRAGMA writable_schema=0")
        tables = [row[0].decode() for row in store.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        table = '"' + draw.choice(tables).replace('"', '""') + '"'
        columns = [row[1].decode() for row in store.execute(f"PRAGMA table_info({table})")]
        _change_table(store, table, '"' + draw.choice(columns).replace('"', '""') + '"', draw)
        store.commit()
        return store.serialize()
    except (sqlite3.Error, IndexError, UnicodeDecodeError, OverflowError):
        return draw.choice(BYTES)(data, draw)
    finally:
        store.close()


def _change_table(store: sqlite3.Connection, table: str, column: str, draw: Random) -> None:
    picked = f"rowid = (SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET ?)"
    count = store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    at = (draw.randrange(count or 1),)
    action = draw.randrange(10)
    if action == 0:
        store.execute(f"DELETE FROM {table} WHERE {picked}", at)
    elif action == 1:
        store.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    elif action == 2:
        store.execute(f"INSERT INTO {table} SELECT * FROM {table} LIMIT 1 OFFSET ?", at)
    elif action == 3:
        store.execute(f"DROP TABLE {table}")
    elif action < 7:
        kept = store.execute(f"SELECT {column} FROM {table} WHERE {picked}", at).fetchone()
        text = kept[0].decode("utf-8", errors="replace") if kept and isinstance(kept[0], bytes) else ""
        changed = _in_text(text, draw).encode("utf-8", errors="surrogatepass")
        store.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {picked}", (changed, *at))
    else:
        value = draw.choice(HOSTILE)
        if isinstance(value, str | list | dict):
            value = (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", errors="surrogatepass")
        store.execute(f"UPDATE {table} SET {column} = ? WHERE {picked}", (value, *at))


def _drop_line(data: bytes, draw: Random) -> bytes:
    lines = data.split(b"\n")
    del lines[draw.randrange(len(lines))]
    return b"\n".join(lines)


def _copy_line(data: bytes, draw: Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    return b"\n".join(lines)


def _move_line(data: bytes, draw: Random) -> bytes:
    lines = data.split(b"\n")
    lines.insert(draw.randrange(len(lines)), lines.pop(draw.randrange(len(lines))))
    return b"\n".join(lines)


def _glue_lines(data: bytes, draw: Random) -> bytes:
    parts = data.split(b"\n")
    at = draw.randrange(len(parts))
    return b"\n".join(parts[:at]) + b"".join(parts[at : at + 2]) + b"\n" + b"\n".join(parts[at + 2 :])


def _flip(data: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(data) or 1)
    return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(data) or 1)
    return data[:start] + data[start + draw.choice((1, 2, 16, 200, 100_000)) :]


def _insert(data: bytes, draw: Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(FRAGMENTS) + data[at:]


def _repeat(data: bytes, draw: Random) -> bytes:
    start = draw.randrange(len(data) or 1)
    piece = data[start : start + draw.choice((1, 8, 100, 3000))]
    return data[:start] + piece * draw.choice((2, 2, 3, 50)) + data[start:]


def _recode(data: bytes, draw: Random) -> bytes:
    text = data[: MOST_BYTES // 2].decode("utf-8", errors="replace")
    return text.encode(draw.choice(("utf-16", "utf-16-le", "utf-8-sig", "latin-1")), errors="replace")


LINES: tuple[Callable[[bytes, Random], bytes], ...] = (_drop_line, _copy_line, _move_line, _glue_lines)
BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _flip, _cut, _cut, _insert, _insert, _repeat, _recode)
