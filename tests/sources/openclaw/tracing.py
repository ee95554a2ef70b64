"""Logs of requests written beside small transcripts, as the client writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.events.snapshot import WindowCheck
from contextviz.sources.files import read_paths, walk
from contextviz.sources.source import ReadOptions
from contextviz.tokens.pool import MemoryPool
from tests.sources.openclaw.build import NOW, Result

Json = dict[str, Any]
CUT = "[Truncated]"
CONTEXT = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone running\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
START = 1_772_445_600_000  # 2026-03-02T10:00:00Z, the second that every script begins with


def print_of(message: Any) -> str:
    """The client's fingerprint of a message, made here by other means than the reader's."""
    packed = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(packed.encode()).hexdigest()


def at(seconds: float) -> str:
    return datetime.fromtimestamp(START / 1000 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def user(text: str, stamp: float, **more: Any) -> Json:
    """A user message as a request has it; `stamp` in seconds after the start."""
    return {"role": "user", "content": text, "timestamp": START + round(stamp * 1000), **more}


def dated(text: str, zone: str = "UTC", clock: str = "10:00") -> str:
    return f"[Mon 2026-03-02 {clock} {zone}] {text}"


def carrier(stamp: float, text: str = CONTEXT) -> Json:
    content = [{"type": "text", "text": text}]
    return {"role": "user", "content": content, "timestamp": START + round(stamp * 1000), "runtimeContextCarrier": True}


def clean(message: Json) -> Json:
    """A transcript's message as a later request has it."""
    return {key: value for key, value in message.items() if key != "details"}


@dataclass
class CacheTrace:
    """Rows of a cache trace; `whole` bodies stand in a row, the rest of them are cut."""

    session: str = "s-1"
    rows: list[Json] = field(default_factory=list)

    def row(self, stage: str, seconds: float, **more: Any) -> Json:
        head = {"runId": "run-1", "sessionId": self.session, "sessionKey": "agent:main:main", "ts": at(seconds)}
        made = {**head, "seq": len(self.rows) + 1, "stage": stage, **more}
        self.rows.append(made)
        return made

    def request(self, seconds: float, messages: Sequence[Json], *, cut: Sequence[int] = (), **more: Any) -> Json:
        return self.row(
            "stream:context", seconds, messageCount=len(messages), messageRoles=[one["role"] for one in messages],
            messageFingerprints=[print_of(one) for one in messages],
            messages=[CUT if place in cut else one for place, one in enumerate(messages)], **more,
        )  # fmt: skip

    def save(self, folder: Path, name: str = "logs/cache-trace.jsonl") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return path


def event(kind: str, seconds: float, run: str = "run-1", session: str = "s-1", **data: Any) -> Json:
    return {
        "traceSchema": "openclaw-trajectory", "schemaVersion": 1, "traceId": session, "source": "runtime", "type": kind,
        "ts": at(seconds), "seq": 1, "sessionId": session, "sessionKey": "agent:main:main", "runId": run, "data": data,
    }  # fmt: skip


def read_all(folder: Path) -> Result:
    """A folder read by all readers, stores and logs joined to their sessions."""
    result = Result({}, [], [], MemoryPool())
    for item in read_paths(list(walk(folder)), ReadOptions(result.pool, NOW)):
        if isinstance(item, SourceFile):
            result.files[item.path] = item
        elif isinstance(item, Transcript):
            result.transcripts.append(item)
        elif isinstance(item, ReadProblem):
            result.problems.append(item)
    return result


def check_of(result: Result, call: int = 0, transcript: Transcript | None = None) -> WindowCheck:
    """The check of a call's window, which there has to be."""
    log = (transcript or result.only).log
    found = next(one.check for one in log.snapshots if one.call_index == call)
    assert found is not None
    return found
