"""Small sessions of our own that were compacted, and maps of topics, for the pages that show what was folded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from contextviz.services import digest, ingest
from contextviz.services.demo.lossless import write_lossless
from contextviz.services.demo.topics import write_topics
from contextviz.store.queries import sessions
from contextviz.store.values import SessionRow
from tests.services.building import NOW, upload

HOSTILE = "<script>alert('x')</script>"
SECRET = "AKIAIOSFODNN7EXAMPLE"
ORIGINAL = "first line of the log\nconnection to shard-7 refused\n" * 40
HANDLE = hashlib.sha256(ORIGINAL.encode()).hexdigest()[:24]
MARKER = (
    f"first line of the log\n[flowctx: log compressed {len(ORIGINAL)}→21 chars. Retrieve original via "
    f'flowctx_retrieve(hash="{HANDLE}"). Expires in 30 minutes.]'
)


class Chat:
    """Writes an OpenClaw transcript entry by entry."""

    def __init__(self, session: str) -> None:
        self.rows: list[dict[str, Any]] = [
            {"type": "session", "version": 3, "id": session, "timestamp": "2026-02-01T09:00:00.000Z", "cwd": "/w"}
        ]
        self.count = 0

    def _entry(self, kind: str, body: dict[str, Any]) -> str:
        self.count += 1
        clock = f"2026-02-01T09:{self.count // 60:02d}:{self.count % 60:02d}.000Z"
        parent = f"e{self.count - 1:07d}" if self.count > 1 else None
        name = f"e{self.count:07d}"
        self.rows.append({"type": kind, "id": name, "parentId": parent, "timestamp": clock, **body})
        return name

    def say(self, role: str, text: str, *, prompt: int = 0) -> str:
        """A prompt by the person, or an answer whose call was given `prompt` tokens."""
        message: dict[str, Any] = {"role": role, "content": [{"type": "text", "text": text}]}
        if role == "assistant":
            usage = {"input": prompt, "cacheRead": 0, "cacheWrite": 0, "output": 9, "totalTokens": prompt + 9}
            message |= {"api": "openai-responses", "provider": "openai", "model": "gpt-5-mini", "usage": usage}
            message |= {"stopReason": "stop", "responseId": f"resp_{self.count}"}
        return self._entry("message", {"message": message})

    def compact(self, summary: str, first_kept: str, before: int) -> None:
        """A compaction that keeps the entries from `first_kept` on."""
        self._entry("compaction", {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": before})

    def text(self) -> str:
        """The file."""
        return "".join(json.dumps(row) + "\n" for row in self.rows)


def chat(
    compactions: int = 1, *, turns: int = 4, words: str = "look at src/lost.py", summary: str = "Goal: ship it."
) -> str:
    """A transcript of `turns` questions before each of `compactions`, the last of them kept, and one at the end."""
    own = Chat("7c1d0000-0000-4000-8000-00000000000a")
    prompt = 4_000
    for number in range(compactions):
        kept = ""
        for turn in range(turns):
            is_last = turn == turns - 1
            kept = own.say("user", "carry on" if is_last else f"{words} {number}.{turn} " + "filler " * 80)
            prompt += 100
            own.say("assistant", f"answer {number}.{turn} names src/kept.py", prompt=prompt)
        own.compact(f"{summary} Keep src/kept.py in mind ({number}).", kept, prompt)
        prompt = 4_050
    own.say("user", "and now?")
    own.say("assistant", "src/lost.py again", prompt=prompt)
    return own.text()


def imported(text: str, name: str = "chat.jsonl") -> SessionRow:
    """Import a transcript and give its session."""
    upload((name, text))
    return sessions.recent_sessions(1)[0]


def read_folder(folder: Path) -> SessionRow:
    """Import a folder and give its session."""
    assert digest.digest(ingest.import_paths([folder], now=NOW))
    return sessions.recent_sessions(1)[0]


def store_session(folder: Path) -> SessionRow:
    """The demo's summary store."""
    write_lossless(folder)
    return read_folder(folder)


def map_session(folder: Path) -> SessionRow:
    """The demo's conversation map."""
    write_topics(folder)
    return read_folder(folder)


def queries_of(get: Callable[[], object]) -> int:
    """How many queries a request makes."""
    with CaptureQueriesContext(connection) as captured:
        get()
    return len(captured)


Capture = Callable[..., AbstractContextManager[Any]]
HTMX = {"HX-Request": "true"}
