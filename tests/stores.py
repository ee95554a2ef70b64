"""A store that takes nothing for now, as its drivers say it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection


def wrapped(fault: BaseException) -> OperationalError:
    """A driver's error as Django raises it."""
    error = OperationalError(str(fault))
    error.__cause__ = fault
    return error


def full_disk() -> OperationalError:
    """What SQLite says on a full disk."""
    fault = sqlite3.OperationalError("database or disk is full")
    fault.sqlite_errorcode = sqlite3.SQLITE_FULL
    return wrapped(fault)


def locked() -> OperationalError:
    """What SQLite says when another has held the database for too long."""
    fault = sqlite3.OperationalError("database is locked")
    fault.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return wrapped(fault)


@contextmanager
def refusing(error: Callable[[], Exception], *tables: str) -> Iterator[None]:
    """Every write to one of the tables (all, where none is named) fails; reads go on."""

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        is_write = sql.lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))
        if is_write and (not tables or any(f'"{table}"' in sql for table in tables)):
            raise error()
        return run(sql, params, many, context)

    with connection.execute_wrapper(execute):
        yield
