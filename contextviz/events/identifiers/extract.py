"""The extraction of identifiers from a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextviz.events.identifiers.canonical import canonical
from contextviz.events.identifiers.kept import Kept
from contextviz.events.identifiers.kinds import IdentifierKind
from contextviz.events.identifiers.lines import find_lines, find_quotes, find_sentences
from contextviz.events.identifiers.words import Span, find_numbers, find_words
from contextviz.events.message import Role

GRAMMAR = "identifiers/1"
MAX_CHARS = 400_000
MAX_FOUND = 20_000
MOST_KEPT = 40_000  # identifiers and texts, some 10 MB; a boundary of a large window has 10,000


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier where it stands. `canonical` is the form that spellings are compared by."""

    kind: IdentifierKind
    text: str
    canonical: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """The identifiers of a text; `read_chars` is less than its length where the text was too long to read whole."""

    identifiers: list[Identifier]
    read_chars: int
    is_cut: bool


_KEPT: Kept[Extraction] = Kept(MOST_KEPT)


def extract(text: str, *, speaker: Role | None = None, root: str | None = None) -> list[Identifier]:
    """The identifiers of `text` in order (metrics.md section 1).

    Directives are looked for in the user's words only (and where `speaker` is not known), decisions not in
    tools' output. `root` is the session's folder, which paths are made relative to. Only the first MAX_CHARS
    characters are read: `read` says so.
    """
    return read(text, speaker=speaker, root=root).identifiers


def read(text: str, *, speaker: Role | None = None, root: str | None = None) -> Extraction:
    """`extract`, with whether the text was cut. What was found in the last texts is kept, and shared: alter nothing."""
    return _KEPT.get(text, (speaker, root), lambda: _read(text, speaker, root), lambda found: len(found.identifiers))


def _read(text: str, speaker: Role | None, root: str | None) -> Extraction:
    part = text[:MAX_CHARS]
    found: dict[Span, Identifier] = {}
    for span in _spans(part, speaker):
        kind, start, end = span
        form = canonical(kind, part[start:end], root=root)
        if form and span not in found:
            found[span] = Identifier(kind, part[start:end], form, start, end)
        if len(found) >= MAX_FOUND:
            break
    ordered = sorted(found.values(), key=lambda one: (one.start, -one.end))
    return Extraction(ordered, len(part), len(part) < len(text) or len(found) >= MAX_FOUND)


def _spans(text: str, speaker: Role | None) -> Iterator[Span]:
    lines = list(find_lines(text))
    yield from lines
    if speaker != "tool":
        yield from find_sentences(text, directives=speaker in (None, "user"))
    taken = list(find_words(text))
    yield from taken
    numbers = list(_free(find_numbers(text), [(start, end) for kind, start, end in taken if kind != "key"]))
    yield from numbers
    whole = {(start, end) for _, start, end in lines + numbers}
    for span in find_quotes(text):
        if span[1:] not in whole:
            yield span


def _free(spans: Iterator[Span], taken: list[tuple[int, int]]) -> Iterator[Span]:
    """Those of `spans` that touch none of `taken`; both are in order, so one pass serves."""
    at = 0
    for span in spans:
        while at < len(taken) and taken[at][1] <= span[1]:
            at += 1
        if at == len(taken) or taken[at][0] >= span[2]:
            yield span
