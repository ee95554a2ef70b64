"""OpenVole's compactor, paw-compact: large results shrunk, old messages to one summary (engines document, 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.engines.openvole.messages import AgentMessage
from contextviz.events.javascript import keys, length16, number_text, slice16, stringify

KEEP_RECENT = 10
LARGE_RESULT, RESULT_KEPT = 500, 150  # UTF-16 units
WORDS_KEPT, ERROR_KEPT, PARAMS_KEPT, VALUE_KEPT = 100, 120, 60, 40
MODEL_RESULT_KEPT = 500
# Given the transcript and the messages it is of, a summary; empty where there is none.
WithModel = Callable[[str, Sequence[AgentMessage]], str]
_ERROR_SIGNS = ('"error"', '"ok":false', '"ok": false')


@dataclass(slots=True)
class Compacted:
    """What is left and what was done. `shrunk` are results with their text before; `summarised` are the messages that
    `summary` stands for; `level` is heuristic, llm or fallback (a model was asked and gave nothing)."""

    messages: list[AgentMessage]
    shrunk: list[tuple[AgentMessage, str]] = field(default_factory=list)
    summarised: list[AgentMessage] = field(default_factory=list)
    summary: AgentMessage | None = None
    level: str = "heuristic"


def compact_messages(
    messages: Sequence[AgentMessage], keep_recent: int = KEEP_RECENT, now: int = 0
) -> list[AgentMessage]:
    """The messages after one run of the compactor by rule. Results are shrunk in the given objects."""
    return compact(messages, keep_recent, now).messages


def compact(
    messages: Sequence[AgentMessage], keep_recent: int, now: int, with_model: WithModel | None = None
) -> Compacted:
    """The same, with what was done; `with_model` makes the summary, and where it gives none the rule does."""
    done = Compacted(list(messages))
    for message in messages:
        if message.role == "tool_result" and message.seen_at is not None and length16(message.content) > LARGE_RESULT:
            done.shrunk.append((message, message.content))
            message.rewrite(shrunk_result(message))
    if len(messages) <= keep_recent + 2:
        return done
    end = len(messages) - keep_recent
    done.summarised = list(messages[1:end])
    text = ""
    if with_model is not None:
        text = with_model(model_transcript(done.summarised), done.summarised)
        done.level = "llm" if text else "fallback"
    if text:
        text = f"[LLM Summary — {len(done.summarised)} messages compacted]\n{text}"
    done.summary = AgentMessage("brain", text or heuristic_summary(done.summarised), now)
    done.messages = [messages[0], done.summary, *messages[end:]]
    return done


def shrunk_result(message: AgentMessage) -> str:
    """What stands for a large result that the brain has seen."""
    name = message.tool_call.name if message.tool_call else "tool"
    return f"[{name}: {status(message.content)}] {slice16(message.content, 0, RESULT_KEPT)}..."


def status(content: str) -> str:
    """How a result went, by its words, and how long it was."""
    if not content:
        return "empty"
    lower = content.lower()
    failed = lower.startswith("error") or any(sign in lower for sign in _ERROR_SIGNS)
    return f"{'error' if failed else 'success'} ({length16(content)} chars)"


def heuristic_summary(messages: Sequence[AgentMessage]) -> str:
    """A header and a line for each message; a summary among them is a line like any other."""
    lines = [line for line in map(_line, messages) if line is not None]
    return f"[Context Summary — {len(messages)} messages compacted]\n" + "\n".join(lines)


def _line(message: AgentMessage) -> str | None:
    call = message.tool_call
    if message.role == "brain":
        if call is not None:
            return f"- Called {call.name}({params_text(call.params)})"
        return f'- Brain: "{_cut(message.content, WORDS_KEPT)}"' if message.content else None
    if message.role == "tool_result":
        if call is not None:
            return f"- Called {call.name}({params_text(call.params)}) -> {status(message.content)}"
        return f"- Tool result: {status(message.content)}"
    if message.role == "error":
        return f"- Error: {_cut(message.content, ERROR_KEPT)}"
    return f'- User: "{_cut(message.content, WORDS_KEPT)}"'


def params_text(params: Any) -> str:
    """A call's parameters in a line: strings quoted, null left out, all else as JSON, each cut."""
    if params is None:
        return ""
    if isinstance(params, str):
        return _cut(params, PARAMS_KEPT)
    if isinstance(params, dict):
        pairs = [(key, params[key]) for key in keys(params)]
    elif isinstance(params, list):
        pairs = [(str(at), value) for at, value in enumerate(params)]
    else:
        return _scalar(params)
    return ", ".join(f"{key}: {_value(value)}" for key, value in pairs if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return f'"{_cut(value, VALUE_KEPT)}"'
    return _cut(stringify(value), VALUE_KEPT)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, int | float) else str(value)


def _cut(text: str, most: int) -> str:
    return slice16(text, 0, most) + "..." if length16(text) > most else text


def model_transcript(messages: Sequence[AgentMessage]) -> str:
    """What a model is given to summarise: a line for each message, results cut."""
    names = {"brain": "Assistant", "tool_result": "Tool", "error": "Error", "user": "User"}
    lines = []
    for message in messages:
        content = message.content
        if message.role == "tool_result" and length16(content) > MODEL_RESULT_KEPT:
            content = slice16(content, 0, MODEL_RESULT_KEPT) + "... [truncated]"
        called = f"called {message.tool_call.name}: " if message.tool_call else ""
        lines.append(f"[{names[message.role]}] {called}{content}")
    return "\n".join(lines)
