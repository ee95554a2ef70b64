"""Small transcripts, made entry by entry, and a read of a folder of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.files import probe, walk
from contextviz.sources.openclaw import OpenClawReader
from contextviz.sources.source import Found, ReadOptions
from contextviz.tokens.pool import MemoryPool

NOW = datetime(2026, 12, 1, tzinfo=UTC)
Json = dict[str, Any]


@dataclass
class Script:
    """Entries of one transcript; each hangs on the last one unless told otherwise."""

    header: Json | None = None
    entries: list[Json] = field(default_factory=list)
    clock: int = 0

    def add(self, type_: str, entry: str, parent: str | None = "", **more: Any) -> str:
        self.clock += 1
        above = (self.entries[-1]["id"] if self.entries else None) if parent == "" else parent
        at = f"2026-03-02T10:{self.clock // 60:02}:{self.clock % 60:02}.000Z"
        self.entries.append({"type": type_, "id": entry, "parentId": above, "timestamp": at, **more})
        return entry

    def user(self, entry: str, text: Any = None, **more: Any) -> str:
        return self.add("message", entry, message={"role": "user", "content": text or f"ask {entry}"}, **more)

    def answer(self, entry: str, content: Any = None, *, prompt: int = 100, output: int = 10, **more: Any) -> str:
        said = {"stopReason": "stop", "provider": "demo", "model": "demo-1", "responseId": f"r-{entry}"}
        usage = {"input": prompt, "output": output, "cacheRead": 0, "cacheWrite": 0}
        placing = {key: more.pop(key) for key in ("parent",) if key in more}
        blocks = content if content is not None else [{"type": "text", "text": f"say {entry}"}]
        message = {"role": "assistant", "content": blocks, "usage": usage, **said, **more}
        return self.add("message", entry, message=message, **placing)

    def call(self, entry: str, call_id: str, **more: Any) -> str:
        block = {"type": "toolCall", "id": call_id, "name": "read", "arguments": {"path": entry}}
        return self.answer(entry, [block], stopReason="toolUse", **more)

    def result(self, entry: str, call_id: str, text: str = "found", **more: Any) -> str:
        message = {"role": "toolResult", "toolCallId": call_id, "toolName": "read", "isError": False,
                   "content": [{"type": "text", "text": text}]}  # fmt: skip
        return self.add("message", entry, message=message, **more)

    def lines(self) -> list[Json]:
        return ([self.header] if self.header else []) + self.entries

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines()), encoding="utf-8")
        return path


def script(session: str = "s-1", *, version: int | None = 3, **more: Any) -> Script:
    header = {"type": "session", "id": session, "timestamp": "2026-03-02T10:00:00.000Z", "cwd": "/srv/demo", **more}
    return Script({**header, "version": version} if version is not None else header)


@dataclass
class Result:
    """What a read gave."""

    files: dict[str, SourceFile]
    transcripts: list[Transcript]
    problems: list[ReadProblem]
    pool: MemoryPool

    @property
    def only(self) -> Transcript:
        assert len(self.transcripts) == 1
        return self.transcripts[0]

    def window(self, position: int, transcript: Transcript | None = None) -> list[str]:
        """The texts of a snapshot's items."""
        chosen = transcript or self.only
        return [self.pool.get(item.text) for item in chosen.log.window(position)]


def read(folder: Path) -> Result:
    reader = OpenClawReader()
    looked = [probe(named.path, named.name) for named in walk(folder)]
    found = [Found(one, known) for one in looked if (known := reader.detect(one)) is not None]
    result = Result({}, [], [], MemoryPool())
    for item in reader.read(found, ReadOptions(result.pool, NOW)):
        if isinstance(item, SourceFile):
            result.files[item.path] = item
        elif isinstance(item, Transcript):
            result.transcripts.append(item)
        else:
            result.problems.append(item)
    return result


def codes(transcript: Transcript) -> list[str]:
    return [problem.code for problem in transcript.problems]
