"""What lossless-claw counts with: `cp-weighted` over texts, `cp-serialized` over messages (engines document, 0.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from contextviz.events.javascript import length16, slice16, stringify
from contextviz.tokens.estimators import cp_weighted

OPAQUE_TOKENS = 1_600
OPAQUE_LEAST = 4_096  # UTF-16 units
_OPAQUE_KEYS = frozenset({"data", "image", "imageData", "image_data", "base64", "bytes", "source"})
_OPAQUE_TEXT = "[opaque binary payload]"
_BASE64_HEAD = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=\r\n]+\Z")


def truncated(text: str, most: int) -> str:
    """The longest beginning of whole code points that costs at most `most` tokens by `cp-weighted`."""
    if most <= 0 or not text:
        return ""
    if text.isascii():
        return text[: 4 * most]
    if cp_weighted(text) <= most:
        return text
    # The cost never falls with length, so the longest fitting beginning is found by halving.
    low, high = 0, min(len(text), 4 * most)
    while low < high:
        middle = (low + high + 1) // 2
        if cp_weighted(text[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def serialized(message: Mapping[str, Any]) -> int:
    """Tokens of a message by `cp-serialized`: its JSON, where each long binary string costs a fixed 1,600."""
    plain, opaque = _without_opaque("", dict(message))
    return cp_weighted(stringify(plain)) + OPAQUE_TOKENS * opaque


def serialized_all(messages: list[Mapping[str, Any]]) -> int:
    """The sum over a list of messages."""
    return sum(map(serialized, messages))


def _without_opaque(key: str, value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return (_OPAQUE_TEXT, 1) if _is_opaque(key, value) else (value, 0)
    if isinstance(value, dict):
        pairs = {name: _without_opaque(name, inner) for name, inner in value.items()}
        return {name: inner for name, (inner, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, list | tuple):
        # An array's entries are named by their positions, so none of the keys is theirs.
        entries = [_without_opaque(str(at), inner) for at, inner in enumerate(value)]
        return [inner for inner, _ in entries], sum(count for _, count in entries)
    return value, 0


def _is_opaque(key: str, value: str) -> bool:
    if len(value) < OPAQUE_LEAST and length16(value) < OPAQUE_LEAST:
        return False
    if value.startswith("data:"):
        return True
    return key in _OPAQUE_KEYS and _BASE64_HEAD.match(slice16(value, 0, 512)) is not None
