"""Raw files that grow: the longer version shares the bytes of the shorter one, so that it costs what was appended.

Both names are one file on disk for as long as both versions have a row, which is until the longer one was read. What
the row says is true: an artifact is the first `size` bytes of its file. `settle` makes a file its own where it matters.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from contextviz.store.artifacts import READ_BYTES, ArtifactWriter, incoming_dir, path_of, sync_folder


@dataclass(slots=True)
class Growth:
    """What came to a file behind the `start` bytes of the artifact `base`: `tail` holds it (closed with the growth),
    `sha256` and `size` are those of the whole."""

    base: str
    start: int
    sha256: str
    size: int
    tail: IO[bytes]

    def place(self) -> bool:
        """Give the whole its own name, sharing what was there; false where that cannot be done (it has grown in
        another way meanwhile) and the file must be copied. Call it in the transaction that writes its row."""
        target = path_of(self.sha256)
        if target.exists():
            return target.stat().st_size == self.size
        try:
            with path_of(self.base).open("r+b") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                known = os.fstat(stream.fileno())
                if known.st_size != self.start or known.st_nlink > 1:  # a backup holds it, or a version not read yet
                    return False
                stream.seek(self.start)
                self.tail.seek(0)
                shutil.copyfileobj(self.tail, stream, READ_BYTES)
                stream.flush()
                os.fsync(stream.fileno())
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                os.link(path_of(self.base), target)
        except OSError:
            return False  # the file system has no links, or the bytes are gone: copying tells more
        sync_folder(target.parent)
        return True


def growth_of(source: Path, base: str, size: int, *, most: int) -> Growth | None:
    """How the file at `source` goes on behind artifact `base` (`size` bytes); None where it does not begin with it, or
    has more than `most` bytes. Raises OSError where it cannot be read."""
    with source.open("rb") as stream:
        found = hashlib.sha256()
        if _feed(found, stream, size, None) < size or found.hexdigest() != base:
            return None
        tail = tempfile.TemporaryFile(dir=incoming_dir())  # noqa: SIM115  # closed with the growth
        came = _feed(found, stream, most - size + 1, tail)
    if size + came > most:
        tail.close()
        return None
    return Growth(base, size, found.hexdigest(), size + came, tail)


def _feed(found: Any, stream: IO[bytes], most: int, copy: IO[bytes] | None) -> int:
    """Hash the next bytes of a stream, at most `most`, and copy them; how many there were."""
    done = 0
    while done < most and (chunk := stream.read(min(READ_BYTES, most - done))):
        found.update(chunk)
        if copy is not None:
            copy.write(chunk)
        done += len(chunk)
    return done


def settle(sha256: str, size: int) -> None:
    """Make an artifact's file one that holds nothing but its own bytes, before it is read or given away. A look at its
    size where nothing is to be done."""
    path = path_of(sha256)
    if not path.exists() or path.stat().st_size <= size:
        return
    with path.open("rb") as stream, ArtifactWriter() as own:
        while own.size < size and (chunk := stream.read(min(READ_BYTES, size - own.size))):
            own.write(chunk)
        own.finish()
        own.place(sha256)
