"""Compressed files and archives, opened within limits into a temporary folder that lives as long as the read.

Whatever is in an archive is hostile: sizes in it are claims, names may lead out of the folder, links and devices may
lead anywhere. Nothing is extracted but regular files, as streams, under names of ours.
"""

from __future__ import annotations

import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Literal, cast

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.archives import (
    CHUNK_BYTES,
    DAMAGE,
    ZSTD_MAGIC,
    CutOff,
    EndMark,
    Limited,
    Readable,
    SafeTarInfo,
    TarMember,
    UnsafeMember,
    UpToBreak,
    decompressed,
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
    (ZSTD_MAGIC, "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)
HEAD_BYTES = 512
FREE_BYTES = 1024 * 1024
MOST_BEHIND = 16  # times CHUNK_BYTES that are read behind an archive's end for the checksum of what it is packed in
WORDS = {"cut_off": "cut off", "damaged_archive": "damaged"}
GET_WHOLE = "Get the whole file and import it again to have the rest."


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
    `origins` the name of the archive that a member's name comes from, `sizes` of compressed files on disk, `cut` what
    is to be told of files that are not there to their end, or broke before it."""

    paths: list[NamedPath] = field(default_factory=list)
    items: list[SourceFile | ReadProblem] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    cut: dict[str, ReadProblem] = field(default_factory=dict)

    def all_of(self, items: Iterable[ReadItem]) -> Iterator[ReadItem]:
        """What is told of the archives, then what was read of `paths`, compressed files with their size on disk. That
        a file is cut off or damaged is told with the session that was read of it, and by itself where there is none."""
        cut = dict(self.cut)
        read_as: dict[str, SourceFile] = {}
        yield from (item for item in self.items if item not in self.cut.values())
        for item in items:
            if isinstance(item, SourceFile):
                if item.path in cut:
                    read_as[item.path] = item
                yield self._file(item)
            else:
                if isinstance(item, Transcript):
                    for name in sorted(cut.keys() & set(item.files)):
                        _tell_cut(item, name, cut.pop(name))
                yield item
            del item  # a transcript is not held while the next is read
        for name, problem in cut.items():
            yield _without_session(name, problem, read_as.get(name))

    def _file(self, one: SourceFile) -> SourceFile:
        """A file with its size on disk, and that it is cut off or damaged."""
        size = self.sizes.get(one.path, one.size)
        problem = self.cut.get(one.path)
        if problem is None:
            return one if size == one.size else replace(one, size=size)
        why = f"the {'archive' if one.path in self.origins else 'compressed file'} is {WORDS[problem.code]}"
        return replace(one, size=size, reason=why if one.reason is None else f"{why}; {one.reason}")


def _without_session(name: str, problem: ReadProblem, read_as: SourceFile | None) -> ReadProblem:
    """What is told of a file that is not whole and has no session of its own."""
    how = WORDS[problem.code]
    if read_as is not None and read_as.role == "duplicate":
        text = (
            f"{name} is {how}, and what came out of it up to there is a copy of what another file holds, so it is not "
            "counted again. Where the whole file may hold more, get that and import it again."
        )
        return replace(problem, message=text, severity="warning")
    if read_as is not None and read_as.role != "ignored":
        return problem  # a trace, an index: read, though not as a session of its own
    return replace(problem, message=f"{name} is {how}, and what came out of it up to there is no session. {GET_WHOLE}")


def _tell_cut(transcript: Transcript, name: str, problem: ReadProblem) -> None:
    """Note with a session that one of its files is not whole. Its last line is then no line that is still written."""
    lines = transcript.lines
    for number, known in enumerate(transcript.problems):
        if known.code == "in_progress" and known.file == name and known.line == lines.in_progress is not None:
            text = f"line {known.line} is malformed: the file is {WORDS[problem.code]} in it"
            transcript.problems[number] = replace(known, code="malformed_line", message=text, severity="warning")
            lines.malformed.append(lines.in_progress)
            lines.recovered.setdefault(lines.in_progress, [])
            lines.in_progress = None
    transcript.problems.append(problem)


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
        self._broken: str | None = None  # the name of what was being taken out when a stream broke

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
        before, self._broken = len(self.found.paths), None
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
            is_out = len(self.found.paths) > before
            problem = _broke(named, None, why, is_out=is_out)
            self._tell(problem)
            half = f"not opened to its end: it is {WORDS[problem.code]}"
            self._listed(named, before, half if is_out else _nothing_of("the file", problem.code))
            return
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

    def _stream(self, named: NamedPath, place: Path, packing: Literal["gzip", "zstd"]) -> None:
        with named.path.open("rb") as raw, decompressed(raw, packing) as stream:
            limited = Limited(stream, self._budget_of(named.path.stat().st_size))
            head = limited.first(HEAD_BYTES)
            if is_tar(head):
                whole = limited.again(head)
                self._tar(named, place, whole)
                for _ in range(MOST_BEHIND):
                    if not whole.read(CHUNK_BYTES):
                        break
                return
            target = place / member_path(named.path.name)
            try:
                self._copy(limited.again(head), target)
            except UnsafeMember:
                target.unlink(missing_ok=True)
                raise
            except (*DAMAGE, OSError):
                # What a damaged stream gave before it broke is read all the same.
                if target.exists() and target.stat().st_size:
                    self._broken = named.name
                    self.found.paths.append(NamedPath(target, named.name))
                raise
            self.found.paths.append(NamedPath(target, named.name))

    def _tar(self, named: NamedPath, place: Path, stream: Readable) -> None:
        there = UpToBreak(stream)
        try:
            with tarfile.open(fileobj=cast("IO[bytes]", there), mode="r|", tarinfo=SafeTarInfo) as archive:
                for member in archive:
                    self._count()
                    why = why_not_regular(member)
                    if why == "folder":
                        continue
                    source = None if why else _bytes_of(archive, member)
                    if source is None:
                        self._unsafe(named, member.name, why or "not a regular file")
                        continue
                    self._member(named, place, member.name, source)
        except EndMark:
            return
        except (CutOff, tarfile.TarError) as error:
            if there.why is not None:
                raise there.why from error
            if there.is_over:
                raise CutOff from error
            raise

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
                self._broken = None
                try:
                    with archive.open(member) as source:
                        self._member(
                            named, place, member.filename, Limited(source, self._budget_of(member.compress_size))
                        )
                except (*DAMAGE, NotImplementedError) as error:
                    self._tell(_broke(named, member.filename, error, is_out=self._broken is not None))

    def _member(self, named: NamedPath, place: Path, name: str, source: Readable) -> None:
        """Write one member and name it; one that goes too far ends the archive only where it used up what is left."""
        try:
            relative = member_path(name)
            target = place / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                raise UnsafeMember("its name is in the archive twice, and only the first is read")
        except (UnsafeMember, OSError) as why:
            self._unsafe(named, name, why.strerror or "" if isinstance(why, OSError) else str(why))
            return
        shown = f"{named.name}/{relative}"
        try:
            self._copy(source, target)
        except UnsafeMember as why:
            target.unlink(missing_ok=True)
            if self._left <= 0 or not isinstance(source, Limited):
                raise
            self._unsafe(named, name, str(why))
            return
        except DAMAGE:
            if target.stat().st_size:
                self._broken = shown
                self._found(named, target, shown)
            raise
        self._found(named, target, shown)

    def _found(self, named: NamedPath, target: Path, shown: str) -> None:
        """Name what came out of a member: all of it, or what a damaged archive gave of it."""
        if packing_of(_head(target)) is not None:
            text = "an archive inside an archive is not opened"
            self.found.items.append(SourceFile(shown, None, "ignored", False, text, target.stat().st_size))
            return
        self.found.paths.append(NamedPath(target, shown))
        self.found.origins[shown] = named.name

    def _copy(self, source: Readable, target: Path) -> None:
        with target.open("wb") as out:
            while chunk := _read_of(source):
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

    def _tell(self, problem: ReadProblem) -> None:
        self.found.items.append(problem)
        if self._broken is not None:
            self.found.cut[self._broken] = problem


def _read_of(source: Readable) -> bytes:
    """The next bytes; what bzip2 says of a damaged stream, an OSError of no system's, is damage as any other."""
    try:
        return source.read(CHUNK_BYTES)
    except OSError as why:
        if why.errno is not None or isinstance(why, DAMAGE):
            raise
        raise zipfile.BadZipFile(str(why)) from why


def _head(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.read(HEAD_BYTES)


def _bytes_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Readable | None:
    """A regular member's bytes; tarfile itself would keep none of a block that is not there to its end."""
    if member.issparse() or archive.fileobj is None:
        return archive.extractfile(member)
    return TarMember(cast("Readable", archive.fileobj), member.size)


def _broke(named: NamedPath, member: str | None, why: Exception, *, is_out: bool) -> ReadProblem:
    """What is told of a file, or of one member of it, that is cut off or damaged; `is_out` whether any of it came."""
    code = "cut_off" if member is None and isinstance(why, CutOff | EOFError) else "damaged_archive"
    name = named.name if member is None else f"{_shown(member)} in {named.name}"
    about = "" if code == "cut_off" else f" ({_shown(_words_of(why))})"
    said = f"{name} is {WORDS[code]}{about}: what came out of it up to there is read and counted"
    text = f"{said if is_out else _nothing_of(name, code, about)}. {GET_WHOLE}"
    return ReadProblem(code, text, "error", named.name, value=None if member is None else _shown(member))


def _words_of(why: Exception) -> str:
    if isinstance(why, zipfile.BadZipFile) and "not a zip file" in str(why):
        return "the list of what is in it, which stands at its end, is not there"
    return str(why).rstrip(".") or "it ends too early"


def _nothing_of(name: str, code: str, about: str = "") -> str:
    return f"{name} is {WORDS[code]}{about}, and nothing could be taken out of what is there"


def _shown(name: str) -> str:
    good = name.encode("utf-8", errors="replace").decode("utf-8")
    return "".join(char if char.isprintable() else "\ufffd" for char in good)[:200]
