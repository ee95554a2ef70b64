"""Content parts of the vendors' message formats to blocks (formats.md D, F and trap 27)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from contextviz.events.message import Block, Kind, Role
from contextviz.events.text import TextPool
from contextviz.sources.values import as_dict, as_list, as_text, inner_json

Json = dict[str, Any]
ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "ai": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
    "toolResult": "tool",
}
# One encoder for all: json.dumps makes a new one for each call unless its options are the default ones.
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_DATA_URI = re.compile(r"^data:([\w.+/-]{0,100})[^,]{0,200},")
_TEXTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal", "summary_text": "text"}
_THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning", "thought"})
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use", "function_call", "tool_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_call_response"})
_MEDIA = frozenset(
    {"image", "image_url", "input_image", "input_audio", "file", "input_file", "document", "blob", "audio", "uri"}
)


def dumps(value: Any) -> str:
    """`value` as JSON text with its own letters; what cannot be encoded is shown as text."""
    try:
        return _ENCODER.encode(value)
    except (ValueError, TypeError, RecursionError):
        return str(value)[:100_000]


def role_of(word: Any) -> Role | None:
    """The role a vendor's word stands for, None where it is not known."""
    return ROLES.get(word) if isinstance(word, str) else None


def arguments_of(value: Any) -> Any:
    """A tool call's arguments as a value; text that is no JSON is kept under `raw`."""
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        return inner_json(value) if value.strip() else {}
    except (ValueError, RecursionError):
        return {"raw": value}


def tool_call(pool: TextPool, name: Any, arguments: Any, call_id: Any) -> Block:
    """A tool call's block: JSON `{"name", "arguments"}` (inspect.md, --snapshots)."""
    word = as_text(name) or ""
    text = dumps({"name": word, "arguments": arguments_of(arguments)})
    return Block("tool_call", pool.put(text), word, as_text(call_id))


def tool_results(pool: TextPool, content: Any, name: Any, call_id: Any, *, is_error: bool = False) -> list[Block]:
    """A tool result's blocks, one for each part; a result without content is one empty block."""
    if isinstance(content, Mapping):
        content = [content] if "type" in content else dumps(content)
    blocks: list[Block] = []
    for part in content if isinstance(content, list) else [content]:
        for block in part_blocks(part, pool, "text"):
            if block.kind == "image":
                blocks.append(block)
                continue
            blocks.append(Block("tool_result", block.text, as_text(name), as_text(call_id), is_error=is_error))
    return blocks or [Block("tool_result", pool.put(""), as_text(name), as_text(call_id), is_error=is_error)]


def media(pool: TextPool, data: Any, media_type: Any) -> Block:
    """An image or another file by its sizes; its base64 is never text (formats.md trap 35)."""
    body = as_text(data) or ""
    kind = as_text(media_type) or "application/octet-stream"
    found = _DATA_URI.match(body[:400])
    if found is not None:
        kind, body = found.group(1) or kind, body[found.end() :]
    elif body.startswith(("http://", "https://", "gs://", "file-")):
        body = ""
    size = max(0, len(body) * 3 // 4 - (len(body) - len(body.rstrip("="))))
    return Block("image", pool.put(""), media_type=kind[:100], media_bytes=size, base64_chars=len(body))


def blocks_of(content: Any, pool: TextPool, *, kind: Kind = "text") -> list[Block]:
    """The blocks of a message's content: text, a part, or a list of parts; text blocks get `kind`."""
    if content is None or content == "":
        return []
    parts = content if isinstance(content, list) else [content]
    return [block for part in parts for block in part_blocks(part, pool, kind)]


def part_blocks(part: Any, pool: TextPool, kind: Kind = "text") -> list[Block]:
    """One content part as blocks. A part of a type that is not known is kept as its JSON."""
    if part is None:
        return []
    if not isinstance(part, Mapping):
        return [Block(kind, pool.put(part if isinstance(part, str) else dumps(part)))]
    word = as_text(part.get("type")) or ""
    if word in _THOUGHTS:
        return [Block("thinking", pool.put(_thought(part)))]
    if word in _CALLS:
        arguments = next((part[key] for key in ("input", "arguments", "args") if part.get(key) is not None), None)
        return [tool_call(pool, part.get("name"), arguments, part.get("call_id") or part.get("id"))]
    if word in _RESULTS or word.endswith("tool_result"):
        return _result(part, pool)
    if word in _MEDIA or "inlineData" in part or "fileData" in part or "inline_data" in part:
        return _media(part, pool, kind)
    if word in _TEXTS or (not word and isinstance(part.get("text"), str)) or word == "":
        return _untyped(part, word, pool, kind)
    text = as_text(part.get("text"))
    return [Block(kind, pool.put(text if text is not None else dumps(part)))]


def _untyped(part: Mapping[str, Any], word: str, pool: TextPool, kind: Kind) -> list[Block]:
    """Text parts, and Gemini's, which have no type but a key for what they are."""
    call = as_dict(part.get("functionCall") or part.get("function_call"))
    answer = as_dict(part.get("functionResponse") or part.get("function_response"))
    if call:
        return [tool_call(pool, call.get("name"), call.get("args"), call.get("id"))]
    if answer:
        return tool_results(pool, answer.get("response"), answer.get("name"), answer.get("id"))
    text = as_text(part.get(_TEXTS.get(word, "text")))
    if text is None and word == "text":
        text = as_text(part.get("content"))  # OpenTelemetry's text part
    if part.get("thought") is True:
        return [Block("thinking", pool.put(text or ""))]
    return [Block(kind, pool.put(text if text is not None else dumps(part)))]


def _result(part: Mapping[str, Any], pool: TextPool) -> list[Block]:
    content = next(
        (part[key] for key in ("content", "output", "response", "result") if part.get(key) is not None), None
    )
    call = next((part[key] for key in ("tool_use_id", "call_id", "id") if part.get(key) is not None), None)
    is_error = part.get("is_error") is True or part.get("status") == "error"
    return tool_results(pool, content, part.get("name"), call, is_error=is_error)


def _thought(part: Mapping[str, Any]) -> str:
    for key in ("thinking", "text", "content", "reasoning"):
        if isinstance(part.get(key), str):
            return str(part[key])
    parts = [*as_list(part.get("summary")), *as_list(part.get("content"))]
    return "\n\n".join(text for text in (as_text(as_dict(one).get("text")) for one in parts) if text)


def _media(part: Mapping[str, Any], pool: TextPool, kind: Kind) -> list[Block]:
    source = as_dict(part.get("source"))
    if source.get("type") == "text":
        return [Block(kind, pool.put(as_text(source.get("data")) or ""))]
    if isinstance(source.get("content"), str | list):
        return blocks_of(source["content"], pool, kind=kind)
    inner = as_dict(
        part.get("inlineData") or part.get("inline_data") or part.get("fileData") or part.get("image_url")
        or part.get("input_audio") or part.get("file")
    )  # fmt: skip
    holder = source or inner or part
    data = next(
        (holder[key] for key in ("data", "url", "file_data", "image_url", "content", "uri") if holder.get(key)), None
    )
    word = next(
        (holder[key] for key in ("media_type", "mimeType", "mime_type", "format") if holder.get(key)), part.get("type")
    )
    return [media(pool, data, word)]


def named(blocks: Iterable[Block], tools: dict[str, str]) -> list[Block]:
    """Tool results with the names of the tools that gave them; `tools` learns the calls among the blocks."""
    made = []
    for block in blocks:
        if block.kind == "tool_call" and block.tool_call_id:
            tools[block.tool_call_id] = block.tool_name or ""
        if block.kind == "tool_result" and not block.tool_name and block.tool_call_id in tools:
            block = replace(block, tool_name=tools[block.tool_call_id])
        made.append(block)
    return made
