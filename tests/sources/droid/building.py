"""Sessions of Factory Droid as its client writes them, made up by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sources.plain.reading import write, write_lines

Json = dict[str, Any]


class Rows:
    """A session's rows under construction; a second passes with every row."""

    def __init__(self, session: str = "d-1", **header: Any) -> None:
        self.id = session
        start = {"type": "session_start", "id": session, "title": "demo", "owner": "me", "version": 2, "cwd": "/srv"}
        self.rows: list[Json] = [start | header]

    def add(self, kind: str, name: str, **more: Any) -> None:
        """Add a row."""
        second = len(self.rows)
        at = f"2026-03-01T10:{second // 60:02d}:{second % 60:02d}.000Z"
        self.rows.append({"type": kind, "id": name, "timestamp": at, **more})

    def message(self, name: str, role: str, content: Any, **more: Any) -> None:
        """Add a message; a text is one text block."""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        self.add("message", name, message={"role": role, "content": parts, **more})

    def user(self, name: str, content: Any, **more: Any) -> None:
        """A prompt."""
        self.message(name, "user", content, **more)

    def answer(self, name: str, content: Any, **more: Any) -> None:
        """An answer."""
        self.message(name, "assistant", content, **({"modelId": "model-x"} | more))

    def result(self, name: str, call: str, text: str, **more: Any) -> None:
        """What a tool gave."""
        self.user(name, [{"type": "tool_result", "tool_use_id": call, "is_error": False, "content": text} | more])

    def compacted(self, name: str, **more: Any) -> None:
        """A compaction."""
        self.add("compaction_state", name, **({"summaryText": "the gist", "summaryTokens": 3,
                                               "summaryKind": "llm_summary", "removedCount": 2} | more))  # fmt: skip

    def save(self, folder: Path, total: Json | None = None, last: Json | None = None) -> Path:
        """Write it where the client does, with settings where a total is given."""
        place = folder / "sessions" / "-srv"
        if total is not None:
            settings = {"assistantActiveTimeMs": 5, "model": "model-y", "tokenUsage": total, "autonomyLevel": "high"}
            write(place / f"{self.id}.settings.json", settings | ({"lastCallTokenUsage": last} if last else {}))
        return write_lines(place / f"{self.id}.jsonl", self.rows)


def tool(call: str, name: str = "Read", **given: Any) -> Json:
    """A tool that an answer asks for."""
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def tokens(given: int, output: int, read: int = 0, written: int = 0, thought: int = 0) -> Json:
    """A total as the settings have it."""
    return {"inputTokens": given, "outputTokens": output, "cacheReadTokens": read, "cacheCreationTokens": written,
            "thinkingTokens": thought, "factoryCredits": 7}  # fmt: skip


def full(folder: Path) -> None:
    """A session, its fork and its sub-agent that show everything that is read."""
    made = Rows(sessionTitle="demo")
    made.user("h1", [], visibility="user_only", hookEventName="SessionStart")
    made.user("context-1", "<system-reminder>tools</system-reminder>", visibility="llm_only")
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJDRA=="}}
    made.user("u1", [{"type": "text", "text": "look"}, picture])
    made.answer("a1", [{"type": "thinking", "thinking": "hm", "signature": "s"}, tool("t1", file_path="a")])
    made.result("r1", "t1", "A")
    made.answer("a2", [tool("t2", "Task", prompt="sub task")])
    made.result("r2", "t2", "done")
    made.add("agent_turn_outcome", "o1", turnId="u1", reason="error")
    made.compacted(
        "k1", anchorMessage={"id": "r1", "index": 3}, systemInfoText="<system-reminder>env</system-reminder>"
    )
    made.user("u2", "go on")
    made.answer("a3", "ok")
    made.save(folder, tokens(1000, 90, 300, 40, 9), {"inputTokens": 70, "cacheReadTokens": 30, "outputTokens": 5})
    child = Rows("d-2", callingSessionId="d-1", callingToolUseId="t2", sessionTitle="worker: sub task")
    child.user("c1", "sub task")
    child.answer("c2", "done")
    child.save(folder, tokens(50, 4), {"inputTokens": 50, "cacheReadTokens": 0, "outputTokens": 4})
    fork = Rows("d-3", parent="d-1")
    fork.compacted("k9")
    fork.user("f1", "more")
    fork.answer("f2", "yes")
    fork.save(folder, tokens(1020, 95, 300, 40, 9), {"inputTokens": 20, "cacheReadTokens": 0, "outputTokens": 5})
