"""From a replay's messages to rows as the plugin's store has them (7.3)."""

from __future__ import annotations

import math
from typing import Any

from contextviz.engines.lossless.items import Row
from contextviz.engines.lossless.tokens import OPAQUE_LEAST, OPAQUE_TOKENS
from contextviz.engines.material import Piece, ReplayMessage
from contextviz.events.javascript import parse, stringify
from contextviz.tokens.estimators import cp_weighted

_BASE64_OF_BYTE = 4 / 3


def row_of(message: ReplayMessage) -> Row:
    """A message as the store takes it in: its token_count is that of its rendered content, as a host's messages with
    blocks are counted (samples of 1.0.0-beta.4)."""
    blocks = tuple(_block(piece) for piece in message.pieces)
    ids = [piece.tool_call_id for piece in message.pieces if piece.tool_call_id]
    texts = [piece.text for piece in message.pieces if piece.kind not in ("tool_call", "thinking") and piece.text]
    media = sum(_base64(piece) for piece in message.pieces)
    row = Row(
        message.seq, _role(message), "\n".join(texts), at=message.at, blocks=blocks or None,
        calls=tuple(ids) if message.role == "assistant" else (), results=tuple(ids) if message.role == "tool" else (),
        tool_name=message.tool_name, extra=math.ceil(media / 4),
    )  # fmt: skip
    row.tokens = row.rendered_tokens()
    return row


def serialized_size(row: Row, message: ReplayMessage) -> int:
    """Tokens of its JSON; media cost what their base64 does, at most a fixed price each."""
    content = row.rendered_content()
    text = stringify({"role": row.runtime_role, "content": content})
    if row.runtime_role == "toolResult":
        names = {"toolCallId": row.results[0], "toolName": row.tool_name or "unknown"}
        text = f"{text[:-1]},{stringify(names)[1:]}"
    media = [_base64(piece) for piece in message.pieces]
    priced = sum(OPAQUE_TOKENS if size >= OPAQUE_LEAST else math.ceil(size / 4) for size in media if size)
    return cp_weighted(text) + priced


def _role(message: ReplayMessage) -> str:
    return "system" if message.role == "developer" else message.role


def _base64(piece: Piece) -> int:
    return math.ceil((piece.media_bytes or 0) * _BASE64_OF_BYTE)


def _block(piece: Piece) -> dict[str, Any]:
    if piece.kind == "thinking":
        return {"type": "thinking", "thinking": piece.text}
    if piece.kind == "image":
        return {"type": "image", "data": "", "mimeType": ""}
    if piece.kind != "tool_call":
        return {"type": "text", "text": piece.text}
    call: dict[str, Any] = {"type": "toolCall", "id": piece.tool_call_id or f"toolu_lcm_{piece.index}"}
    try:
        found = parse(piece.text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        call["name"] = found.get("name") or piece.tool_name or "unknown"
        call["arguments"] = found.get("arguments")
    else:
        call |= {"name": piece.tool_name or "unknown", "arguments": piece.text}
    return call
