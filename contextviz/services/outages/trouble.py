"""What keeps the store from taking something for now: it is busy, or its disk is full. One mapping for every answer."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import Error as DjangoError

SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN = 5, 6, 10, 13, 14  # sqlite.org/rescode.html
# PostgreSQL's SQLSTATE (its manual's appendix A): the whole code, or the class that its first two characters are.
PG_FULL = ("53100",)
PG_BUSY = ("08", "40", "53", "55P03", "57")
PG_LOST = {"OperationalError", "InterfaceError"}
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
LEAST_FREE = 1024**2  # below it SQLite's "disk I/O error" is taken for a full disk
MOST_CAUSES = 10


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why something was not taken: HTTP's status, the API's code, a sentence for whoever sent it, the end of a job's
    sentence, and after how many seconds it is worth while to send it again."""

    kind: Literal["busy", "full"]
    status: int
    code: str
    sentence: str
    of_job: str
    retry_seconds: int


BUSY = Trouble(
    "busy", 503, "busy", "The store is busy; try it again in a moment.",
    "The store was busy for too long: something else holds its database. Nothing of what was there before is changed. "
    "Press Retry.", 2,
)  # fmt: skip
FULL = Trouble(
    "full", 507, "storage_full", "The disk of contextviz's data is full. Free some space on it, then try it again.",
    "The disk is full: what was begun could not be kept, and nothing of what was there before is changed. Free some "
    "space on the disk of contextviz's data and press Retry.", 30,
)  # fmt: skip


def trouble_of(error: BaseException | None) -> Trouble | None:
    """Which trouble an exception tells of; None for any other fault, and for no exception."""
    if not isinstance(error, DjangoError | sqlite3.Error | OSError):
        return None
    found = [one for one in map(_of_one, _causes(error)) if one is not None]
    # What fails because of a full disk may be left locked: the disk is what a person can do something about.
    return FULL if FULL in found else found[0] if found else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what raised it, and what was being handled when either was raised."""
    following = [error]
    for _ in range(MOST_CAUSES):
        if not following:
            return
        found = following.pop()
        yield found
        following += [one for one in (found.__cause__, found.__context__) if one is not None]


def _of_one(error: BaseException) -> Trouble | None:
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error)
    if type(error).__module__.startswith("psycopg"):  # by name: without PostgreSQL its driver is not loaded
        return _of_postgres(error)
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return FULL
    return None


def _of_sqlite(error: sqlite3.Error) -> Trouble | None:
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF  # the rest says more exactly which
    if code in (SQLITE_BUSY, SQLITE_LOCKED):
        return BUSY
    if code == SQLITE_FULL or (code in (SQLITE_IOERR, SQLITE_CANTOPEN) and _is_full()):
        return FULL
    return None


def _is_full() -> bool:
    try:
        return shutil.disk_usage(settings.DATA_DIR).free < LEAST_FREE
    except OSError:
        return False


def _of_postgres(error: BaseException) -> Trouble | None:
    state = getattr(error, "sqlstate", None)
    if state is None:
        # No answer of the server's: it cannot be reached, went away, or has no connection left.
        return BUSY if PG_LOST & {kind.__name__ for kind in type(error).mro()} else None
    if state.startswith(PG_FULL):
        return FULL
    return BUSY if state.startswith(PG_BUSY) else None
