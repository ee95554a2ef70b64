"""A session on disk for the tests of `replay` and `score`, and both commands without a process."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from contextviz.cli.replay import command, scoring

Printed = tuple[int, str, str]
TURNS = 12


def write_session(path: Path, id: str = "made-up", *, model: str = "claude-sonnet-4-5") -> Path:
    """A small session in pi's format: each turn asks for a file, reads it and names what it found, and some what was
    read long before."""
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/demo"}
    ]

    def say(role: str, content: list[dict[str, Any]], **more: Any) -> None:
        number = len(lines)
        lines.append(
            {"type": "message", "id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None,
             "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
             "message": {"role": role, "content": content, **more}}
        )  # fmt: skip

    for turn in range(TURNS):
        say("user", [{"type": "text", "text": f"Look at src/part{turn}.py, please."}])
        call = {"type": "toolCall", "id": f"t{turn}", "name": "read", "arguments": {"path": f"src/part{turn}.py"}}
        say("assistant", [call], **_answered(model, "toolUse"))
        text = "\n".join(f"line {line} of part {turn} says value_{line} is {line * turn} MB" for line in range(60))
        say("toolResult", [{"type": "text", "text": text}], toolCallId=f"t{turn}", toolName="read", isError=False)
        named = f"src/part{turn}.py has value_3; src/part0.py had another."
        say("assistant", [{"type": "text", "text": named}], **_answered(model, "stop"))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _answered(model: str, reason: str) -> dict[str, Any]:
    usage = {"input": 900, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 920}
    return {"api": "anthropic-messages", "provider": "demo", "model": model, "stopReason": reason, "usage": usage}


def replayed(*arguments: Any) -> Printed:
    """`contextviz replay` with these arguments: exit status, output, errors."""
    return _ran("replay", command.add_replay_arguments, command.run, arguments)


def scored(*arguments: Any) -> Printed:
    """`contextviz score` with these arguments."""
    return _ran("score", scoring.add_score_arguments, scoring.run, arguments)


def _ran(
    name: str, add: Callable[[argparse.ArgumentParser], None],
    run: Callable[[argparse.Namespace, TextIO, TextIO], int], arguments: tuple[Any, ...],
) -> Printed:  # fmt: skip
    parser = argparse.ArgumentParser(prog=name)
    add(parser)
    out, err = io.StringIO(), io.StringIO()
    status = run(parser.parse_args([str(one) for one in arguments]), out, err)
    return status, out.getvalue(), err.getvalue()
