"""Reads a folder through one reader, for the tests of the plain formats."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.analysis.snapshots import snapshot_lines
from contextviz.events.message import Block
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import probe, walk
from contextviz.sources.source import Found, Reader, ReadOptions
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2027, 1, 1, tzinfo=UTC)


@dataclass
class Result:
    """What a reader gave, sorted by kind."""

    pool: MemoryPool
    files: list[SourceFile] = field(default_factory=list)
    transcripts: list[Transcript] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)

    @property
    def one(self) -> Transcript:
        """The only transcript."""
        assert len(self.transcripts) == 1, [t.session.id for t in self.transcripts]
        return self.transcripts[0]

    def texts(self, number: int = 0) -> list[list[str]]:
        """The texts of a transcript's messages, block by block."""
        return [[self.text(block) for block in m.blocks] for m in self.transcripts[number].messages]

    def text(self, block: Block) -> str:
        """A block's text."""
        return self.pool.get(block.text)

    def windows(self, number: int = 0) -> list[list[tuple[str, str, str]]]:
        """The windows of a transcript's calls as (role, kind, text)."""
        lines = snapshot_lines(self.transcripts[number], self.pool)
        return [[(i["role"], i["kind"], i["text"]) for i in line["items"]] for line in lines]  # type: ignore[index,attr-defined]

    def codes(self, number: int = 0) -> list[str]:
        """The codes of a transcript's problems."""
        return [problem.code for problem in self.transcripts[number].problems]


def read(reader: Reader, folder: Path) -> Result:
    """Read every file of a folder that the reader takes."""
    result = Result(MemoryPool())
    found = []
    for named in walk(folder):
        looked = probe(named.path, named.name)
        detection = reader.detect(looked)
        if detection is not None:
            found.append(Found(looked, detection))
    for item in reader.read(found, ReadOptions(result.pool, NOW)):
        if isinstance(item, SourceFile):
            result.files.append(item)
        elif isinstance(item, Transcript):
            result.transcripts.append(item)
        else:
            result.problems.append(item)
    assert sorted(one.path for one in result.files) == sorted(one.probe.name for one in found)
    for transcript in result.transcripts:
        lines = transcript.lines
        assert lines.total == lines.read + lines.blank + len(lines.malformed) + lines.unknown + (
            lines.in_progress is not None
        )
    return result


def write(path: Path, value: Any) -> Path:
    """Write `value` as one JSON document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, values: list[Any]) -> Path:
    """Write JSON lines; a text is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
