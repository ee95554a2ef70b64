"""Writes a folder of an agent's files again, somewhere else, the way the agent wrote it: a line or a row at a time.

python -m bench replay SOURCE TARGET [--pause 0.05] [--at-once 1]
"""

from __future__ import annotations

import argparse
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

GROWING = (".jsonl", ".ndjson", ".log")
STORES = (".sqlite", ".db")
# What a sample holds beside the client's own files.
OURS = ("truth.json", "transcript-decoded.jsonl", "otlp-inventory.json")
_Row = tuple[float, str, tuple[Any, ...]]
_TIME = re.compile(rb'"(?:timestamp|ts|time)":\s?"(\d{4}-\d\d-\d\dT[\d:.]+Z)"')


class Source(Protocol):
    """A file that is written again piece by piece, one for each call of `write`; `times` says when each was written
    first (seconds), nothing where none of them does."""

    size: int
    times: list[float]

    def write(self) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Lines:
    """A file of lines."""

    lines: list[bytes]
    target: Path
    size: int = 0
    times: list[float] = field(default_factory=list)
    _at: int = 0

    def __post_init__(self) -> None:
        self.size = len(self.lines)
        found = [_TIME.search(line) for line in self.lines]
        if any(found):
            told = [datetime.fromisoformat(one[1].decode()).timestamp() if one else 0.0 for one in found]
            self.times = list(accumulate(told, max))

    def write(self) -> None:
        """Append the next line."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with self.target.open("ab") as stream:
            stream.write(self.lines[self._at])
        self._at += 1

    def close(self) -> None:
        """Nothing is held open."""


class Rows:
    """A SQLite store in WAL mode: there but for the rows of its growing tables, which come in order of their times."""

    def __init__(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        self._connection = sqlite3.connect(target, isolation_level=None)
        # Tables' checks use it, and older libraries do not have it.
        self._connection.create_function("octet_length", 1, _octets, deterministic=True)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA wal_autocheckpoint=50")
        self._rows = self._taken_out()
        self.size = len(self._rows)
        self.times = list(accumulate((row[0] / 1000 for row in self._rows), max))
        self._at = 0

    def _taken_out(self) -> list[_Row]:
        found: list[tuple[Any, str, int, tuple[Any, ...]]] = []
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in names:
            columns = [row[1] for row in self._connection.execute(f'PRAGMA table_info("{table}")')]
            if not {"created_at", "seq", "session_id"} <= set(columns):
                continue
            at = columns.index("created_at")
            rows = self._connection.execute(f'SELECT * FROM "{table}" ORDER BY seq').fetchall()
            found.extend((row[at], table, number, row) for number, row in enumerate(rows))
            self._connection.execute(f'DELETE FROM "{table}"')
        return [(at, table, row) for at, table, _, row in sorted(found, key=lambda one: one[:3])]

    def write(self) -> None:
        """Insert the next row, a transaction of its own."""
        _, table, row = self._rows[self._at]
        marks = ", ".join("?" * len(row))
        self._connection.execute(f'INSERT INTO "{table}" VALUES ({marks})', row)
        self._at += 1

    def close(self) -> None:
        """Close the store, as its agent does when it ends."""
        self._connection.close()


def _octets(value: str | bytes | None) -> int | None:
    return None if value is None else len(value.encode() if isinstance(value, str) else value)


def replayed(source: Path, target: Path) -> Iterator[None]:
    """Write what is below `source` below `target`; after each piece the caller is asked. Files of lines and stores grow
    side by side, in the order of the times that they write (or evenly, where one writes none); everything else is there
    from the start."""
    sources: list[Source] = []
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        if path.name in OURS or path.name.startswith("wire-") or path.name.endswith(".bin"):
            continue
        to = target / path.relative_to(source)
        if path.name.endswith(GROWING):
            sources.append(Lines(path.read_bytes().splitlines(keepends=True), to))
        elif path.name.endswith(STORES):
            sources.append(Rows(path, to))
        else:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    known = [at for one in sources for at in one.times if at]
    first, last = (min(known), max(known)) if known else (0.0, 1.0)
    evenly = [[first + (last - first) * number / one.size for number in range(one.size)] for one in sources]
    pieces = [(one.times or evenly[place], place) for place, one in enumerate(sources)]
    order = sorted((at, place, number) for times, place in pieces for number, at in enumerate(times))
    try:
        for _, place, _ in order:
            sources[place].write()
            yield
    finally:
        for one in sources:
            one.close()


def main(arguments: Sequence[str]) -> int:
    """Replay what the arguments name; 0."""
    parser = argparse.ArgumentParser(prog="python -m bench replay", description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path, help="a folder; it is made")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two (default 0.05)")
    parser.add_argument("--at-once", type=int, default=1, help="lines and rows between two pauses (default 1)")
    args = parser.parse_args(arguments)
    written = 0
    with closing(replayed(args.source, args.target)) as pieces:
        for written, _ in enumerate(pieces, start=1):
            if written % args.at_once == 0:
                time.sleep(args.pause)
    print(f"{written:,} lines and rows in {args.target}")
    return 0
