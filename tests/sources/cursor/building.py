"""Transcripts of Cursor's agent, made up by us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sources.plain.reading import write_lines

Json = dict[str, Any]


def line(role: str, *parts: Any) -> Json:
    """A message; a text is a text part."""
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"role": role, "message": {"content": content}}


def query(text: str) -> Json:
    """A prompt as the client writes it."""
    return line("user", f"<timestamp>Sunday, Mar 1, 2026, 10:00 AM</timestamp>\n<user_query>\n{text}\n</user_query>")


def tool(name: str = "Read", **given: Any) -> Json:
    """A tool that an answer asks for."""
    return {"type": "tool_use", "name": name, "input": given}


def turn(status: Any = "success") -> Json:
    """The end of a turn."""
    return {"type": "turn_ended", "status": status}


def lines() -> list[Json]:
    """A session with a tool and a failed turn."""
    return [query("look at it\nplease"), line("assistant", "I look", tool(path="a")), line("assistant", "done"), turn(),
            line("user", "plain words"), turn("error")]  # fmt: skip


def full(folder: Path) -> None:
    """A session and its sub-agent that show everything that is read."""
    place = folder / "projects" / "srv" / "agent-transcripts" / "c-1"
    write_lines(place / "c-1.jsonl", lines())
    write_lines(place / "subagents" / "c-2.jsonl", [line("user", "sub task"), line("assistant", "yes")])
