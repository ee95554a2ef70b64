"""The data folder, the database, the broker."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import KombuError

from contextviz.charts import words
from contextviz.cli.doctor.check import Check
from contextviz.commands import command_here

LITTLE_SPACE = 1024**3
BROKER_SECONDS = 3


def folder_checks() -> Iterator[Check]:
    """Permissions, space and sizes of the data folder."""
    folder = Path(settings.DATA_DIR)
    try:
        found = folder.stat()
    except OSError as error:
        todo = "Make it readable and writable for the user that runs contextviz, or set CONTEXTVIZ_DATA_DIR."
        yield Check("data folder", "folder", "problem", f"{folder} cannot be looked at: {error.strerror}", todo)
        return
    yield Check("data folder", "folder", "ok", str(folder))
    yield _permissions(folder, found)
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        yield Check("data folder", "space", "problem", f"only {words.size(free)} are free",
                    "Make room on its disk, delete sessions, or set CONTEXTVIZ_DATA_DIR to a larger one.")  # fmt: skip
    else:
        yield Check("data folder", "space", "ok", f"{words.size(free)} free")
    for name, path in (("raw files kept", folder / "artifacts"), ("uploads under way", Path(settings.INCOMING_DIR))):
        count, size = _measured(path)
        yield Check("data folder", name, "ok", f"{words.counted(count, 'file')}, {words.size(size)}")


def _permissions(folder: Path, found: os.stat_result) -> Check:
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid():
        text = f"it belongs to user {found.st_uid}, this is user {os.geteuid()}"
        todo = "Run contextviz as the folder's owner, or give the folder to this user."
        return Check("data folder", "permissions", "problem", text, todo)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Check("data folder", "permissions", "problem", "it cannot be written", f"Run: chmod 700 {folder}")
    if mode & (stat.S_IRWXO | stat.S_IRWXG):
        return Check("data folder", "permissions", "problem", f"others of this machine may look in ({mode:o})",
                     f"Run: chmod 700 {folder}")  # fmt: skip
    return Check("data folder", "permissions", "ok", f"{mode:o}")


def _measured(folder: Path) -> tuple[int, int]:
    count = size = 0
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            found = path.lstat()
        except OSError:
            continue  # it went away meanwhile
        if stat.S_ISREG(found.st_mode):
            count, size = count + 1, size + found.st_size
    return count, size


def database_checks() -> tuple[list[Check], bool]:
    """The database, and whether its tables can be asked."""
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        if not path.exists():
            return [
                Check("database", "database", "note", f"there is none yet at {path}; {command_here('up')} makes it")
            ], False
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except InconsistentMigrationHistory as error:
        return [Check("database", "tables", "problem", str(error), "Restore a backup of this database.")], False
    except (DatabaseError, sqlite3.Error) as error:
        # Words of the driver may name the host and the user, never the password.
        text = " ".join(str(error).split())[:300]
        todo = (
            "Start PostgreSQL, or correct CONTEXTVIZ_DATABASE_URL." if connection.vendor == "postgresql"
            else "Look at the file's owner and at the disk; restore a backup where it is damaged (docs/data.md)."
        )  # fmt: skip
        return [Check("database", "database", "problem", f"it does not answer: {text}", todo)], False
    kind = f"SQLite, {words.size(path.stat().st_size)}" if connection.vendor == "sqlite" else "PostgreSQL"
    checks = [Check("database", "database", "ok", kind)]
    if waiting:
        first = f"{waiting[0][0].app_label} {waiting[0][0].name}"
        checks.append(Check("database", "tables", "problem", f"{len(waiting)} changes are not applied, first {first}",
                            f"Run: {command_here('migrate')} ({command_here('up')} does it by itself)"))  # fmt: skip
    else:
        checks.append(Check("database", "tables", "ok", "up to date"))
    return checks, not waiting


def broker_check() -> Check:
    """Whether jobs can be handed to workers."""
    kind = "Redis" if settings.REDIS_URL else "SQLite (embedded)"
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=BROKER_SECONDS)
    except (KombuError, OSError, sqlite3.Error) as error:
        todo = "Start Redis, or correct CONTEXTVIZ_REDIS_URL." if settings.REDIS_URL else "Look at the data folder."
        return Check(
            "broker", "broker", "problem", f"{kind} does not answer: {' '.join(str(error).split())[:300]}", todo
        )
    return Check("broker", "broker", "ok", kind)
