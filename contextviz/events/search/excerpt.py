"""Where the words that were looked for stand in a text, with a little around them; secrets are masked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextviz.events.masking.secrets import Secret, find_secrets
from contextviz.events.search.query import SearchQuery, Term
from contextviz.events.search.terms import CJK, plain

LEAD_CHARS = 70
EXCERPT_CHARS = 260
# A secret is recognised by how it begins: private keys are the longest of them.
BEFORE_CHARS = 24_000
AFTER_CHARS = 8_000
_GAP = r"[\W_]{1,40}"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an excerpt; `is_hit` where it is what was looked for."""

    text: str
    is_hit: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a text. Not cut where it begins or ends with the text; `has_hit` where something is marked."""

    parts: tuple[Part, ...]
    is_cut_before: bool
    is_cut_after: bool
    has_hit: bool


def pattern_of(query: SearchQuery) -> re.Pattern[str] | None:
    """What finds the query's terms in a text; None where it looks for nothing."""
    choices = sorted({_source(term) for term in query.terms}, key=len, reverse=True)
    return re.compile("|".join(choices), re.IGNORECASE) if choices else None


def _source(term: Term) -> str:
    pieces: list[str] = []
    for at, word in enumerate(term.words):
        if at and _continues(term.words[at - 1], word):
            pieces.append(re.escape(word[1:]))  # the next pair of a run adds one character
        else:
            before = "" if CJK.match(word) else r"(?<![^\W_])"
            pieces.append(
                (_GAP if at and not _touches(term.words[at - 1], word) else r"[\W_]{0,40}" if at else "")
                + before
                + re.escape(word)
            )
    after = "" if term.is_beginning or CJK.fullmatch(term.words[-1]) else r"(?![^\W_])"
    return "".join(pieces) + after


def _continues(before: str, word: str) -> bool:
    return bool(CJK.fullmatch(before) and CJK.fullmatch(word)) and len(before) == 2 and before[1] == word[0]


def _touches(before: str, word: str) -> bool:
    return bool(CJK.fullmatch(before)) != bool(CJK.fullmatch(word))


def excerpt(text: str, pattern: re.Pattern[str] | None, *, scan: int = 400_000) -> Excerpt:
    """What stands around the first hit among the first `scan` characters, or the text's beginning.

    At most about 260 characters, white space as single spaces. A secret is named and not shown, whatever was asked.
    """
    whole = plain(text[:scan])
    first = pattern.search(whole) if pattern else None
    start = _word_start(whole, max(0, first.start() - LEAD_CHARS)) if first else 0
    end = min(len(whole), start + EXCERPT_CHARS)
    secrets = _secrets(whole, start, end)
    marks = [one.span() for one in pattern.finditer(whole, start, end)] if pattern and first else []
    parts = tuple(_parts(whole, start, end, secrets, marks))
    return Excerpt(parts, start > 0, end < len(whole) or len(text) > scan, any(part.is_hit for part in parts))


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 25) if at else -1
    return space + 1 if space >= 0 else at


def _secrets(text: str, start: int, end: int) -> list[Secret]:
    base = max(0, start - BEFORE_CHARS)
    zone = text[base : end + AFTER_CHARS]
    found = (Secret(one.kind, one.start + base, one.end + base) for one in find_secrets(zone))
    return [one for one in found if one.end > start and one.start < end]


def _parts(text: str, start: int, end: int, secrets: list[Secret], marks: list[tuple[int, int]]) -> list[Part]:
    spans = [(one.start, one.end, Part(f"[{one.kind.replace('_', ' ')} masked]")) for one in secrets]
    for left, right in marks:
        if left < right and not any(one.start < right and left < one.end for one in secrets):
            spans.append((left, right, Part(_flat(text[left:right]), is_hit=True)))
    parts: list[Part] = []
    at = start
    for left, right, part in sorted(spans, key=lambda one: one[:2]):
        if left > at:
            parts.append(Part(_flat(text[at:left])))
        parts.append(part)
        at = max(at, right)
    if at < end:
        parts.append(Part(_flat(text[at:end])))
    return parts


def _flat(text: str) -> str:
    return _SPACE.sub(" ", text)
