"""Agents' SQLite stores, opened so that nothing can be written and nothing but the named tables can be read."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

MAGIC = b"SQLite format 3\x00"
_READ_PRAGMAS = frozenset({"table_info", "user_version", "table_list", "query_only"})
_SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema", ""})


class UnreadableStore(Exception):
    """The file is not a SQLite store that can be read; the text says why, for a person."""


@contextmanager
def open_store(path: Path, tables: frozenset[str]) -> Iterator[sqlite3.Connection]:
    """A read-only connection that may read `tables` and the schema, and is refused everything else.

    A store in WAL mode, or with a journal beside it, is copied with it first: opening those in place would
    write files beside the agent's own (formats.md A.8). Raises UnreadableStore.
    """
    with tempfile.TemporaryDirectory(prefix="contextviz-store-") as folder:
        connection = None
        try:
            where = _safe_copy(path, Path(folder)) if _needs_copy(path) else path
            connection = sqlite3.connect(f"{where.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
            connection.execute("PRAGMA query_only=1")
            connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
            connection.set_authorizer(_authorizer(tables))
            connection.row_factory = sqlite3.Row
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            yield connection
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last: a message quotes a damaged schema
            raise UnreadableStore(f"{path.name} cannot be read as a SQLite store: {error}") from error
        finally:
            if connection is not None:
                connection.close()


def table_columns(path: Path) -> Mapping[str, frozenset[str]]:
    """The tables of a store with their columns; raises UnreadableStore."""
    with open_store(path, frozenset()) as connection:
        # Virtual tables (full-text indexes) are never needed, and touching one builds it.
        plain = "SELECT name FROM sqlite_master WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        names = [row[0] for row in connection.execute(plain)]
        return {name: columns_of(connection, name) for name in names}


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of `table`, none where it does not exist (columns differ by version: probe them)."""
    quoted = table.replace('"', '""')
    return frozenset(row[1] for row in connection.execute(f'PRAGMA table_info("{quoted}")'))


def _needs_copy(path: Path) -> bool:
    with open(path, "rb") as raw:
        head = raw.read(20)
    if not head.startswith(MAGIC):
        raise sqlite3.DatabaseError("it does not begin as a SQLite database")
    beside = [path.with_name(path.name + suffix) for suffix in ("-wal", "-journal")]
    return head[18:20] == b"\x02\x02" or any(extra.exists() and extra.stat().st_size for extra in beside)


def _safe_copy(path: Path, folder: Path) -> Path:
    for suffix in ("", "-wal", "-journal"):
        extra = path.with_name(path.name + suffix)
        if extra.is_file():
            shutil.copyfile(extra, folder / ("store.sqlite" + suffix))
    return folder / "store.sqlite"


def _authorizer(tables: frozenset[str]):  # type: ignore[no-untyped-def]
    allowed = tables | _SCHEMA_TABLES

    def decide(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first or "") in allowed:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "") in _READ_PRAGMAS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    return decide
