"""What each message counts by every estimator there is: the same text has several sizes (engines document, 0.2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contextviz.cli.replay.asked import Unusable
from contextviz.engines.material import ReplayMessage
from contextviz.events.javascript import length16
from contextviz.events.text import storable
from contextviz.tokens.estimators import ESTIMATORS

MOST_BYTES = 64 * 1024 * 1024
Json = dict[str, object]


def counts_of(text: str) -> dict[str, int]:
    """Tokens of a text by each estimator's id."""
    good = storable(text)[0]
    return {id: count(good) for id, count in ESTIMATORS.items()}


def of_messages(messages: Iterable[ReplayMessage]) -> Json:
    """By entry id (`#seq` where a message has none, `id#seq` where another has the same): characters in UTF-16 units
    and tokens, of each block and of all of them together."""
    found: Json = {}
    for message in messages:
        name = message.id or f"#{message.seq}"
        blocks = [
            {"kind": piece.kind, "chars": length16(piece.text), "tokens": counts_of(piece.text)}
            for piece in message.pieces
        ]
        found[f"{name}#{message.seq}" if name in found else name] = _entry(message.role, message.seq, blocks)
    return found


def _entry(role: str | None, seq: int | None, blocks: list[Any]) -> Json:
    tokens = {id: sum(block["tokens"][id] for block in blocks) for id in ESTIMATORS}
    return {
        "seq": seq,
        "role": role,
        "chars": sum(block["chars"] for block in blocks),
        "tokens": tokens,
        "blocks": blocks,
    }


def of_texts(texts: Mapping[str, str]) -> Json:
    """The same for named texts, each a message of one block and of no role."""
    return {
        name: _entry(None, None, [{"kind": "text", "chars": length16(text), "tokens": counts_of(text)}])
        for name, text in texts.items()
    }


def named_texts(path: Path) -> dict[str, str] | None:
    """The texts of a file of them, None where it is none: a JSON object of texts by name, or a list of objects that
    have `id` and `text`. Raises Unusable for a file that is too large, or names two texts alike."""
    if not path.is_file() or path.suffix.lower() != ".json":
        return None
    if path.stat().st_size > MOST_BYTES:
        raise Unusable(f"{path} is larger than the {MOST_BYTES // 1024 // 1024} MB that a file of texts may have.")
    try:
        read = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if isinstance(read, dict):
        return read if read and all(isinstance(text, str) for text in read.values()) else None
    if not isinstance(read, list) or not read or not all(_is_named(one) for one in read):
        return None
    found = {one["id"]: one["text"] for one in read}
    if len(found) < len(read):
        raise Unusable(f"two texts in {path} have the same id.")
    return found


def _is_named(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("id"), str) and isinstance(one.get("text"), str)
