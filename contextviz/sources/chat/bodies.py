"""A provider's bodies as an exchange: what was asked, what was answered, what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contextviz.events.message import Role
from contextviz.events.text import TextPool
from contextviz.sources.chat.kinds import ANTHROPIC, GEMINI, OPENAI, RESPONSES, Body, Json
from contextviz.sources.chat.messages import gemini_said, request_messages, response_items, said_of
from contextviz.sources.plain.exchange import Exchange, Said
from contextviz.sources.plain.usage import usage_of
from contextviz.sources.values import as_dict, as_id, as_list, as_text

_TIMES = ("timestamp", "time", "ts", "created_at", "created", "createTime", "date")
_NAMES = ("conversation_id", "conversationId", "session_id", "thread_id", "threadId", "chat_id", "chatId")


@dataclass(frozen=True, slots=True)
class Unit:
    """One exchange of a file with what places it: the conversation it names, the reply it continues, its written
    time, and whether it is a row of a data set (nobody's model, no reply)."""

    format: str
    exchange: Exchange
    conversation: str | None
    previous: str | None
    time: Any
    is_row: bool
    more_answers: int = 0


def unit_of(body: Body, pool: TextPool, line: int | None) -> Unit:
    """Read a body. A reply without usage is shown and is no call."""
    request, reply = body.request, body.reply
    context = [] if request is None else request_messages(_request_format(body), request, pool)
    answers = [] if reply is None else _answers(body.format, reply, pool)
    previous = as_id((request or {}).get("previous_response_id"))
    usage = usage_of(as_dict(reply).get("usage") or as_dict(reply).get("usageMetadata")) if reply is not None else None
    exchange = Exchange(
        context=context,
        answer=answers[0] if answers else None,
        usage=usage,
        model=_first_text((reply or {}), "model", "modelVersion") or _first_text(request or {}, "model"),
        response_id=as_id((reply or {}).get("id")) or as_id((reply or {}).get("responseId")),
        line=line,
        has_request=request is not None,
        is_failed=reply is not None and bool(reply.get("error")),
        continues=previous is not None,
    )
    time = next((one for one in map(_time, (body.outer, reply or {}, request or {})) if one is not None), None)
    is_row = reply is None and "model" not in (request or {})
    return Unit(body.format, exchange, _conversation(body), previous, time, is_row, max(0, len(answers) - 1))


def _request_format(body: Body) -> str:
    """A request beside a reply may be told by the reply alone (Anthropic's without `system`)."""
    request = body.request or {}
    if "contents" in request:
        return GEMINI
    if "messages" in request:
        return ANTHROPIC if body.format == ANTHROPIC else OPENAI
    return body.format


def _answers(name: str, reply: Json, pool: TextPool) -> list[Said]:
    if name == OPENAI:
        return [said_of(as_dict(as_dict(one).get("message")), pool) for one in as_list(reply.get("choices"))]
    if name == GEMINI:
        candidates = as_list(reply.get("candidates"))
        return [_model(gemini_said(as_dict(as_dict(one).get("content")), pool)) for one in candidates]
    if name == RESPONSES:
        said = [one for one in response_items(reply.get("output"), pool) if one.blocks]
        return [_joined(said)] if said else []
    return [said_of(reply, pool)] if name == ANTHROPIC and reply.get("role") else []


def _model(said: Said) -> Said:
    role: Role = "assistant"
    return Said(role, "model", said.blocks)


def _joined(said: list[Said]) -> Said:
    """A reply's items as one message: hosted tools' own results among them are part of it."""
    blocks = tuple(block for one in said for block in one.blocks)
    return Said("assistant", "assistant", blocks, said[0].id)


def _time(holder: Json) -> Any:
    return next((holder[key] for key in _TIMES if isinstance(holder.get(key), str | int | float)), None)


def _conversation(body: Body) -> str | None:
    request = body.request or {}
    for holder in (body.outer, request, as_dict(request.get("metadata")), as_dict(body.outer.get("metadata"))):
        for key in _NAMES:
            name = as_id(holder.get(key))
            if name is not None:
                return name
    inner = request.get("conversation")
    named = as_id(as_dict(inner).get("id")) or as_id(inner) if not isinstance(inner, list) else None
    if named is None and body.reply is None and "model" not in request:
        named = as_id(body.outer.get("id"))
    return named


def _first_text(holder: Json, *keys: str) -> str | None:
    return next((text for key in keys if (text := as_text(holder.get(key)))), None)
