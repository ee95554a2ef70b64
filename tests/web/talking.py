"""A Claude Code session of our own with everything that the session page shows, as short or long as wanted."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.services.building import upload

SESSION = "0b1c2d3e-0000-4000-8000-00000000007a"
START = datetime(2026, 2, 1, 9, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
SECRET = "sk-" + "live0123456789abcdefXYZ"
Json = dict[str, Any]


class Talk:
    """Writes rows one after another, each the child of the one before."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.parent: str | None = None
        self.calls = 0
        self.prompt = 20_000

    def row(self, kind: str, body: Json, *, is_root: bool = False) -> None:
        """One line of the transcript."""
        number = len(self.rows)
        uuid = f"{number:08d}-0000-4000-8000-000000000000"
        at = (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
        base = {
            "parentUuid": None if is_root else self.parent, "isSidechain": False, "cwd": "/w", "sessionId": SESSION,
            "version": "2.1.0", "userType": "external", "type": kind, "uuid": uuid, "timestamp": at,
        }  # fmt: skip
        self.rows.append(json.dumps(base | body) + "\n")
        self.parent = uuid

    def user(self, text: str) -> None:
        """A prompt by the person."""
        self.row("user", {"message": {"role": "user", "content": text}})

    def answer(self, *blocks: Json) -> None:
        """A model's answer with its usage."""
        self.calls += 1
        read, self.prompt = self.prompt, self.prompt + 200
        usage = {
            "input_tokens": 3, "cache_read_input_tokens": read - 3, "cache_creation_input_tokens": 200,
            "output_tokens": 30,
        }  # fmt: skip
        message = {
            "id": f"msg_{self.calls:06d}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": list(blocks), "usage": usage, "stop_reason": "end_turn",
        }  # fmt: skip
        self.row("assistant", {"message": message, "requestId": f"req_{self.calls:06d}"})

    def tool(self, name: str, arguments: Json, result: str, *, is_error: bool = False) -> None:
        """A call of a tool and its result."""
        call = {"type": "tool_use", "id": f"toolu_{self.calls:06d}", "name": name, "input": arguments}
        self.answer(call)
        back = {"type": "tool_result", "tool_use_id": call["id"], "content": result, "is_error": is_error}
        self.row("user", {"message": {"role": "user", "content": [back]}})

    def compact(self, summary: str) -> None:
        """A compaction with its summary."""
        meta = {"trigger": "auto", "preTokens": self.prompt, "postTokens": 20_100, "durationMs": 9000}
        self.prompt = 20_000
        self.row("system", {"subtype": "compact_boundary", "content": "c", "compactMetadata": meta}, is_root=True)
        self.row("user", {"isCompactSummary": True, "message": {"role": "user", "content": summary}})

    @property
    def text(self) -> str:
        """The file so far."""
        return "".join(self.rows)


def talk(turns: int = 3) -> Talk:
    """A session of `turns` rounds of work after a beginning with one of each kind of row, a compaction in between."""
    one = Talk()
    one.user(f"Fix the lock, never raise the timeout. {HOSTILE}")
    one.answer(
        {"type": "thinking", "thinking": "The lock is released early.", "signature": "c2ln"},
        {"type": "text", "text": "I look at the lock first. " + "word " * 700},
    )
    one.tool("Bash", {"command": f"deploy --token {SECRET}"}, "exit code: 1\nFAILED test_total\n", is_error=True)
    edit = {"file_path": "/w/lock.py", "old_string": "release()", "new_string": "release(after=flush)"}
    one.tool("Edit", edit, "updated")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    one.row("user", {"message": {"role": "user", "content": [{"type": "text", "text": "See:"}, picture]}})
    one.answer({"type": "text", "text": "Seen."})
    one.compact("Summary: the lock is released early.")
    for turn in range(turns):
        one.tool("Read", {"file_path": f"/w/src/file_{turn}.py"}, f"line {turn}\n" * 20)
    one.answer({"type": "text", "text": "All done."})
    return one


def stored(turns: int = 3) -> int:
    """The id of such a session, read and saved."""
    job = upload((f"{SESSION}.jsonl", talk(turns).text))
    return int(job.result["sessions"][0])
