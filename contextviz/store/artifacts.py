"""Raw files in the data folder, by the hash of their content."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from django.conf import settings

READ_BYTES = 1024 * 1024
HEAD_BYTES = 8192  # as much of an arriving file as is held, for a look at what it is


def incoming_dir() -> Path:
    """Where bytes lie until their file is whole."""
    folder = Path(settings.INCOMING_DIR)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def path_of(sha256: str) -> Path:
    """Where the bytes of an artifact lie: `artifacts/<first two hex digits>/<sha256>`."""
    return Path(settings.DATA_DIR) / "artifacts" / sha256[:2] / sha256


class ArtifactWriter:
    """Writes an arriving file under a temporary name, hashing it on the way; `place` gives it its own.

    As a context manager it removes the temporary file where it was not placed.
    """

    def __init__(self, stem: str | None = None) -> None:
        self.temporary = incoming_dir() / f"{stem or uuid.uuid4().hex}.part"
        self.size = 0
        self.head = b""
        self._hash = hashlib.sha256()
        self._stream = self.temporary.open("xb")  # closed by finish or __exit__
        self.temporary.chmod(0o600)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self.temporary.unlink(missing_ok=True)

    def write(self, chunk: bytes) -> None:
        """Append bytes."""
        if len(self.head) < HEAD_BYTES:
            self.head += chunk[: HEAD_BYTES - len(self.head)]
        self._hash.update(chunk)
        self._stream.write(chunk)
        self.size += len(chunk)

    def flush(self) -> None:
        """Have in the file all that was written so far, for a look at it."""
        self._stream.flush()

    def whole(self) -> bytes:
        """All that was written so far; for small files."""
        self.flush()
        return self.temporary.read_bytes()

    def put_instead(self, chunks: Iterable[bytes]) -> None:
        """Have `chunks` in place of everything that was written: those bytes are gone."""
        self._stream.seek(0)
        self._stream.truncate()
        self._hash = hashlib.sha256()
        self.size, self.head = 0, b""
        for chunk in chunks:
            self.write(chunk)

    def finish(self) -> str:
        """All bytes have come: make them durable, and return their hash."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return self._hash.hexdigest()

    def place(self, sha256: str) -> None:
        """Give the file its own name; the same content twice is one file. Call it in the transaction that writes
        its row, so that a concurrent removal of the same content comes wholly before or wholly after."""
        target = path_of(sha256)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.temporary.replace(target)
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(sha256: str) -> None:
    """Remove an artifact's bytes; fine where there are none."""
    path_of(sha256).unlink(missing_ok=True)


def hash_of(paths: Iterable[Path], *, limit: int | None = None) -> str:
    """SHA-256 of files one after another, of their first `limit` bytes where given."""
    found = hashlib.sha256()
    left = limit
    for path in paths:
        with path.open("rb") as stream:
            while left != 0 and (chunk := stream.read(READ_BYTES if left is None else min(READ_BYTES, left))):
                found.update(chunk)
                left = None if left is None else left - len(chunk)
    return found.hexdigest()
