"""flowctx's clips: of a line, of a JSON text; both name how much is left out and a hash of the whole (section 3.4)."""

from __future__ import annotations

import hashlib
import math
import re

from contextviz.engines.flowctx.detection import is_json
from contextviz.events.javascript import SPACE, length16, slice16, trim
from contextviz.events.text import sanitised

_STRING_OR_SPACE = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[' + SPACE + "]+", re.DOTALL)


def digest(text: str, length: int) -> str:
    """The first `length` hex digits of the SHA-256 of the UTF-8 bytes, half a pair as U+FFFD (as Node encodes it)."""
    return hashlib.sha256(sanitised(text)[0].encode()).hexdigest()[:length]


def clip_line(text: str, most: int) -> str:
    """A long line as head (55 %) and tail around what says how much is gone; the result is longer than `most`."""
    length = length16(text)
    if length <= most:
        return text
    head = max(20, math.floor(most * 0.55))
    tail = max(20, most - head)
    gone = f"...[{length - most} chars omitted, sha256:{digest(text, 12)}]..."
    return f"{slice16(text, 0, head)} {gone} {slice16(text, -tail)}"


def clip_json(text: str, most: int) -> str:
    """A text as head (70 %) and tail, exactly `most` units long with what says how much is gone."""
    length = length16(text)
    if length <= most:
        return text
    gone = f"...[{length - most} chars omitted, sha256:{digest(text, 12)}]..."
    if most <= len(gone):
        return gone[:most]
    body = most - len(gone)
    head = math.ceil(body * 0.7)
    tail = body - head
    return slice16(text, 0, head) + gone + (slice16(text, -tail) if tail > 0 else "")


def minify_json(text: str) -> str:
    """Without the white space that stands outside strings; strings stay as they are."""
    return _STRING_OR_SPACE.sub(lambda found: found[0] if found[0][0] == '"' else "", trim(text))


def compact_json(text: str, most: int) -> str | None:
    """A whole JSON object or array without white space, clipped to `most` units; None where it is none."""
    bare = trim(text)
    if bare[:1] not in ("{", "[") or not is_json(bare):
        return None
    return clip_json(minify_json(text), most)
