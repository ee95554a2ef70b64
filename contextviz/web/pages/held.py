"""Texts fetched at once for one page: analysis then asks for them one by one without a query each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contextviz.analysis.transcript import call_arguments, one_line, tool_line
from contextviz.events.masking import MARGIN_CHARS, safe_cut, without_secrets
from contextviz.events.text import TextRef
from contextviz.store.texts import OpenText, TextReader
from contextviz.store.values import SessionRow
from contextviz.tokens.estimate import ESTIMATOR

LINE_CHARS = 2_000


class PageReader(TextReader):
    """A reader that keeps no pack from one page to the next: what was deleted meanwhile must not be shown. Its
    beginnings end before a secret that the cut would halve, since half a secret does not look like one."""

    def beginnings(self, refs: Iterable[TextRef | bytes], *, chars: int) -> dict[bytes, OpenText]:
        """At most the first `chars` characters of texts, by digest."""
        found = super().beginnings(refs, chars=chars + MARGIN_CHARS)
        for digest, opened in found.items():
            if len(opened.text) > chars:
                found[digest] = OpenText(safe_cut(opened.text, chars), True)
        return found

    def _keep(self, number: int, data: bytes) -> None:
        return


READER = PageReader()


@dataclass(frozen=True, slots=True)
class HeldTexts:
    """A TextPool of texts that were fetched before; `is_cut` where some were left out for their size."""

    texts: dict[bytes, str]
    is_cut: bool
    estimator: str = ESTIMATOR

    def get(self, ref: TextRef) -> str:
        """The text behind `ref`; raises KeyError where it was not fetched or is not held."""
        return self.texts[ref.digest]

    def put(self, text: str) -> TextRef:
        """Pages keep nothing: raises TypeError."""
        raise TypeError("a page keeps no texts; use StoreTextPool")


def hold(refs: Iterable[TextRef], *, most_bytes: int) -> HeldTexts:
    """Fetch texts in the order given until `most_bytes` are reached. Two queries."""
    left = most_bytes
    wanted: set[bytes] = set()
    is_cut = False
    for ref in refs:
        if ref.digest in wanted:
            continue
        if ref.size > left:
            is_cut = True
            continue
        left -= ref.size
        wanted.add(ref.digest)
    return HeldTexts(READER.get_many(wanted), is_cut)


def first_lines(refs: Iterable[TextRef]) -> dict[bytes, str]:
    """One line for each text, a tool call's by its telling field; texts not held are left out. Two queries."""
    found = READER.beginnings([ref for ref in refs if ref.size], chars=LINE_CHARS)
    return {digest: line_of(opened.text) for digest, opened in found.items()}


def line_of(text: str) -> str:
    """A text in one line, secrets masked; a tool call's JSON as its name and telling field."""
    if text.startswith('{"name"'):
        name, arguments = call_arguments(text)
        if name is not None:
            return without_secrets(f"{name} {tool_line(name, arguments)}".strip())
    return without_secrets(one_line(text))


def title_of(row: SessionRow) -> str:
    """What a session is called on its pages; a title is often a prompt's first line, and may hold a secret."""
    return without_secrets(row.title or row.source_id)


def open_text(ref: TextRef, *, chars: int) -> tuple[str | None, bool]:
    """The first `chars` characters of a text and whether it is cut there; (None, False) where it is not held."""
    opened = READER.beginnings([ref], chars=chars).get(ref.digest)
    return (opened.text, opened.is_cut) if opened else (None, False)
