"""Messages of every provider's requests and replies as one kind of message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextviz.events.message import Block, Role
from contextviz.events.text import TextPool
from contextviz.sources.chat.kinds import GEMINI, RESPONSES, SHAREGPT, Json
from contextviz.sources.plain.content import (
    arguments_of,
    blocks_of,
    dumps,
    part_blocks,
    role_of,
    tool_call,
    tool_results,
)
from contextviz.sources.plain.exchange import Said
from contextviz.sources.values import as_dict, as_id, as_list, as_text

_THINKS = ("reasoning_content", "reasoning", "thinking")


def said_of(message: Json, pool: TextPool) -> Said:
    """One message of OpenAI Chat, Anthropic or a chat array."""
    native = as_text(message.get("role")) or "unknown"
    role: Role = role_of(native) or "user"
    name = as_id(message.get("id"))
    if role == "tool":
        call = message.get("tool_call_id") or message.get("toolCallId")
        return Said(role, native, tuple(tool_results(pool, message.get("content"), message.get("name"), call)), name)
    blocks: list[Block] = []
    if role == "assistant":
        thoughts = [message[key] for key in _THINKS if isinstance(message.get(key), str) and message[key]]
        blocks.extend(Block("thinking", pool.put(thought)) for thought in thoughts[:1])
    kind = "system" if role in ("system", "developer") else "text"
    blocks.extend(blocks_of(message.get("content"), pool, kind=kind))  # type: ignore[arg-type]
    if message.get("refusal"):
        blocks.extend(blocks_of(message["refusal"], pool))
    for one in as_list(message.get("tool_calls")):
        function = as_dict(as_dict(one).get("function") or as_dict(one).get("custom")) or as_dict(one)
        arguments = function.get("arguments", function.get("input"))
        blocks.append(tool_call(pool, function.get("name"), arguments, as_dict(one).get("id")))
    old = as_dict(message.get("function_call"))
    if old:
        blocks.append(tool_call(pool, old.get("name"), old.get("arguments"), None))
    if blocks and role == "user" and all(block.kind == "tool_result" for block in blocks):
        role = "tool"
    return Said(role, native, tuple(blocks), name)


def request_messages(name: str, request: Json, pool: TextPool) -> list[Said]:
    """The window of a request in order: instructions with the tools, then the messages."""
    head: list[Block] = []
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        value = request.get(key)
        if isinstance(value, Mapping):
            value = value.get("parts")
        head.extend(blocks_of(value, pool, kind="system"))
    tools = [_tool(one, pool) for group in as_list(request.get("tools")) for one in _declared(group)]
    tools.extend(_tool(one, pool) for one in as_list(request.get("functions")))
    rest = _messages(name, request, pool)
    if head:
        return [Said("system", "system", (*head, *tools)), *rest]
    if tools and rest and rest[0].role == "system":
        first = rest[0]
        return [Said(first.role, first.native_role, (*first.blocks, *tools), first.id), *rest[1:]]
    return [*([Said("system", "tools", tuple(tools))] if tools else []), *rest]


def _messages(name: str, request: Json, pool: TextPool) -> list[Said]:
    if name == GEMINI:
        return [gemini_said(as_dict(one), pool) for one in as_list(request.get("contents"))]
    if name == SHAREGPT:
        return [sharegpt_said(as_dict(one), pool) for one in as_list(request.get("conversations"))]
    if name == RESPONSES:
        return response_items(request.get("input"), pool)
    return [said_of(as_dict(one), pool) for one in as_list(request.get("messages"))]


def _declared(group: Any) -> list[Any]:
    """Gemini declares several functions in one tool."""
    found = as_dict(group)
    inner = found.get("functionDeclarations") or found.get("function_declarations")
    return inner if isinstance(inner, list) else [group]


def _tool(value: Any, pool: TextPool) -> Block:
    inner = as_dict(as_dict(value).get("function")) or as_dict(value)
    return Block("tools", pool.put(dumps(value)), as_text(inner.get("name")))


def gemini_said(content: Json, pool: TextPool) -> Said:
    """One of Gemini's contents; without a role it is the user's."""
    native = as_text(content.get("role")) or "user"
    blocks = tuple(block for part in as_list(content.get("parts")) for block in part_blocks(part, pool))
    role: Role = role_of(native) or "user"
    if blocks and role == "user" and all(block.kind == "tool_result" for block in blocks):
        role = "tool"
    return Said(role, native, blocks)


def sharegpt_said(turn: Json, pool: TextPool) -> Said:
    """One turn of ShareGPT: strings only."""
    native, text = as_text(turn.get("from")) or "unknown", as_text(turn.get("value")) or ""
    role: Role = role_of(native) or "user"
    if native == "function_call":
        call = arguments_of(text)
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            return Said(role, native, (tool_call(pool, call["name"], call.get("arguments"), None),))
        return Said(role, native, (tool_call(pool, "", text, None),))
    if role == "tool":
        return Said(role, native, tuple(tool_results(pool, text, None, None)))
    return Said(role, native, (Block("system" if role == "system" else "text", pool.put(text)),))


def response_items(given: Any, pool: TextPool) -> list[Said]:
    """Responses' items. What the model wrote in one go (reasoning, texts, calls) is one message, so that a reply is
    known again when it is sent back."""
    if isinstance(given, str):
        return [Said("user", "user", (Block("text", pool.put(given)),))]
    found: list[Said] = []
    for item in as_list(given):
        said = _item(as_dict(item), pool)
        last = found[-1] if found else None
        if last is not None and last.role == said.role == "assistant" and last.native_role == said.native_role:
            found[-1] = Said("assistant", last.native_role, (*last.blocks, *said.blocks), last.id or said.id)
        else:
            found.append(said)
    return found


def _item(item: Json, pool: TextPool) -> Said:
    word = as_text(item.get("type")) or "message"
    name = as_id(item.get("id"))
    if word == "message":
        return said_of(item, pool)
    if word.endswith("_output"):
        return Said("tool", "tool", tuple(part_blocks(item, pool)), name)
    if word in ("reasoning", "function_call", "custom_tool_call"):
        return Said("assistant", "assistant", tuple(part_blocks(item, pool)), name)
    if word in ("compaction", "compaction_summary"):
        return Said("assistant", "compaction", (Block("summary", pool.put("")),), name)
    if word == "item_reference":
        return Said("user", word, (Block("injected", pool.put(dumps(dict(item)))),))
    role: Role = "assistant" if word.endswith("_call") else "user"
    return Said(role, word, (Block("injected", pool.put(dumps(dict(item)))),), name)
