"""Small Claude Code transcripts of our own, and short ways to upload and read them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.services import digest, ingest
from contextviz.store.queries import jobs
from contextviz.store.values import JobRow

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _row(kind: str, uuid: str, parent: str | None, second: int, session: str, message: dict[str, Any]) -> str:
    clock = f"09:{second // 60:02d}:{second % 60:02d}"
    row = {
        "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": session, "isSidechain": False, "cwd": "/w",
        "version": "2.1.0", "userType": "external", "timestamp": f"2026-02-01T{clock}.000Z",
        "message": message,
    }  # fmt: skip
    return json.dumps(row) + "\n"


def claude_lines(turns: int, *, session: str = "0b1c2d3e-0000-4000-8000-000000000001", word: str = "alpha") -> str:
    """A session of `turns` questions with an answer each; a longer one begins with the bytes of a shorter one."""
    lines, parent = [], None
    for turn in range(turns):
        own = f"{session[-2:]}-{turn:04d}"
        question, answer = f"q{own}", f"a{own}"
        asked = {"role": "user", "content": f"{word} question {turn}"}
        lines.append(_row("user", question, parent, 2 * turn, session, asked))
        cache = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 5}
        usage = {"input_tokens": 10 + turn, "output_tokens": 7, **cache}
        told = {
            "id": f"msg_{own}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
            "stop_reason": "end_turn", "content": [{"type": "text", "text": f"{word} answer {turn}"}],
        }  # fmt: skip
        lines.append(_row("assistant", answer, question, 2 * turn + 1, session, told))
        parent = answer
    return "".join(lines)


def upload(*files: tuple[str, bytes | str]) -> JobRow:
    """Upload files as one batch, read them, and give the job as it ended."""
    batch = ingest.open_batch(now=NOW)
    for name, content in files:
        data = content.encode() if isinstance(content, str) else content
        ingest.receive(chunked(data), name, batch_id=batch, now=NOW)
    job_id = ingest.finish_batch(batch, now=NOW)
    assert job_id is not None
    assert digest.digest(job_id)
    return jobs.get_job(job_id)


def chunked(data: bytes, size: int = 64 * 1024) -> Iterable[bytes]:
    """The bytes in pieces, as a server hands them on."""
    return (data[start : start + size] for start in range(0, len(data), size))


def artifact_files(data_dir: Path) -> list[Path]:
    """Every raw file that is kept."""
    return [path for path in (data_dir / "artifacts").rglob("*") if path.is_file()]
