"""Compressed files and archives, opened within limits into a temporary folder that lives as long as the read.

Whatever is in an archive is hostile: sizes in it are claims, names may lead out of the folder, links and devices may
lead anywhere. Nothing is extracted but regular files, as streams, under names of ours.
"""

from __future__ import annotations

import gzip
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Literal, Protocol, cast

import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.archives import (
    SafeTarInfo,
    UnsafeMember,
    is_tar,
    member_path,
    why_not_regular,
    why_not_regular_zip,
)
from contextviz.sources.files import NamedPath
from contextviz.sources.source import ReadItem

Packing = Literal["gzip", "zstd", "zip", "tar"]
MAGICS: tuple[tuple[bytes, Packing], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
HEAD_BYTES = 512
CHUNK_BYTES = 64 * 1024  # what a damaged stream gave in its last chunk is lost
FREE_BYTES = 1024 * 1024
MAX_WINDOW_BYTES = 256 * 1024 * 1024
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError, zipfile.BadZipFile, tarfile.TarError)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may come out of all archives of one read together, and out of one at which ratio to what it is on
    disk (counted after the first MiB)."""

    total_bytes: int = 4 * 1024 * 1024 * 1024
    ratio: int = 200
    members: int = 10_000


@dataclass(slots=True)
class Unpacked:
    """What is to be read: `paths` with members in place of archives, `items` what is to be told of the archives,
    `origins` the name of the archive that a member's name comes from, `sizes` of compressed files on disk."""

    paths: list[NamedPath] = field(default_factory=list)
    items: list[SourceFile | ReadProblem] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def all_of(self, items: Iterable[ReadItem]) -> Iterator[ReadItem]:
        """What is told of the archives, then what was read of `paths`, compressed files with their size on disk."""
        yield from self.items
        for item in items:
            if isinstance(item, SourceFile) and item.path in self.sizes:
                yield replace(item, size=self.sizes[item.path])
            else:
                yield item
            del item  # a transcript is not held while the next is read


def packing_of(head: bytes) -> Packing | None:
    """How a file that begins with `head` (512 bytes are enough) is packed; None where it is not."""
    if is_tar(head):
        return "tar"
    return next((packing for magic, packing in MAGICS if head.startswith(magic)), None)


@contextmanager
def unpacked(paths: Sequence[NamedPath], limits: Limits | None = None) -> Iterator[Unpacked]:
    """The files to read in place of `paths`: a compressed file under its own name, an archive's members under
    `archive/member`. Archives inside archives stay closed. Everything is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="contextviz-unpack-") as folder:
        opener = _Opener(Path(folder), limits or Limits())
        for number, named in enumerate(paths):
            opener.open(named, number)
        yield opener.found


class _Opener:
    """Opens archives one after another; the limits are for all of them."""

    def __init__(self, folder: Path, limits: Limits):
        self.found = Unpacked()
        self._folder = folder
        self._limits = limits
        self._left = limits.total_bytes
        self._members = 0

    def open(self, named: NamedPath, number: int) -> None:
        """Add a file as it is, or what is in it."""
        try:
            packing = packing_of(_head(named.path))
        except OSError:
            packing = None  # reading it tells why it cannot be opened
        if packing is None:
            self.found.paths.append(named)
            return
        place = self._folder / str(number)
        place.mkdir()
        before = len(self.found.paths)
        try:
            if packing == "zip":
                self._zip(named, place)
            elif packing == "tar":
                with named.path.open("rb") as raw:
                    self._tar(named, place, raw)
            else:
                self._stream(named, place, packing)
        except UnsafeMember as why:
            self._unsafe(named, None, str(why))
            self._listed(named, before, f"not opened to its end: {why}")
            return
        except (*DAMAGE, OSError, RuntimeError, NotImplementedError) as why:
            self._damaged(named, str(why) or "it ends too early")
        self._listed(named, before, None)

    def _listed(self, named: NamedPath, before: int, why: str | None) -> None:
        """Tell what an archive was, unless it was a compressed file that is read under its own name."""
        taken = self.found.paths[before:]
        size = named.path.stat().st_size
        if len(taken) == 1 and taken[0].name == named.name:
            self.found.sizes[named.name] = size
            return
        if taken:
            what = why or f"opened: {len(taken)} {'file' if len(taken) == 1 else 'files'} in it"
            self.found.items.append(SourceFile(named.name, None, "archive", False, what, size))
        else:
            self.found.items.append(
                SourceFile(named.name, None, "ignored", False, why or "nothing to read in it", size)
            )

    def _stream(self, named: NamedPath, place: Path, packing: Packing) -> None:
        with named.path.open("rb") as raw, _decompressed(raw, packing) as stream:
            limited = _Limited(stream, self._budget_of(named.path.stat().st_size))
            head = limited.read(HEAD_BYTES)
            if is_tar(head):
                self._tar(named, place, limited.again(head))
                return
            target = place / member_path(named.path.name)
            try:
                self._copy(limited.again(head), target)
            except UnsafeMember:
                target.unlink(missing_ok=True)
                raise
            finally:
                # What a damaged stream gave before it broke is read all the same.
                if target.exists():
                    self.found.paths.append(NamedPath(target, named.name))

    def _tar(self, named: NamedPath, place: Path, stream: _Readable) -> None:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=SafeTarInfo) as archive:
            for member in archive:
                self._count()
                why = why_not_regular(member)
                if why == "folder":
                    continue
                source = None if why else archive.extractfile(member)
                if source is None:
                    self._unsafe(named, member.name, why or "not a regular file")
                    continue
                with source:
                    self._member(named, place, member.name, source)

    def _zip(self, named: NamedPath, place: Path) -> None:
        with zipfile.ZipFile(named.path) as archive:
            for member in archive.infolist():
                self._count()
                why = why_not_regular_zip(member)
                if why == "folder":
                    continue
                if why is not None:
                    self._unsafe(named, member.filename, why)
                    continue
                try:
                    with archive.open(member) as source:
                        self._member(
                            named, place, member.filename, _Limited(source, self._budget_of(member.compress_size))
                        )
                except DAMAGE as error:
                    self._damaged(named, f"{member.filename[:200]}: {error}")

    def _member(self, named: NamedPath, place: Path, name: str, source: _Readable) -> None:
        """Write one member and name it; one that goes too far ends the archive only where it used up what is left."""
        try:
            relative = member_path(name)
            target = place / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                raise UnsafeMember("its name is in the archive twice, and only the first is read")
        except (UnsafeMember, OSError) as why:
            self._unsafe(named, name, str(why))
            return
        try:
            self._copy(source, target)
        except UnsafeMember as why:
            target.unlink(missing_ok=True)
            if self._left <= 0 or not isinstance(source, _Limited):
                raise
            self._unsafe(named, name, str(why))
            return
        shown = f"{named.name}/{relative}"
        if packing_of(_head(target)) is not None:
            text = "an archive inside an archive is not opened"
            self.found.items.append(SourceFile(shown, None, "ignored", False, text, target.stat().st_size))
            return
        self.found.paths.append(NamedPath(target, shown))
        self.found.origins[shown] = named.name

    def _copy(self, source: _Readable, target: Path) -> None:
        with target.open("wb") as out:
            while chunk := source.read(CHUNK_BYTES):
                self._left -= len(chunk)
                if self._left < 0:
                    raise UnsafeMember(f"more than {self._limits.total_bytes // 1024 // 1024} MiB came out of it")
                out.write(chunk)

    def _count(self) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise UnsafeMember(f"there are more than {self._limits.members:,} files in it")

    def _budget_of(self, packed: int) -> int:
        return max(FREE_BYTES, packed * self._limits.ratio)

    def _unsafe(self, named: NamedPath, member: str | None, why: str) -> None:
        what = named.name if member is None else f"{_shown(member)} in {named.name}"
        text = f"{what} was not read: {why}"
        value = None if member is None else _shown(member)
        self.found.items.append(ReadProblem("unsafe_archive_member", text, "error", named.name, value=value))

    def _damaged(self, named: NamedPath, why: str) -> None:
        text = f"{named.name} is damaged ({_shown(why)}); what could be taken out of it before is read"
        self.found.items.append(ReadProblem("damaged_archive", text, "error", named.name))


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class _Limited:
    """A stream that refuses to give more than its budget; `head` is given again first."""

    def __init__(self, stream: _Readable, budget: int, head: bytes = b"", used: int = 0):
        self._stream = stream
        self._budget = budget
        self._head = head
        self._used = used

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; raises UnsafeMember past the budget."""
        if self._head:
            given, self._head = self._head[:size], self._head[size:]
            return given
        chunk = self._stream.read(min(size, CHUNK_BYTES) if size > 0 else CHUNK_BYTES)
        self._used += len(chunk)
        if self._used > self._budget:
            raise UnsafeMember("it grows to more than 200 times its size on disk")
        return chunk

    def again(self, head: bytes) -> _Limited:
        """The stream with what was looked at in front."""
        return _Limited(self._stream, self._budget, head, self._used)


@contextmanager
def _decompressed(raw: IO[bytes], packing: Packing) -> Iterator[_Readable]:
    if packing == "gzip":
        with gzip.GzipFile(fileobj=raw) as stream:
            yield stream
        return
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    with decompressor.stream_reader(raw, read_across_frames=True) as reader:
        yield reader


def _head(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.read(HEAD_BYTES)


def _shown(name: str) -> str:
    good = name.encode("utf-8", errors="replace").decode("utf-8")
    return "".join(char if char.isprintable() else "\ufffd" for char in good)[:200]
