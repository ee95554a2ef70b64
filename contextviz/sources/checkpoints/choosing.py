"""Which of the transcripts in checkpoints are read: of each session the longest, whose parts are put together."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.checkpoints.metadata import (
    FORMAT,
    METADATA,
    TRANSCRIPT,
    agent_of,
    is_place,
    metadata_of,
    session_of,
)
from contextviz.sources.source import ReadItem

PART = "a part of the transcript that begins in full.jsonl"
HEAD_BYTES = 64 * 1024
CHUNK_BYTES = 256 * 1024
MOST_COMPARED = 20
_NAMELESS = frozenset({"full", "full.jsonl"})


class Named(Protocol):
    """A file and the name people know it by."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...


@dataclass(slots=True)
class _Stored:
    """One stored transcript: its parts in order (the first is `full.jsonl`), and what is told of it."""

    parts: dict[int, Named] = field(default_factory=dict)
    metadata: Named | None = None
    session: str | None = None
    agent: str | None = None
    created: str = ""
    size: int = 0

    @property
    def name(self) -> str:
        """The first part's name."""
        return self.parts[0].name


@dataclass(slots=True)
class Choice:
    """What is read instead of what was named. `left_out` are files that are listed and not read, `instead` where the
    bytes of a transcript in parts lie, `session_ids` what is told of transcripts by their names, `beside` the other
    files of each."""

    left_out: dict[str, SourceFile] = field(default_factory=dict)
    instead: dict[str, Path] = field(default_factory=dict)
    session_ids: dict[str, str] = field(default_factory=dict)
    problems: list[ReadProblem] = field(default_factory=list)
    beside: dict[str, list[str]] = field(default_factory=dict)

    def settled(self, item: ReadItem) -> ReadItem:
        """What a reader gave, with the session's id where its file is called as all are, and all files it is of."""
        if isinstance(item, SourceFile) and item.path in self.session_ids and item.session in _NAMELESS:
            return replace(item, session=self.session_ids[item.path])
        if isinstance(item, Transcript):
            for name in list(item.files):
                item.files.extend(one for one in self.beside.get(name, ()) if one not in item.files)
                if name in self.session_ids and item.session.id in _NAMELESS:
                    item.session.id = self.session_ids[name]
        return item


@contextmanager
def choose(paths: Sequence[Named]) -> Iterator[Choice]:
    """Look which of the files are in checkpoints; the files put together are there as long as the context is open."""
    choice = Choice()
    with ExitStack() as stack:
        copies = []
        for one, longer in _without_copies(_stored(paths)):
            if longer is None:
                _take(choice, one, stack)
            else:
                copies.append((one, longer))
        for one, longer in copies:
            _leave_out(choice, one, longer)
        yield choice


def _stored(paths: Sequence[Named]) -> list[_Stored]:
    """The stored transcripts among the files."""
    if not any(TRANSCRIPT.fullmatch(_base(named.name)) for named in paths):
        return []
    metadata = {_folder(named.name): named for named in paths if _base(named.name) == METADATA}
    found: dict[str, _Stored] = {}
    for named in paths:
        is_part = TRANSCRIPT.fullmatch(_base(named.name))
        if is_part:
            one = found.setdefault(_folder(named.name), _Stored())
            one.parts[int(is_part.group(1) or 0)] = named
    told_of = []
    for folder, one in found.items():
        one.metadata = metadata.get(folder)
        told = metadata_of(one.metadata.path) if one.metadata is not None else {}
        one.session, one.agent, one.created = session_of(told), agent_of(told), str(told.get("created_at") or "")
        if told or is_place(folder):
            told_of.append(one)
    _complete(told_of)
    return [one for one in told_of if 0 in one.parts]


def _complete(stored: Sequence[_Stored]) -> None:
    """Give each transcript the parts that another of its session has and it has not: of files with the same bytes, as
    all parts but the last are, only one may be at hand."""
    full: dict[tuple[str | None, str], dict[int, Named]] = {}
    for one in stored:
        for number, part in one.parts.items() if one.session is not None else ():
            known = full.setdefault((one.agent, one.session or ""), {})
            if number not in known or _size(part.path) > _size(known[number].path):
                known[number] = part
    for one in stored:
        own = full.get((one.agent, one.session or ""), {})
        last = max(one.parts)
        one.parts = dict(sorted((({n: part for n, part in own.items() if n < last}) | one.parts).items()))
        one.size = sum(_size(part.path) for part in one.parts.values())


def _without_copies(stored: list[_Stored]) -> Iterator[tuple[_Stored, _Stored | None]]:
    """Each transcript, with the longer one of its session where there is one."""
    by_session: dict[tuple[str | None, str], _Stored] = {}
    by_head: dict[bytes, list[_Stored]] = {}
    for one in sorted(stored, key=lambda it: (it.size, it.created), reverse=True):
        if one.session is not None:
            longest = by_session.setdefault((one.agent, one.session), one)
            yield one, None if longest is one else longest
            continue
        rivals = by_head.setdefault(_first_line(one.parts[0].path), [])
        longer = next((other for other in rivals[:MOST_COMPARED] if _is_beginning(one, other)), None)
        if longer is None:
            rivals.append(one)
        yield one, longer


def _leave_out(choice: Choice, one: _Stored, longer: _Stored) -> None:
    """List a copy; a part that the longer one has from it is read."""
    reason = f"an earlier checkpoint of the session in {longer.name}"
    for number, part in one.parts.items():
        used = longer.parts.get(number)
        if used is None or used.name != part.name:
            choice.left_out[part.name] = SourceFile(
                part.name, FORMAT, "duplicate", False, reason, _size(part.path), one.session
            )


def _take(choice: Choice, one: _Stored, stack: ExitStack) -> None:
    """Let a transcript be read; where it has several parts they are put together."""
    more = [part for number, part in one.parts.items() if number]
    choice.beside[one.name] = [part.name for part in more]
    if one.metadata is not None:
        choice.beside[one.name].append(one.metadata.name)
    if one.session is not None:
        choice.session_ids[one.name] = one.session
    if not more:
        return
    if list(one.parts) != list(range(len(one.parts))):
        text = f"of the parts of {one.name} some are missing; what is there is read"
        choice.problems.append(ReadProblem("missing_part", text, "warning", one.name))
    whole = Path(stack.enter_context(TemporaryDirectory(prefix="contextviz-"))) / "full.jsonl"
    try:
        _join([part.path for part in one.parts.values()], whole)
    except OSError as error:
        text = f"the parts of {one.name} cannot be put together: {error.strerror}; its beginning is read"
        choice.problems.append(ReadProblem("unreadable_file", text, "error", one.name))
        return
    choice.instead[one.name] = whole
    for part in more:
        choice.left_out[part.name] = SourceFile(
            part.name, FORMAT, "session", True, PART, _size(part.path), one.session
        )  # fmt: skip


def _join(parts: Sequence[Path], whole: Path) -> None:
    """Parts end at the end of a line, without its mark."""
    with whole.open("wb") as out:
        for number, part in enumerate(parts):
            if number and out.tell():
                out.write(b"\n")
            with part.open("rb") as raw:
                shutil.copyfileobj(raw, out, CHUNK_BYTES)


def _is_beginning(one: _Stored, other: _Stored) -> bool:
    """Whether a transcript is how another begins; of parts the first is compared."""
    try:
        with one.parts[0].path.open("rb") as short, other.parts[0].path.open("rb") as long:
            while piece := short.read(CHUNK_BYTES):
                if long.read(len(piece)) != piece:
                    return False
    except OSError:
        return False
    return True


def _first_line(path: Path) -> bytes:
    try:
        with path.open("rb") as raw:
            return raw.readline(HEAD_BYTES)
    except OSError:
        return b""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _folder(name: str) -> str:
    return name.rpartition("/")[0]
