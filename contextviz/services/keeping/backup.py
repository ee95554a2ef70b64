"""A running installation in one file, and back into an empty data folder.

The file is a plain tar: `manifest.json`, which holds bytes and hash of everything else (keeping.manifest), the database
(`contextviz.sqlite3`, or `database.dump` of pg_dump), and raw files by their hash. The key that signs sign-ins is not
in it: after a restore everybody signs in again.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

from contextviz import __version__
from contextviz.services.keeping.manifest import (
    FORMAT,
    MANIFEST,
    BackupRefused,
    Manifest,
    read_manifest,
    verify,
    verify_end,
    verify_sqlite,
)
from contextviz.store.models import ArtifactRecord
from contextviz.store.queries import sessions

DATABASE, DUMP = "contextviz.sqlite3", "database.dump"
READ_BYTES = 1024 * 1024
_ARTIFACT = re.compile(r"artifacts/([0-9a-f]{2})/(\1[0-9a-f]{62})")


def backup(target: Path, *, now: datetime) -> Manifest:
    """Copy this installation, while it runs, into a new file at `target`, readable by its owner alone.

    The database is copied as it is at one moment; raw files that go while it is copied are held by a second link.
    Raises BackupRefused.
    """
    if target.exists():
        raise BackupRefused(f"{target} is there already. Name a new file.")
    if not target.parent.is_dir():
        raise BackupRefused(f"There is no folder {target.parent}. Make it first.")
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".backup-") as folder:
        held = Path(folder) / "artifacts"
        _hold(held)
        database = _copy_sqlite(Path(folder)) if connection.vendor == "sqlite" else _dump_postgres(Path(folder))
        _hold(held)
        names = _artifact_sizes(database)
        # A version that has grown since may share the file (store.growing): no more than its own bytes are its.
        there = {
            name: min(size, _place(held, name).stat().st_size)
            for name, size in names.items()
            if _place(held, name).is_file()
        }
        members = {database.name: _sized(database)} | {_member(name): (size, name) for name, size in there.items()}
        manifest = Manifest(
            FORMAT, __version__, connection.vendor, now.isoformat(timespec="seconds"), sessions.session_count(),
            len(there), len(names) - len(there), members,
        )  # fmt: skip
        partial = target.with_name(target.name + ".part")
        try:
            _write(partial, manifest, database, held, there)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return manifest


def _hold(held: Path) -> None:
    """A second name for every raw file, so that none goes while it is copied; a file that just went is passed by."""
    for path in (Path(settings.DATA_DIR) / "artifacts").glob("??/*"):
        own = _place(held, path.name)
        own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            os.link(path, own)
        except (FileExistsError, FileNotFoundError):
            continue
        except OSError:  # a file system without links
            shutil.copyfile(path, own)


def _sized(path: Path) -> tuple[int, str]:
    with path.open("rb") as stream:
        return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()


def _member(sha256: str) -> str:
    return f"artifacts/{sha256[:2]}/{sha256}"


def _place(folder: Path, sha256: str) -> Path:
    return folder / sha256[:2] / sha256


def _copy_sqlite(folder: Path) -> Path:
    copy = folder / DATABASE
    name = f"file:{quote(str(connection.settings_dict['NAME']))}?mode=ro"
    with closing(sqlite3.connect(name, uri=True)) as source, closing(sqlite3.connect(copy)) as kept:
        source.backup(kept)  # in one step: one moment, and writers are not held up in WAL mode
        kept.execute("PRAGMA journal_mode=DELETE")  # no files beside it
    return copy


def _dump_postgres(folder: Path) -> Path:
    tool = shutil.which("pg_dump")
    if tool is None:
        raise BackupRefused("pg_dump is not installed here; install PostgreSQL's client, or see docs/operations.md.")
    dump = folder / DUMP
    _run([tool, "--format=custom", "--no-owner", "--no-privileges", f"--file={dump}"], "pg_dump")
    return dump


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, env=_client_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BackupRefused(f"{name} failed: {done.stderr.strip().splitlines()[-1][:300] if done.stderr else ''}")


def _client_environment() -> dict[str, str]:
    """The database's address for PostgreSQL's own tools; in the environment, where no list of processes shows it."""
    given = connection.settings_dict
    named = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    environment = dict(os.environ)
    environment.update({name: str(given[key]) for name, key in named.items() if given[key]})
    if given["OPTIONS"].get("sslmode"):
        environment["PGSSLMODE"] = str(given["OPTIONS"]["sslmode"])
    return environment


def _artifact_sizes(database: Path) -> dict[str, int]:
    """The raw files that the copied database names, with their bytes; of a dump, those that the running one names
    right after it."""
    if database.name == DATABASE:
        with closing(sqlite3.connect(database)) as copy:
            return dict(copy.execute("SELECT sha256, size FROM store_artifactrecord WHERE path = ''"))
    return dict(ArtifactRecord.objects.filter(path="").values_list("sha256", "size"))


def _write(target: Path, manifest: Manifest, database: Path, held: Path, sizes: Mapping[str, int]) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        data = manifest.encoded()
        head = tarfile.TarInfo(MANIFEST)
        head.size = len(data)
        tar.addfile(head, io.BytesIO(data))
        tar.add(database, database.name)
        for name, size in sizes.items():
            path = _place(held, name)
            info = tar.gettarinfo(path, _member(name))
            info.size = size
            with path.open("rb") as raw:
                tar.addfile(info, raw)
        stream.flush()
    with target.open("rb") as written:
        os.fsync(written.fileno())


def restore(source: Path) -> Manifest:
    """Bring a backup into this, still empty, installation; everything is held against its hash, and a
    SQLite database is looked through, before anything is put in place. The caller then brings the tables up to date.
    Raises BackupRefused, and leaves nothing behind then."""
    _refuse_filled()
    with _opened(source) as tar:
        manifest = read_manifest(tar)
        if manifest.database != connection.vendor:
            raise BackupRefused(
                f"This is the backup of an installation on {manifest.database}, and this one is on "
                f"{connection.vendor}. Set CONTEXTVIZ_DATABASE_URL to match."
            )
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=".restore-") as folder:
            found = _unpack(tar, Path(folder))
            verify_end(tar, source)
            verify(manifest, found, database=DATABASE if manifest.database == "sqlite" else DUMP)
            if manifest.database == "sqlite":
                verify_sqlite(Path(folder) / DATABASE)
            _put_in_place(Path(folder))
    return manifest


def _refuse_filled() -> None:
    folder = Path(settings.DATA_DIR)
    is_filled = any((folder / "artifacts").glob("??/*"))
    if connection.vendor == "sqlite":
        is_filled = is_filled or Path(str(connection.settings_dict["NAME"])).exists()
    else:
        is_filled = is_filled or bool(connection.introspection.table_names())
    if is_filled:
        raise BackupRefused(
            f"There is an installation in {folder} or its database already. Restore into an empty one: set "
            "CONTEXTVIZ_DATA_DIR to a new folder."
        )


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    try:
        tar = tarfile.open(source, mode="r:")  # noqa: SIM115  # closed below; only the opening is guarded here
    except (OSError, tarfile.TarError) as error:
        reason = getattr(error, "strerror", None) or "it is no backup of contextviz"
        raise BackupRefused(f"{source} cannot be read: {reason}.") from error
    with tar:
        try:
            yield tar
        except (tarfile.TarError, EOFError) as error:
            raise BackupRefused(f"{source} is damaged: {error}.") from error


def _unpack(tar: tarfile.TarFile, folder: Path) -> dict[str, tuple[int, str]]:
    """Only plain files with the names that a backup has: whatever else a tar may hold is refused. Gives bytes and hash
    of each."""
    found: dict[str, tuple[int, str]] = {}
    for member in tar:
        if member.name == MANIFEST:
            continue
        stream = tar.extractfile(member) if member.isfile() else None
        if stream is None or not (_ARTIFACT.fullmatch(member.name) or member.name in (DATABASE, DUMP)):
            raise BackupRefused(f"The backup holds {member.name[:80]!r}, which does not belong into one.")
        path = folder / member.name
        if member.name in found:
            raise BackupRefused(f"The backup holds {member.name[:80]!r} twice.")
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        found[member.name] = _copy(stream, path)
    return found


def _copy(stream: Any, path: Path) -> tuple[int, str]:
    hashed, size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        while chunk := stream.read(READ_BYTES):
            hashed.update(chunk)
            size += len(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    return size, hashed.hexdigest()


def _put_in_place(folder: Path) -> None:
    if connection.vendor != "sqlite":
        _restore_postgres(folder / DUMP)  # first: it is what may fail, and then nothing is left behind
    kept = Path(settings.DATA_DIR) / "artifacts"
    if (folder / "artifacts").is_dir():
        if kept.is_dir():
            shutil.rmtree(kept)  # only empty folders are in it: a filled one was refused
        (folder / "artifacts").replace(kept)
    if connection.vendor == "sqlite":
        connection.close()
        (folder / DATABASE).replace(Path(str(connection.settings_dict["NAME"])))


def _restore_postgres(dump: Path) -> None:
    tool = shutil.which("pg_restore")
    if tool is None:
        raise BackupRefused("pg_restore is not installed here; install PostgreSQL's client, or see docs/operations.md.")
    command = [tool, "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
    _run([*command, f"--dbname={connection.settings_dict['NAME']}", str(dump)], "pg_restore")
