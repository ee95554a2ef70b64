"""Secrets that are split over neighbouring texts: the blocks of a message, messages that follow each other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextviz.analysis.disclosure.finding import Finding, find, text_key
from contextviz.analysis.disclosure.signs import is_mixed

REACH_CHARS = 300  # of each side; longer values are recognised by their beginning
_OPEN_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END_KEY = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(
    r"\s{0,8}[A-Za-z0-9+/=]{16,120}(?:\s{1,4}[A-Za-z0-9+/=]{1,120}){0,400}\s{0,8}"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?\s{0,8}"
)
_WORD = re.compile(r"[A-Za-z]?[a-z]*")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a split secret: characters `start` up to `end` of the text with this key."""

    key: str
    where: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Split:
    """One secret over several texts, in order."""

    kind: str
    reason: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Held:
    key: str
    where: str
    text: str
    # Where `text` begins in the whole text
    offset: int


class Neighbours:
    """Texts in the order of the session; holds the end of what came last."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        self._open_key = False

    def add(self, text: str, where: str) -> list[Split]:
        """The secrets that this text completes or continues. Costs its first characters, however long it is."""
        key = text_key(text)
        found = self._continued_key(text, key, where)
        if self._held and not found:
            found = self._crossing(text[:REACH_CHARS], key, where)
        self._hold(text, key, where)
        return found

    def _hold(self, text: str, key: str, where: str) -> None:
        kept = text[-REACH_CHARS:]
        self._held.append(_Held(key, where, kept, len(text) - len(kept)))
        while len(self._held) > 1 and sum(len(one.text) for one in self._held[1:]) >= REACH_CHARS:
            del self._held[0]
        if "PRIVATE KEY" in text:
            begins = [match.start() for match in _OPEN_KEY.finditer(text)]
            ends = [match.start() for match in _END_KEY.finditer(text)]
            self._open_key = bool(begins) and (not ends or ends[-1] < begins[-1])
        elif self._open_key:
            self._open_key = _KEY_BODY.fullmatch(text) is not None

    def _continued_key(self, text: str, key: str, where: str) -> list[Split]:
        body = _KEY_BODY.match(text) if self._open_key else None
        if body is None:
            return []
        start = len(text) - len(text.lstrip())
        return [Split("private_key", "split over blocks", (Part(key, where, start, len(body[0].rstrip())),))]

    def _crossing(self, head: str, key: str, where: str) -> list[Split]:
        segments = []
        for held in [*self._held, _Held(key, where, head, 0)]:
            # Blanks at the edges are the transport's, not the secret's.
            bare = held.text.strip()
            if bare:
                lead = len(held.text) - len(held.text.lstrip())
                segments.append(_Held(held.key, held.where, bare, held.offset + lead))
        if len(segments) < 2 or segments[-1].key != key or segments[-1].where != where:
            return []
        joined = "".join(held.text for held in segments)
        position = len(joined) - len(segments[-1].text)
        known = find(joined[:position]), find(joined[position:])
        result = []
        for one in find(joined):
            if one.end <= position or _is_known(one, known, position, joined):
                continue
            result.append(Split(one.kind, "split over blocks", _parts(one, segments)))
        return result


def _is_known(one: Finding, known: tuple[list[Finding], list[Finding]], position: int, joined: str) -> bool:
    before, after = known
    value = joined[one.start : one.end]
    if one.start >= position:
        # Whole in the new text: only a key's name stands before. Two words that meet are no key and value.
        alone = any(other.start + position <= one.start and one.end <= other.end + position for other in after)
        return alone or (one.kind == "password" and not is_mixed(value))
    if one.kind == "password" and not is_mixed(value):
        return True
    # What is found without the new text goes on with a word: the next block simply begins there.
    first = joined[position : one.end].split(maxsplit=1)[0].rstrip(".,;:!?")
    return any(other.start <= one.start and other.end == position for other in before) and bool(_WORD.fullmatch(first))


def _parts(one: Finding, segments: list[_Held]) -> tuple[Part, ...]:
    parts, at = [], 0
    for segment in segments:
        start, end = max(one.start - at, 0), min(one.end - at, len(segment.text))
        if start < end:
            parts.append(Part(segment.key, segment.where, segment.offset + start, segment.offset + end))
        at += len(segment.text)
    return tuple(parts)
