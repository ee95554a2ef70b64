"""What may come out of an archive: regular files under names that stay inside their folder, as streams that end."""

from __future__ import annotations

import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from tarfile import HeaderError
from typing import IO, Literal, Protocol, Self

import zstandard

CHUNK_BYTES = 64 * 1024
MAX_WINDOW_BYTES = 256 * 1024 * 1024
MAX_NAME_BYTES = 200
MAX_PARTS = 32
MAX_HEADER_BYTES = 1024 * 1024
TAR_MAGIC_AT = 257
BLOCK_BYTES = 512  # of a tar archive
# Why a member that holds nothing of its own is not read.
LINK = "it is a link"
DEVICE = "it is a device or another special file"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPED_MAGIC = b"\x2a\x4d\x18"  # behind a first byte of 0x50 to 0x5f
_WINDOW_BYTES = (0, 1, 2, 4)  # of a dictionary's id, by the frame header's two lowest bits
_LENGTH_BYTES = (0, 2, 4, 8)  # of the length of the content, by its two highest
_REPEATED = 1  # the type of a block that is one byte, many times
_DRIVE = re.compile(r"^[A-Za-z]:")
_LONG_HEADERS = frozenset(
    {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE}
)


class UnsafeMember(Exception):
    """Something in an archive is not taken out of it; the text says why, for a person."""


class CutOff(Exception):
    """A compressed file or an archive ends in the middle."""


# What reading something packed raises where it is cut off or damaged.
DAMAGE = (
    CutOff, EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError, zipfile.BadZipFile,
    tarfile.TarError,
)  # fmt: skip


class NoHeader(tarfile.ReadError):
    """Where a tar member's header should stand is something else."""


class EndMark(tarfile.HeaderError):
    """Where the headers of a tar archive stop: a block of nothing but zeros."""


class SafeTarInfo(tarfile.TarInfo):
    """A member whose long name or extended header cannot be as large as memory. tarfile itself
    takes half a header, or one that is none, for the archive's end; here only its end mark is that."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        """See tarfile.TarInfo.fromtarfile; raises EndMark at the end, and NoHeader where a header is damaged."""
        try:
            return super().fromtarfile(tarfile)
        except EndMark:
            raise
        except HeaderError as error:
            raise NoHeader("a header in it is damaged") from error

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """See tarfile.TarInfo.frombuf; raises UnsafeMember for headers of more than 1 MiB, CutOff for half a one."""
        if len(buf) < BLOCK_BYTES:
            raise CutOff
        if not any(buf):
            raise EndMark
        info = super().frombuf(buf, encoding, errors)
        if info.type in _LONG_HEADERS and info.size > MAX_HEADER_BYTES:
            raise UnsafeMember("a name or header in it is larger than 1 MiB")
        return info


def is_tar(head: bytes) -> bool:
    """Whether a file begins as a tar archive does."""
    return head[TAR_MAGIC_AT : TAR_MAGIC_AT + 5] == b"ustar"


def member_path(name: str) -> str:
    """A member's name as a relative path of ours; raises UnsafeMember where it leads out of the archive."""
    good = name.encode("utf-8", errors="replace").decode("utf-8").replace("\\", "/")
    if good.startswith("/") or _DRIVE.match(good):
        raise UnsafeMember("its name is an absolute path")
    parts = [part for part in good.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UnsafeMember("its name leads out of the archive")
    if not parts or len(parts) > MAX_PARTS:
        raise UnsafeMember("it has no name" if not parts else f"it lies deeper than {MAX_PARTS} folders")
    return "/".join(_component(part) for part in parts)


def _component(part: str) -> str:
    """One part of a path, printable and short enough for any file system; the end stays, since it says the kind."""
    clean = "".join(char if char.isprintable() else "\ufffd" for char in part)
    raw = clean.encode("utf-8")
    return clean if len(raw) <= MAX_NAME_BYTES else raw[-MAX_NAME_BYTES:].decode("utf-8", errors="ignore")


def why_not_regular(member: tarfile.TarInfo) -> str | None:
    """Why a tar member is not read: `folder`, or a reason for people; None for a regular file."""
    if member.isdir():
        return "folder"
    if member.issym() or member.islnk():
        return LINK
    return None if member.isreg() else DEVICE


def why_not_regular_zip(member: zipfile.ZipInfo) -> str | None:
    """Why a zip member is not read: `folder`, or a reason for people; None for a regular file."""
    if member.is_dir():
        return "folder"
    mode = member.external_attr >> 16
    if mode and stat.S_ISLNK(mode):
        return LINK
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return DEVICE
    return "it is encrypted" if member.flag_bits & 1 else None


def is_whole_zstd(raw: IO[bytes], size: int) -> bool:
    """Whether a file of `size` bytes holds every block of its zstd frames (RFC 8878, section 3.1). Only headers are
    read: a decompressor that is fed a part of a frame gives what it has and says nothing."""
    at = 0
    while at < size:
        magic = _at(raw, at, 4)
        if magic[1:] == _SKIPPED_MAGIC and magic[0] & 0xF0 == 0x50:
            at += 8 + int.from_bytes(_at(raw, at + 4, 4), "little")
        elif magic == ZSTD_MAGIC:
            at = _end_of_frame(raw, at + 4, size)
        else:
            return len(magic) == 4  # something else than a frame follows, which the decompressor has told of
    return at == size


def _end_of_frame(raw: IO[bytes], at: int, size: int) -> int:
    """Where the frame ends whose header begins at `at`; behind `size` where it is cut off."""
    descriptor = (_at(raw, at, 1) or b"\0")[0]
    is_single = bool(descriptor & 0x20)
    lengths = max(_LENGTH_BYTES[descriptor >> 6], int(is_single))
    at += 1 + int(not is_single) + _WINDOW_BYTES[descriptor & 3] + lengths
    while len(header := _at(raw, at, 3)) == 3:
        block = int.from_bytes(header, "little")
        at += 3 + (1 if block >> 1 & 3 == _REPEATED else block >> 3)
        if block & 1:
            return at + (4 if descriptor & 4 else 0)
    return size + 1


def _at(raw: IO[bytes], at: int, size: int) -> bytes:
    raw.seek(at)
    return raw.read(size)


class Readable(Protocol):
    """What bytes can be read from."""

    def read(self, size: int = ..., /) -> bytes: ...


class UpToBreak:
    """A stream that ends where another ends or breaks, so that what reads it in blocks loses nothing of the last.
    `why` is what the other broke with, `is_over` whether more was wanted than it gave."""

    def __init__(self, stream: Readable):
        self.why: Exception | None = None
        self.is_over = False
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        if self.is_over:
            return b""
        try:
            chunk = self._stream.read(size)
        except (*DAMAGE, OSError) as why:
            self.why, chunk = why, b""
        self.is_over = not chunk
        return chunk


class TarMember:
    """The bytes of a tar member of `size` that begin where `stream` stands, as far as they are there; then CutOff."""

    def __init__(self, stream: Readable, size: int):
        self._stream = stream
        self._left = size

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        chunk = self._stream.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(chunk)
        if self._left and not chunk:
            raise CutOff
        return chunk


class _Gzip:
    """A gzip stream that gives all it has before it says that it is cut off (EOFError)."""

    def __init__(self, stream: gzip.GzipFile):
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        return self._stream.read1(size)


class _Zstd:
    """A zstd stream that raises CutOff where it ends, unless all of it is there."""

    def __init__(self, stream: Readable, *, is_whole: bool):
        self._stream = stream
        self._is_whole = is_whole

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        chunk = self._stream.read(size)
        if not chunk and not self._is_whole:
            raise CutOff
        return chunk


class Limited:
    """A stream that refuses to give more than its budget; `head` is given again first, and `why` raised behind it."""

    def __init__(self, stream: Readable, budget: int, head: bytes = b"", used: int = 0, why: Exception | None = None):
        self._stream = stream
        self._budget = budget
        self._head = head
        self._used = used
        self._why = why

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; raises UnsafeMember past the budget."""
        if self._head:
            given, self._head = self._head[:size], self._head[size:]
            return given
        if self._why is not None:
            raise self._why
        chunk = self._stream.read(min(size, CHUNK_BYTES) if size > 0 else CHUNK_BYTES)
        self._used += len(chunk)
        if self._used > self._budget:
            raise UnsafeMember("it grows to more than 200 times its size on disk")
        return chunk

    def first(self, size: int) -> bytes:
        """The first `size` bytes, fewer where the stream has no more or is cut off; reading on tells which."""
        head = b""
        try:
            while len(head) < size and (chunk := self.read(size - len(head))):
                head += chunk
        except (CutOff, EOFError) as why:
            self._why = why  # a stream that was cut off in its header says so only once
        return head

    def again(self, head: bytes) -> Limited:
        """The stream with what was looked at in front."""
        return Limited(self._stream, self._budget, head, self._used, self._why)


@contextmanager
def decompressed(raw: IO[bytes], packing: Literal["gzip", "zstd"]) -> Iterator[Readable]:
    """What is in a compressed file, as a stream. Raises CutOff or EOFError at the end of one that is cut off."""
    if packing == "gzip":
        with gzip.GzipFile(fileobj=raw) as stream:
            yield _Gzip(stream)
        return
    is_whole = is_whole_zstd(raw, raw.seek(0, 2))
    raw.seek(0)
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
    with decompressor.stream_reader(raw, read_across_frames=True) as reader:
        yield _Zstd(reader, is_whole=is_whole)
