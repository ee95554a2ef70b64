"""Agents' texts as pages show them: escaped, secrets masked, bounded in bytes, and saying where they were cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from contextviz.events.masking import MARGIN_CHARS, safe_cut, without_secrets
from contextviz.web.templatetags.masked import MARK, masked

LEVELS = (2000, 1200, 800, 500, 320, 200, 120)


@dataclass(frozen=True, slots=True)
class Shown:
    """A text, or its beginning, ready for a page."""

    # Escaped, with words in place of secrets
    html: SafeString
    # Whether there is more than `html` holds
    is_cut: bool
    # Characters shown, and in the whole text
    shown_chars: int
    chars: int
    # Where the whole text is, "" where it is all here
    url: str = ""
    # Where its masked values are asked for, "" where none is masked
    unmask: str = ""


NOTHING = Shown(SafeString(""), False, 0, 0)


def shown(
    text: str, *, chars: int, limit: int, most_bytes: int, url: str = "", unmask: str = "",
    render: Callable[[str], SafeString] = masked,
) -> Shown:  # fmt: skip
    """At most `limit` characters of `text` and `most_bytes` bytes of HTML; `chars` is the whole text's length, `unmask`
    where its masked values are asked for. `render` makes the HTML, and masks."""
    if limit <= 0 or most_bytes <= 0:
        return Shown(SafeString(""), chars > 0, 0, chars, url)
    part = safe_cut(text, limit)
    html = render(part)
    size = len(html.encode())
    while size > most_bytes and part:
        part = safe_cut(text, int(len(part) * most_bytes / size * 0.95))
        html = render(part)
        size = len(html.encode())
    is_cut = len(part) < chars
    return Shown(html, is_cut, len(part), chars, url if is_cut else "", unmask if MARK in html else "")


def quiet(text: str) -> str:
    """The text with words in place of each secret: for lines too short for a disclosure."""
    return without_secrets(text)


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


def both_ends(data: bytes, size: int = 2000) -> str:
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
