"""Which provider's body a JSON object is, and what of it is the request and what the reply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contextviz.sources.features import declared
from contextviz.sources.plain.content import role_of
from contextviz.sources.values import as_dict, as_list, as_text

FORMATS = ("openai-chat", "anthropic-messages", "openai-responses", "chat-array", "sharegpt", "gemini-api")
OPENAI, ANTHROPIC, RESPONSES, ARRAY, SHAREGPT, GEMINI = FORMATS
_SAID = "messages tool_pairs thinking images system_prompt"
_ASKED = f"{_SAID} tool_definitions calls cache_reads failed_calls requests"
DECLARED = {
    OPENAI: declared(f"{_ASKED} times reasoning cost", "compactions", cached="inside"),
    ANTHROPIC: declared(f"{_ASKED} cache_writes", "compactions", cached="beside"),
    RESPONSES: declared(f"{_ASKED} times reasoning injected", "rebuilt compactions", cached="inside"),
    ARRAY: declared(f"{_SAID} times", cached="unwritten"),
    SHAREGPT: declared("messages tool_pairs system_prompt title", cached="unwritten"),
    GEMINI: declared(f"{_ASKED} reasoning", "compactions", cached="inside"),
}
LOOKED_AT = 8
_PAIRS = (("request", "response"), ("req", "res"), ("request_body", "response_body"), ("body", "response"))
_ANTHROPIC_PARTS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})
# Words that make a `messages` list another format's, whose own reader has it.
_FOREIGN = frozenset({"info", "trajectory_format", "sessionId", "projectHash", "trajectory", "history", "parentUuid"})
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Body:
    """A request, a reply, or both, of one provider; `outer` is the object around them, if any."""

    format: str
    request: Json | None
    reply: Json | None
    outer: Json


def body_of(value: Any) -> Body | None:
    """The body or bodies in a JSON object; None where it is none of a provider's."""
    if not isinstance(value, Mapping):
        return None
    for first, second in _PAIRS:
        request, reply = as_dict(value.get(first)), as_dict(value.get(second))
        reply = as_dict(reply.get("body")) or reply  # OpenAI's batch results
        asked, answered = request_format(request), reply_format(reply)
        if asked is not None or (answered is not None and second in value):
            name = answered or asked or OPENAI
            return Body(name, request if asked else None, reply if answered or "error" in reply else None, value)
    asked, answered = request_format(value), reply_format(value)
    if asked is None and answered is None:
        return None
    return Body(answered or asked or OPENAI, value if asked else None, value if answered else None, value)


def request_format(value: Json) -> str | None:
    """The format whose request (or data set row) `value` is, None for anything else."""
    if not value:
        return None
    messages = value.get("messages")
    if isinstance(messages, list) and messages and not _FOREIGN & value.keys():
        first = messages[:LOOKED_AT]
        return (ANTHROPIC if _is_anthropic(value, first) else OPENAI) if all(map(is_message, first)) else None
    turns = value.get("conversations")
    if isinstance(turns, list) and turns:
        return SHAREGPT if all(map(_is_turn, turns[:LOOKED_AT])) else None
    contents = value.get("contents")
    if isinstance(contents, list) and contents:
        return GEMINI if all(isinstance(as_dict(one).get("parts"), list) for one in contents[:LOOKED_AT]) else None
    given = value.get("input")
    if isinstance(given, str) or (isinstance(given, list) and given and isinstance(given[0], Mapping)):
        is_ours = isinstance(value.get("model"), str) and ("object" not in value or value["object"] == "response")
        return RESPONSES if is_ours and _is_input(given) else None
    return None


def reply_format(value: Json) -> str | None:
    """The format whose reply `value` is, None for anything else."""
    if not value:
        return None
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(as_dict(choices[0]).get("message"), Mapping):
        return OPENAI
    if isinstance(value.get("candidates"), list) and ("usageMetadata" in value or "modelVersion" in value):
        return GEMINI
    if value.get("object") == "response" and isinstance(value.get("output"), list):
        return RESPONSES
    is_message = value.get("type") == "message" and value.get("role") == "assistant"
    if is_message and isinstance(value.get("usage"), Mapping) and isinstance(value.get("content"), list):
        return ANTHROPIC if isinstance(value.get("model"), str) else None
    return None


def is_message(value: Any) -> bool:
    """Whether a JSON value is one message of a chat: a role that is known, and content or tool calls."""
    if not isinstance(value, Mapping) or role_of(value.get("role")) is None:
        return False
    content = value.get("content")
    has_calls = "tool_calls" in value or "function_call" in value or "refusal" in value
    return isinstance(content, str | list) or (content is None and ("content" in value or has_calls))


def _is_turn(value: Any) -> bool:
    return isinstance(value, Mapping) and role_of(value.get("from")) is not None and isinstance(value.get("value"), str)


def _is_input(given: Any) -> bool:
    if isinstance(given, str):
        return True
    return all(isinstance(one, Mapping) and ("type" in one or is_message(one)) for one in given[:LOOKED_AT])


def _is_anthropic(value: Json, first: list[Any]) -> bool:
    model = value.get("model")
    if "system" in value or "anthropic_version" in value or (isinstance(model, str) and "claude" in model):
        return True
    parts = [part for message in first for part in as_list(message.get("content"))]
    return any(as_text(as_dict(part).get("type")) in _ANTHROPIC_PARTS for part in parts)
