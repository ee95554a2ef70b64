"""Rollouts written by us, line by line, and the reader run over them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contextviz.events.session import Transcript
from contextviz.sources.codex import CodexReader
from contextviz.sources.files import probe
from contextviz.sources.source import Found, ReadItem, ReadOptions
from contextviz.tokens.pool import MemoryPool

SHARED = Path(__file__).resolve().parents[4] / "shared"
START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
NOW = datetime(2026, 12, 31, tzinfo=UTC)
THREAD = "019e0000-0001-7000-8000-000000000001"
Json = dict[str, Any]


class Rollout:
    """A wrapped rollout; every line is stamped a second after the one before it."""

    def __init__(self, thread: str = THREAD, **meta: Any):
        self.lines: list[str] = []
        self.clock = START
        self.total = [0, 0, 0]
        self.add("session_meta", {"id": thread, "timestamp": self.stamp(), "cwd": "/srv/demo", **meta})

    def stamp(self) -> str:
        return self.clock.isoformat().replace("+00:00", "Z")

    def add(self, kind: str, payload: Json, *, after: float = 1.0) -> Json:
        self.clock += timedelta(seconds=after)
        value = {"timestamp": self.stamp(), "type": kind, "payload": payload}
        self.lines.append(json.dumps(value))
        return value

    def message(self, role: str, *texts: str, **more: Any) -> Json:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        payload = {"type": "message", "role": role, "content": content, **more}
        self.add("response_item", payload)
        return payload

    def item(self, kind: str, **fields: Any) -> None:
        self.add("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> None:
        self.add("event_msg", {"type": kind, **fields})

    def turn(self, turn: str | None = None, model: str = "m-1") -> None:
        self.add("turn_context", {"model": model, "cwd": "/srv/demo", **({"turn_id": turn} if turn else {})})

    def usage(self, prompt: int, cached: int, output: int) -> None:
        """A token_count of a new call: the running total moves by it."""
        self.total = [self.total[0] + prompt, self.total[1] + cached, self.total[2] + output]
        self.counts(self.total, [prompt, cached, output])

    def counts(
        self, total: list[int], last: list[int], *, window: int = 100_000, last_total: int | None = None
    ) -> None:
        info = {"total_token_usage": _usage(total), "last_token_usage": _usage(last), "model_context_window": window}
        if last_total is not None:
            info["last_token_usage"]["total_tokens"] = last_total  # type: ignore[index]
        self.event("token_count", info=info)

    def record(self, response: str, prompt: int, cached: int, output: int, thread: str = THREAD) -> None:
        """A token_usage_record of a new call."""
        self.total = [self.total[0] + prompt, self.total[1] + cached, self.total[2] + output]
        payload = {"thread_id": thread, "response_id": response, "usage": _usage([prompt, cached, output])}
        self.add("token_usage_record", {**payload, "thread_token_usage": _usage(self.total)})

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n", "utf-8")
        return path


def _usage(numbers: list[int]) -> Json:
    prompt, cached, output = numbers
    return {
        "input_tokens": prompt,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": 0,
        "total_tokens": prompt + output,
    }


def read(*paths: Path, pool: MemoryPool | None = None) -> list[ReadItem]:
    """What the reader gives for `paths`, named together."""
    reader = CodexReader()
    found = []
    for path in paths:
        looked = probe(path, path.name)
        detection = reader.detect(looked)
        assert detection is not None, path.name
        found.append(Found(looked, detection))
    return list(reader.read(found, ReadOptions(pool or MemoryPool(), NOW)))


def transcripts(*paths: Path, pool: MemoryPool | None = None) -> list[Transcript]:
    return [item for item in read(*paths, pool=pool) if isinstance(item, Transcript)]


def windows(transcript: Transcript, pool: MemoryPool) -> list[list[str]]:
    """The texts of each call's window, in order."""
    log = transcript.log
    return [[pool.get(item.text) for item in log.window(number)] for number in range(len(log.snapshots))]
