"""Agents' texts as pages show them: escaped, secrets masked, bounded in bytes, and saying where they were cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from contextviz.events.secrets import find_secrets
from contextviz.web.templatetags.masked import masked

MARGIN_CHARS = 4096  # read beyond the cut, so that a secret across it is still recognised
MASK = "•••"
LEVELS = (2000, 1200, 800, 500, 320, 200, 120)


@dataclass(frozen=True, slots=True)
class Shown:
    """A text, or its beginning, ready for a page."""

    # Escaped, with secrets behind disclosures
    html: SafeString
    # Whether there is more than `html` holds
    is_cut: bool
    # Characters shown, and in the whole text
    shown_chars: int
    chars: int
    # Where the whole text is, "" where it is all here
    url: str = ""


NOTHING = Shown(SafeString(""), False, 0, 0)


def shown(text: str, *, chars: int, limit: int, most_bytes: int, url: str = "") -> Shown:
    """At most `limit` characters of `text` and `most_bytes` bytes of HTML; `chars` is the whole text's length."""
    if limit <= 0 or most_bytes <= 0:
        return Shown(SafeString(""), chars > 0, 0, chars, url)
    part = safe_cut(text, limit)
    html = masked(part)
    size = len(html.encode())
    while size > most_bytes and part:
        part = safe_cut(text, int(len(part) * most_bytes / size * 0.95))
        html = masked(part)
        size = len(html.encode())
    is_cut = len(part) < chars
    return Shown(html, is_cut, len(part), chars, url if is_cut else "")


def safe_cut(text: str, limit: int) -> str:
    """The first `limit` characters, fewer where a secret would be cut in half."""
    if len(text) <= limit:
        return text
    # Half a secret would no longer look like one.
    for secret in find_secrets(text[: limit + MARGIN_CHARS]):
        if secret.start < limit < secret.end:
            return text[: secret.start]
    return text[:limit]


def quiet(text: str) -> str:
    """The text with a dot row for each secret: for lines too short for a disclosure."""
    parts, position = [], 0
    for secret in find_secrets(text):
        parts.append(text[position : secret.start] + MASK)
        position = secret.end
    return "".join([*parts, text[position:]])


def level_for(sizes: Iterable[tuple[int, int]], most_chars: int) -> int:
    """The largest of LEVELS at which the beginnings of all texts together stay below `most_chars`; each text is given
    as its length and the most of it that is ever shown."""
    known = list(sizes)
    for level in LEVELS:
        if sum(min(size, cap, level) for size, cap in known) <= most_chars:
            return level
    return LEVELS[-1]


def beginning(data: bytes, chars: int) -> str:
    """The first `chars` characters of a text's bytes, and the margin that `shown` wants."""
    wanted = chars + MARGIN_CHARS
    return data[: wanted * 4].decode("utf-8", errors="ignore")[:wanted]


def both_ends(data: bytes, size: int = 8000) -> str:
    """The text, or its beginning and end: where results say how they ended."""
    if len(data) <= 2 * size:
        return data.decode("utf-8", errors="ignore")
    return data[:size].decode("utf-8", errors="ignore") + "\n" + data[-size:].decode("utf-8", errors="ignore")


def line_count(data: bytes) -> int:
    """How many lines a text has."""
    return 0 if not data else data.count(b"\n") + (not data.endswith(b"\n"))


def joined(parts: Sequence[str]) -> str:
    """The parts that say something, with middle dots."""
    return " · ".join(part for part in parts if part)
