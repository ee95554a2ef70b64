"""What Cortext takes as the text of a message (engines document, section 4.2)."""

from __future__ import annotations

from typing import Any

from contextviz.engines.material import Piece, ReplayMessage
from contextviz.events.javascript import length16, parse, slice16, stringify

MOST_ARGUMENTS = 2000  # UTF-16 units of a tool call's arguments
_WITHOUT_TEXT = ("thinking", "image")


def message_text(content: Any) -> str:
    """The text of a message's `content` as the host stores it: a string, or the texts of its parts with a blank between
    them. Images, thinking and whatever else is no text contribute nothing; wrong types count as nothing."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return " ".join(text for part in content if (text := _part_text(part)))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    name = part.get("name")
    if part.get("type") == "toolCall" and isinstance(name, str) and name:
        return call_text(name, part.get("arguments"))
    return ""


def call_text(name: str, arguments: Any) -> str:
    """A tool call as it is remembered: its name, and its arguments as JSON up to 2,000 units."""
    if arguments is None:
        return f"[tool call] {name}"
    written = stringify(arguments)
    cut = f"{slice16(written, 0, MOST_ARGUMENTS)}…" if length16(written) > MOST_ARGUMENTS else written
    return f"[tool call] {name} {cut}"


def replay_text(message: ReplayMessage) -> str:
    """The same of a replayed message."""
    pieces = message.pieces
    if len(pieces) == 1 and pieces[0].kind not in ("tool_call", *_WITHOUT_TEXT):
        return pieces[0].text
    return " ".join(text for piece in pieces if (text := _piece_text(piece)))


def _piece_text(piece: Piece) -> str:
    if piece.kind in _WITHOUT_TEXT:
        return ""
    if piece.kind != "tool_call":
        return piece.text
    try:
        call = parse(piece.text)
    except ValueError:
        call = None
    arguments = call.get("arguments") if isinstance(call, dict) else piece.text or None
    name = piece.tool_name or (call.get("name") if isinstance(call, dict) else None)
    return call_text(name, arguments) if isinstance(name, str) and name else ""
