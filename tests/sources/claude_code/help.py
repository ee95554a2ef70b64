"""Small transcripts, written line by line, and the reader over them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.claude_code import ClaudeCodeReader
from contextviz.sources.lines import bounded_lines, parse_object
from contextviz.sources.source import Found, Probe, ReadOptions
from contextviz.tokens.pool import MemoryPool

SHARED = Path(__file__).resolve().parents[4] / "shared"
SESSION = "0c0ffee0-1111-4222-8333-444455556666"
OTHER = "0c0ffee0-1111-4222-8333-444455557777"
Json = dict[str, Any]


class Reading:
    """What the reader gave back for a set of paths."""

    def __init__(self, paths: dict[str, Path], *, with_snapshots: bool = True):
        self.pool = MemoryPool(count=None)
        reader = ClaudeCodeReader()
        found = []
        for name, path in paths.items():
            looked = probe(path, name)
            detection = reader.detect(looked)
            if detection is not None:
                found.append(Found(looked, detection))
        options = ReadOptions(self.pool, datetime(2027, 1, 1, tzinfo=UTC), with_snapshots)
        items = list(reader.read(found, options))
        self.files = {item.path: item for item in items if isinstance(item, SourceFile)}
        self.transcripts = [item for item in items if isinstance(item, Transcript)]
        self.problems = [item for item in items if isinstance(item, ReadProblem)]

    @property
    def only(self) -> Transcript:
        """The one transcript."""
        assert len(self.transcripts) == 1
        return self.transcripts[0]

    def window(self, number: int) -> list[tuple[str, str]]:
        """(kind, text) of the items of snapshot `number` of the one transcript, system prompt and tools apart."""
        items = self.only.log.window(number)
        return [(item.kind, self.pool.get(item.text)) for item in items if item.role != "system"]

    def snapshot_lines(self) -> Iterator[Json]:
        """The snapshots in the contract's shape, as far as the scorer reads them."""
        for transcript in self.transcripts:
            for number, snapshot in enumerate(transcript.log.snapshots):
                call = transcript.calls[snapshot.call_index]
                items = [
                    {"role": item.role, "kind": item.kind, "text": self.pool.get(item.text)}
                    for item in transcript.log.window(number)
                ]
                yield {"response_id": call.response_id, "basis": snapshot.basis, "items": items}


def probe(path: Path, name: str) -> Probe:
    """A probe of a file as the reader's caller makes it."""
    data = path.read_bytes()
    records: list[Json] = []
    with open(path, "rb") as raw:
        for line, _ended, _long in bounded_lines(raw, 1 << 24):
            parsed = parse_object(line.replace(b"\0", b"").strip())
            records += [parsed[0]] if parsed else []
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    document = document if isinstance(document, dict) else None
    return Probe(path, name, len(data), data[:65536], tuple(records[:50]), document)


def read_folder(folder: Path, **options: Any) -> Reading:
    """Read every file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return Reading({path.relative_to(folder).as_posix(): path for path in paths}, **options)


class Writer:
    """Writes the lines of one file; each row hangs off the one before unless told otherwise."""

    def __init__(self, path: Path, session: str = SESSION, **common: Any):
        self.path = path
        self.common = {"sessionId": session, "version": "2.1.100", "cwd": "/srv/ours", "isSidechain": False} | common
        self.lines: list[str] = []
        self.last: str | None = None
        self.clock = 0

    def row(self, uuid: str, kind: str, *, parent: str | None = "", **fields: Any) -> None:
        """A row of the tree."""
        self.clock += 1
        at = f"2026-03-01T10:{self.clock // 60:02}:{self.clock % 60:02}.000Z"
        above = self.last if parent == "" else parent
        self.flat({"type": kind, "uuid": uuid, "parentUuid": above, "timestamp": at} | self.common | fields)
        self.last = uuid

    def user(self, uuid: str, content: Any, **fields: Any) -> None:
        """A user row."""
        self.row(uuid, "user", message={"role": "user", "content": content}, **fields)

    def result(self, uuid: str, call: str, text: Any, **fields: Any) -> None:
        """A tool result."""
        self.user(uuid, [{"type": "tool_result", "tool_use_id": call, "content": text}], **fields)

    def answer(
        self, uuid: str, block: Any, message: str | None, usage: tuple[int, ...] = (10, 0, 0, 5), **fields: Any
    ) -> None:
        """A row of an answer; `usage` is input, cache read, cache write, output."""
        blocks = [{"type": "text", "text": block}] if isinstance(block, str) else [block]
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        inner = {"role": "assistant", "model": fields.pop("model", "claude-test"), "content": blocks}
        inner |= {"usage": dict(zip(names, usage, strict=True))} | ({"id": message} if message else {})
        self.row(uuid, "assistant", message=inner, **fields)

    def boundary(self, uuid: str, **metadata: Any) -> None:
        """A compaction boundary."""
        above = self.last
        self.row(
            uuid, "system", parent=None, subtype="compact_boundary", logicalParentUuid=above, compactMetadata=metadata
        )

    def summary(self, uuid: str, text: str) -> None:
        """The summary after a boundary."""
        self.user(uuid, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def flat(self, value: Json) -> None:
        """A line as it is."""
        self.lines.append(json.dumps(value, ensure_ascii=False))

    def save(self) -> Path:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(line + "\n" for line in self.lines), encoding="utf-8")
        return self.path


def call(identity: str, name: str = "Read", **arguments: Any) -> Json:
    """A tool call block."""
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}
