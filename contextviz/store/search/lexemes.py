"""A text as PostgreSQL's tsvector, and a query as its tsquery, written by us: its own parser cuts paths, numbers and
identifiers differently from FTS5, and folds no letters beyond ASCII in a database of locale C."""

from __future__ import annotations

from contextviz.events.search import SearchQuery, Term, search_terms

MOST_CHARS = 200_000
MOST_BYTES = 900_000  # a tsvector ends at a megabyte
LONGEST_WORD = 255  # characters; a lexeme ends at 2 KB
LAST_POSITION = 16_383
MOST_POSITIONS = 255


def lexemes(text: str) -> str:
    """The words of the first 200,000 characters with their positions, as a tsvector is written.

    Positions end at 16,383 and at 255 of one word (PostgreSQL's bounds): later ones are found, but not in phrases.
    """
    found: dict[str, list[int]] = {}
    size = 0
    for at, word in enumerate(search_terms(text[:MOST_CHARS]), start=1):
        positions = found.get(word)
        if positions is None:
            size += len(word.encode()) + 8
            if size > MOST_BYTES:
                break
            found[word] = positions = []
        if len(positions) < MOST_POSITIONS:
            positions.append(min(at, LAST_POSITION))
            size += 2
    return " ".join(f"{word[:LONGEST_WORD]}:{','.join(map(str, places))}" for word, places in found.items())


def tsquery(query: SearchQuery) -> str:
    """The query as a tsquery is written; words are letters and digits alone, so nothing needs quoting."""
    wanted = " & ".join(f"({' | '.join(map(_term, group))})" for group in query.groups)
    left_out = "".join(f" & !({_term(term)})" for term in query.excluded)
    return wanted + left_out


def _term(term: Term) -> str:
    words = [word[:LONGEST_WORD] for word in term.words]
    return " <-> ".join(words) + (":*" if term.is_beginning else "")
