"""What a reader is given and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from contextviz.events.problem import ReadProblem
from contextviz.events.session import FileRole, SourceFile, Transcript
from contextviz.events.text import TextPool
from contextviz.sources.features import Declaration

ReadItem = SourceFile | Transcript | ReadProblem
# Why a file that tells something of a session, and is none itself, is not counted.
BESIDE = "read for the session that it belongs to"
# The same where that session is not there: beside the file, or in the same upload.
ALONE = "its session is not among these files; bring both in together"


@dataclass(frozen=True, slots=True)
class Probe:
    """A file as detection sees it. `name` is its path as people know it (relative to what they named, `/`
    between parts; an upload's own name), which may differ from where its bytes lie (`path`).

    `records` are the first parsable JSON objects (at most 50); `document_keys` the top-level keys where the
    whole file is one JSON object; `tables` a SQLite file's tables with their columns.
    """

    path: Path
    name: str
    size: int
    head: bytes = b""
    records: tuple[dict[str, Any], ...] = ()
    document: Mapping[str, Any] | None = None
    tables: Mapping[str, frozenset[str]] | None = None

    @property
    def basename(self) -> str:
        """The last part of `name`."""
        return self.name.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Detection:
    """What a file is to one reader."""

    format: str
    role: FileRole
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A file with what it was detected to be."""

    probe: Probe
    detection: Detection


class Memory(Protocol):
    """What was read of files that grow, so that they are read on from where they ended.

    A state is whatever its reader makes of it; nobody else looks inside. It is lent: once taken it is the reader's to
    change, and is kept again when the new end is reached.
    """

    def take(self, reader: str, probe: Probe) -> Any | None:
        """The state that `reader` kept of a file of this name whose bytes are the beginning of this one's; it is not
        held any longer. None where there is none."""
        ...

    def keep(self, reader: str, probe: Probe, offset: int, state: Any) -> None:
        """Hold `state`, which follows from the first `offset` bytes of `probe`'s file."""
        ...


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a reader needs from outside. `now` is the clock (suspicious times are measured against it). `memory` is
    where it may read on; without one it reads whole files."""

    pool: TextPool
    now: datetime
    with_snapshots: bool = True
    memory: Memory | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Reader(Protocol):
    """A format's reader. One instance in the registry, no state between calls."""

    name: str

    @property
    def declares(self) -> Mapping[str, Declaration]:
        """For each format that it gives, what can be known from it; the coverage page shows it, and a test holds it
        against what is read."""
        ...

    def detect(self, probe: Probe) -> Detection | None:
        """Say what `probe` is, by its content first and its name only as a help; None when it is not ours."""
        ...

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """Read all files of one reader that were named together: a SourceFile for each, the transcripts one at a
        time, problems of no single session. Counts nothing twice across the files. Never raises for bad input."""
        ...
