"""What a backup says of itself, and whether what is in it is that, whole and undamaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tarfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

MANIFEST = "manifest.json"
FORMAT, FIRST_FORMAT = 2, 1
# A million raw files are 90 MB of it.
MOST_MANIFEST_BYTES = 256 * 1024 * 1024
OTHER = "Use another backup."
OWN = "sha256"


class BackupRefused(Exception):
    """It cannot be backed up or restored so; the text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a backup. `missing` raw files that the database names were not in the data folder any more.

    `members` are the bytes and the SHA-256 of everything that follows it, by name. Backups of format 1 have none: of
    those, raw files alone can be held against a hash, which is their name.
    """

    format: int
    version: str
    database: str  # sqlite or postgresql
    created_at: str
    sessions: int
    artifacts: int
    missing: int
    members: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def has_hashes(self) -> bool:
        """Whether everything in the backup can be held against a hash."""
        return self.format > FIRST_FORMAT

    def encoded(self) -> bytes:
        """As it is written: with a hash of all else that it says."""
        said = asdict(self)
        return json.dumps({**said, OWN: _hash_of(said)}, indent=1 if len(self.members) < 100 else None).encode()


def _hash_of(said: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def read_manifest(tar: tarfile.TarFile) -> Manifest:
    """The manifest, which is the first member. Raises BackupRefused."""
    first = tar.next()
    is_there = first is not None and first.isfile() and first.name == MANIFEST and first.size <= MOST_MANIFEST_BYTES
    stream = tar.extractfile(first) if first is not None and is_there else None
    try:
        found: dict[str, Any] = json.loads(stream.read()) if stream else {}
        if found["format"] > FORMAT:
            raise BackupRefused(
                f"The backup was made by contextviz {str(found.get('version'))[:40]}, which is newer. Upgrade first."
            )
        own = found.pop(OWN, None)
        if found["format"] > FIRST_FORMAT and own != _hash_of(found):
            raise BackupRefused(f"What the backup says of itself is damaged. {OTHER}")
        members = {str(name): (int(size), str(sha256)) for name, (size, sha256) in found.pop("members", {}).items()}
        return Manifest(**{one.name: found.pop(one.name) for one in fields(Manifest) if one.name != "members"},
                        members=members, **found)  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BackupRefused("The file is no backup of contextviz: it does not begin with a manifest.") from error


def verify(manifest: Manifest, found: Mapping[str, tuple[int, str]], *, database: str) -> None:
    """Hold the bytes and the hashes of what was unpacked against what the manifest says. Raises BackupRefused."""
    if database not in found or len(found) != manifest.artifacts + 1:
        raise BackupRefused(f"The backup is not complete. {OTHER}")
    for name, (size, sha256) in found.items():
        kept = manifest.members.get(name) if manifest.has_hashes else None
        is_raw = name != database
        if (manifest.has_hashes and kept != (size, sha256)) or (is_raw and name.rpartition("/")[2] != sha256):
            what = f"raw file {name.rpartition('/')[2][:12]}…" if is_raw else "database"
            raise BackupRefused(f"The {what} in the backup is damaged. {OTHER}")


def verify_end(tar: tarfile.TarFile, source: Path) -> None:
    """That the file goes on to its end mark, in whole records, once every member was read. Raises BackupRefused."""
    with source.open("rb") as stream:
        stream.seek(tar.offset)
        mark = stream.read(2 * tarfile.BLOCKSIZE)
        is_whole = stream.seek(0, 2) % tarfile.RECORDSIZE == 0
    if not is_whole or mark != bytes(2 * tarfile.BLOCKSIZE):
        raise BackupRefused(f"The backup is not complete: its end is cut off. {OTHER}")


def verify_sqlite(database: Path) -> None:
    """That SQLite finds nothing wrong in a database file that nobody has open: a second for 75 MB. Raises
    BackupRefused."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro&immutable=1", uri=True)) as copy:
            said = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        said = str(error)
    if said != "ok":
        line = " ".join(str(said).split())[:200]
        raise BackupRefused(f"The database in the backup is damaged ({line}). {OTHER}")
