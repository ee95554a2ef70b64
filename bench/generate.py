"""Deterministic sessions of any size, written as a client would write them, straight to disk.

python -m bench generate --kind plain --mb 200 --format claude-code OUT
python -m bench generate --kind compacted --calls 30000 --format openclaw OUT
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from bench.plan import CALLS_OF_A_SMALL_SESSION, START, Answer, Compacted, Kind, Prompt, Story, story
from bench.words import Writer

Format = Literal["claude-code", "openclaw"]
FORMATS: tuple[Format, ...] = ("claude-code", "openclaw")
Json = dict[str, Any]
MODEL = "claude-sonnet-4-5"
FOLDER = "/home/someone/project"
BETWEEN_SESSIONS = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class Size:
    """How much to write: bytes or model calls, whichever is given; the first reached ends it."""

    bytes: int | None = None
    calls: int | None = None

    def is_reached(self, written: int, calls: int) -> bool:
        """Whether it is enough."""
        return (self.bytes is not None and written >= self.bytes) or (self.calls is not None and calls >= self.calls)


@dataclass(frozen=True, slots=True)
class Generated:
    """What was written."""

    files: list[Path]
    bytes: int
    calls: int


def generate(
    folder: Path, kind: Kind, size: Size, *, format: Format = "claude-code", seed: int = 1, scale: float = 1.0
) -> Generated:
    """Write one session of `kind` (or, of kind `many`, as many small ones as it takes) below `folder`.

    The same arguments give the same bytes. Memory does not grow with `size`. Raises ValueError where `size`
    says neither bytes nor calls.
    """
    if size.bytes is None and size.calls is None:
        raise ValueError("a size in bytes or in calls is needed")
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer(seed)
    lines = _LINES[format]
    files: list[Path] = []
    written = calls = 0
    at = START
    while not files or (kind == "many" and not size.is_reached(written, calls)):
        session = writer.uuid()
        files.append(folder / f"{session}.jsonl")
        one = story(kind, writer, scale=scale, start=at)
        with files[-1].open("wb") as out:
            written = _write(out, lines(one, session), one, size, written, calls, is_small=kind == "many")
        calls += one.calls
        at = one.at + BETWEEN_SESSIONS
    return Generated(files, written, calls)


def _write(
    out: IO[bytes], records: Iterator[Json], one: Story, size: Size, written: int, calls: int, *, is_small: bool
) -> int:
    for record in records:
        line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        out.write(line)
        written += len(line)
        is_whole = record["type"] in ("assistant", "message", "user")
        if is_whole and (
            size.is_reached(written, calls + one.calls) or (is_small and one.calls >= CALLS_OF_A_SMALL_SESSION)
        ):
            break
    return written


def _iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def claude_lines(one: Story, session: str) -> Iterator[Json]:
    """The records of a Claude Code session (formats.md B): a line for each block of an answer."""
    parent: str | None = None
    writer = one.writer

    def row(kind: str, **more: Any) -> Json:
        nonlocal parent
        uuid = writer.uuid()
        record: Json = {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": FOLDER, "sessionId": session,
            "version": "2.1.300", "gitBranch": "main", "type": kind, "uuid": uuid, "timestamp": _iso(one.tick()),
        }  # fmt: skip
        parent = uuid
        return record | more

    for step in one.steps():
        if isinstance(step, Prompt):
            yield row("user", message={"role": "user", "content": step.text})
        elif isinstance(step, Compacted):
            last, parent = parent, None
            meta = {"trigger": "auto", "preTokens": step.tokens_before}
            yield row("system", subtype="compact_boundary", content="Conversation compacted", logicalParentUuid=last,
                      isMeta=False, level="info", compactMetadata=meta)  # fmt: skip
            text = (
                f"This session is being continued from a previous conversation that ran out of context.\n{step.summary}"
            )
            yield row("user", isCompactSummary=True, isVisibleInTranscriptOnly=True,
                      message={"role": "user", "content": text})  # fmt: skip
        else:
            yield from _claude_answer(step, row, writer)


def _claude_answer(step: Answer, row: Callable[..., Json], writer: Writer) -> Iterator[Json]:
    usage = {
        "input_tokens": 3, "cache_creation_input_tokens": step.fresh_tokens,
        "cache_read_input_tokens": step.cached_tokens, "output_tokens": step.output_tokens, "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": step.fresh_tokens, "ephemeral_1h_input_tokens": 0},
    }  # fmt: skip
    message_id, request = "msg_" + writer.identifier(24), "req_" + writer.identifier(24)
    blocks: list[Json] = [{"type": "text", "text": step.text}]
    blocks += [{"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.arguments} for tool in step.tools]
    for block in blocks:
        message = {
            "id": message_id, "type": "message", "role": "assistant", "model": MODEL, "content": [block],
            "stop_reason": "tool_use" if step.tools else "end_turn", "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        yield row("assistant", requestId=request, message=message)
    for tool in step.tools:
        part: Json = {"tool_use_id": tool.id, "type": "tool_result", "content": tool.result, "is_error": tool.is_error}
        # The client writes what a tool gave twice: as the model gets it, and for its own screen.
        shown = {"stdout": tool.result, "stderr": "", "interrupted": False, "isImage": False}
        yield row("user", message={"role": "user", "content": [part]}, toolUseResult=shown)


def openclaw_lines(one: Story, session: str) -> Iterator[Json]:
    """The records of an OpenClaw transcript, version 3 (formats.md A): a line for each message."""
    parent: str | None = None
    writer = one.writer

    def entry(kind: str, **more: Any) -> Json:
        nonlocal parent
        name, at = writer.uuid(), one.tick()
        if "message" in more:
            more["message"]["timestamp"] = round(at.timestamp() * 1000)
        record = {"type": kind, "id": name, "parentId": parent, "timestamp": _iso(at)} | more
        parent = name
        return record

    yield {"type": "session", "version": 3, "id": session, "timestamp": _iso(one.at), "cwd": FOLDER}
    kept: str | None = None
    for step in one.steps():
        if isinstance(step, Prompt):
            yield entry("message", message={"role": "user", "content": [{"type": "text", "text": step.text}]})
            kept = parent
        elif isinstance(step, Compacted):
            yield entry("compaction", summary=step.summary, firstKeptEntryId=kept, tokensBefore=step.tokens_before,
                        fromHook=False)  # fmt: skip
        else:
            yield from _openclaw_answer(step, entry)


def _openclaw_answer(step: Answer, entry: Callable[..., Json]) -> Iterator[Json]:
    total = step.fresh_tokens + step.cached_tokens + step.output_tokens
    usage = {
        "input": 3, "output": step.output_tokens, "cacheRead": step.cached_tokens, "cacheWrite": step.fresh_tokens,
        "totalTokens": total + 3,
        "cost": {"input": 0.0, "output": 0.01, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.01},
    }  # fmt: skip
    content: list[Json] = [{"type": "text", "text": step.text}]
    content += [
        {"type": "toolCall", "id": tool.id, "name": tool.name.lower(), "arguments": tool.arguments}
        for tool in step.tools
    ]
    yield entry(
        "message",
        message={
            "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": MODEL, "usage": usage, "stopReason": "toolUse" if step.tools else "stop",
        },
    )  # fmt: skip
    for tool in step.tools:
        yield entry(
            "message",
            message={
                "role": "toolResult", "toolCallId": tool.id, "toolName": tool.name.lower(),
                "content": [{"type": "text", "text": tool.result}], "isError": tool.is_error,
            },
        )  # fmt: skip


_LINES: dict[Format, Callable[[Story, str], Iterator[Json]]] = {
    "claude-code": claude_lines,
    "openclaw": openclaw_lines,
}
