"""Rows of the transcript: a tool call and a result in one line each, and a session's title."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from contextviz.events.session import Transcript
from contextviz.events.text import TextPool

MAX_LINE = 160
MAX_TITLE = 80
MAX_JSON = 2_000_000
# The field that says what a call is about, the most telling first; then any short text, then any value.
_FIELDS = (
    "command", "cmd", "file_path", "path", "filePath", "filename", "notebook_path", "pattern", "query", "url",
    "description", "prompt", "task", "name", "symbol", "hash", "id", "message", "text", "content", "input",
)  # fmt: skip
_EXIT = re.compile(
    r"(?:^|\n)[^\n]{0,40}?\b(?:exit(?:ed with)? code|exit status|Process exited with code|exitCode)\W{1,4}(\d{1,3})\b",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")
# What OpenClaw puts in front of a prompt on its way to the model; some of its transcripts keep it.
_STAMP = re.compile(r"\s*\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?: [^\]\n]{1,40})?\]")


@dataclass(frozen=True, slots=True)
class ResultLine:
    """A result in one line: its first line with words, how many lines and characters, its exit code where said."""

    first: str
    lines: int
    chars: int
    exit_code: int | None


def call_arguments(text: str) -> tuple[str | None, Any]:
    """The name and arguments of a tool call item's JSON text; (None, the text) where it is not such JSON."""
    if len(text) > MAX_JSON:
        return None, text
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None, text
    if not isinstance(read, dict):
        return None, read
    name = read.get("name")
    return (name if isinstance(name, str) else None), read.get("arguments", read)


def argument_texts(arguments: Any, *, limit: int = 10_000) -> list[str]:
    """Every text and number inside `arguments` as text, in order; keys whose value is a number as `key=value`."""
    found: list[str] = []
    waiting: list[tuple[str | None, Any]] = [(None, arguments)]
    while waiting and len(found) < limit:
        key, value = waiting.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend((str(name), inner) for name, inner in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((key, inner) for inner in reversed(value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(f"{key}={value}" if key else str(value))
    return found


def tool_line(name: str, arguments: Any) -> str:
    """The one telling field of a tool call, as one line of at most MAX_LINE characters; "" where there is none."""
    if isinstance(arguments, str):
        read = call_arguments(arguments)[1] if arguments.lstrip().startswith("{") else arguments
        return one_line(read) if isinstance(read, str) else tool_line(name, read)
    if not isinstance(arguments, dict):
        return one_line(" ".join(argument_texts(arguments, limit=20)))
    for field in _FIELDS:
        value = arguments.get(field)
        if isinstance(value, str) and value.strip():
            return one_line(value)
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return one_line(" ".join(value))
    return one_line(" ".join(argument_texts(arguments, limit=20)))


def result_line(text: str) -> ResultLine:
    """A tool result in one line. The exit code is read where the result says one at the start of a line."""
    first = next((line for line in text[:20_000].splitlines() if any(char.isalnum() for char in line)), "")
    edges = text if len(text) <= 8000 else text[:4000] + "\n" + text[-4000:]
    found = _EXIT.search(edges)
    lines = 0 if not text else text.count("\n") + (not text.endswith("\n"))
    return ResultLine(one_line(first), lines, len(text), int(found[1]) if found else None)


def one_line(text: str, limit: int = MAX_LINE) -> str:
    """`text` with runs of white space as one space, cut at a word with an ellipsis after `limit` characters."""
    flat = _SPACES.sub(" ", text[: limit * 20]).strip()
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit * 2 // 3 else cut).rstrip(" .,;:") + "…"


def title_of(transcript: Transcript, pool: TextPool) -> str:
    """What a session is called: its own title, else the first human prompt's first line with words (without the date
    that a client stamped in front of it), else its id."""
    title = transcript.session.title
    if title and title.strip():
        return one_line(title, MAX_TITLE)
    for message in transcript.messages:
        if message.role != "user" or not message.is_human or message.agent is not None:
            continue
        for block in message.blocks:
            if block.kind != "text":
                continue
            text = pool.get(block.text)
            stamp = _STAMP.match(text)
            first = result_line(text[stamp.end() :] if stamp else text).first
            if first:
                return one_line(first, MAX_TITLE)
    return transcript.session.id
