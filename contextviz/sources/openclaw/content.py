"""Message content to blocks (formats.md A.4 and trap 27)."""

from __future__ import annotations

import json
import re
from typing import Any

from contextviz.events.message import Block, Kind
from contextviz.events.text import TextPool
from contextviz.sources.values import as_dict, as_id, as_int, as_text, inner_json, same

Json = dict[str, Any]
# One encoder for all: json.dumps makes a new one for each call unless its options are the default ones.
_ENCODER = json.JSONEncoder(ensure_ascii=False)
SYNTHETIC = "[openclaw] missing tool result"
_MACHINE = re.compile(
    r"^\s*(?:\[OpenClaw heartbeat poll\]|System:|\[cron:|\[Inter-session message\]|Pre-compaction memory flush)"
)


def parts_of(content: Any) -> list[Any]:
    """Content as a list of parts: text alone and a single object are wrapped, nothing is an empty list."""
    if isinstance(content, list):
        return content
    if content is None or content == "":
        return []
    return [content]


def blocks_of(content: Any, pool: TextPool, *, kind: Kind = "text") -> tuple[Block, ...]:
    """The blocks of a user's, an assistant's or a client's content; text blocks get `kind`."""
    return tuple(_block(part, pool, kind) for part in parts_of(content))


def _block(part: Any, pool: TextPool, kind: Kind) -> Block:
    if isinstance(part, str):
        return Block(kind, pool.put(part))
    found = as_dict(part)
    word = found.get("type")
    if word == "thinking":
        return Block("thinking", pool.put(as_text(found.get("thinking")) or ""))
    if word == "toolCall":
        return _tool_call(found, pool)
    if word == "image":
        return image(found, pool)
    text = as_text(found.get("text"))
    return Block(kind, pool.put(text if text is not None else json.dumps(part, ensure_ascii=False)))


def _tool_call(part: Json, pool: TextPool) -> Block:
    name = same(as_text(part.get("name"))) or ""
    call = {"name": name, "arguments": _arguments(part.get("arguments"))}
    return Block("tool_call", pool.put(_ENCODER.encode(call)), name, same(as_text(part.get("id"))))


def _arguments(value: Any) -> Any:
    if not isinstance(value, str):
        return {} if value is None else value
    try:
        return inner_json(value)
    except (ValueError, RecursionError):
        return {"raw": value}


def image(part: Json, pool: TextPool) -> Block:
    """An image by its sizes; its base64 is never text (formats.md trap 35)."""
    data = as_text(part.get("data")) or ""
    padding = len(data) - len(data.rstrip("="))
    size = max(0, len(data) * 3 // 4 - padding)
    media = as_text(part.get("mimeType")) or "application/octet-stream"
    return Block("image", pool.put(""), media_type=media, media_bytes=size, base64_chars=len(data))


def result_blocks(message: Json, pool: TextPool) -> tuple[Block, ...]:
    """The blocks of a tool result; a result without content is one empty block."""
    name, call = same(as_text(message.get("toolName"))), same(as_text(message.get("toolCallId")))
    is_error = message.get("isError") is True
    blocks: list[Block] = []
    for part in parts_of(message.get("content")) or [""]:
        if as_dict(part).get("type") == "image":
            blocks.append(image(part, pool))
            continue
        text = part if isinstance(part, str) else as_text(as_dict(part).get("text"))
        body = text if text is not None else json.dumps(part, ensure_ascii=False)
        is_synthetic = body.startswith(SYNTHETIC)
        blocks.append(
            Block(
                "tool_result", pool.put(body), name, call, is_error=is_error or is_synthetic, is_synthetic=is_synthetic
            )
        )
    return tuple(blocks)


def shell_text(message: Json) -> str:
    """What the model is given of a command the user ran in the client (pi's wording)."""
    text = f"Ran `{as_text(message.get('command')) or ''}`\n"
    output = as_text(message.get("output"))
    text += f"```\n{output}\n```" if output else "(no output)"
    code = as_int(message.get("exitCode"))
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif code:
        text += f"\n\nCommand exited with code {code}"
    where = as_id(message.get("fullOutputPath"))
    if message.get("truncated") is True and where:
        text += f"\n\n[Output truncated. Full output: {where}]"
    return text


def is_human(message: Json, content: Any) -> bool:
    """Whether a user message was typed by a person: no announce, heartbeat, notice or scheduled run."""
    if "provenance" in message or message.get("runtimeContextCarrier"):
        return False
    first = next((part for part in parts_of(content)), "")
    text = first if isinstance(first, str) else as_text(as_dict(first).get("text")) or ""
    return _MACHINE.match(text) is None
