"""What a person types into a search field, as terms that no index can misunderstand.

word, "a phrase", -word or -"a phrase" to leave out, begin* for beginnings, OR (or |) between two. All groups must be
there. Whatever else is typed, quotes and brackets and operators of the databases, only stands between words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from contextviz.events.search.terms import CJK, asked_terms

MOST_CHARS = 500
MOST_TERMS = 24
MOST_WORDS = 60  # of all terms together
SHORTEST_BEGINNING = 2
_PART = re.compile(r'(?P<minus>-)?(?:"(?P<phrase>[^"]*)(?P<end>"|$)(?P<star>\*)?|(?P<word>[^\s"]+))')


@dataclass(frozen=True, slots=True)
class Term:
    """Neighbouring words in small letters. `is_beginning`: the last of them may go on."""

    words: tuple[str, ...]
    is_beginning: bool = False
    # As it was typed
    text: str = ""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is looked for: of every group one term at least, and none of `excluded`.

    `notices` are sentences on what was not understood. Without groups there is nothing to look for.
    """

    groups: tuple[tuple[Term, ...], ...] = ()
    excluded: tuple[Term, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is looked for."""
        return tuple(term for group in self.groups for term in group)


def parse_query(text: str) -> SearchQuery:
    """Understand what was typed; never raises."""
    notices: list[str] = []
    if len(text) > MOST_CHARS:
        notices.append(f"Only the first {MOST_CHARS} characters were looked at.")
        text = text[:MOST_CHARS]
    groups: list[list[Term]] = []
    excluded: list[Term] = []
    joins = False  # the next term is another choice of the last group
    words = 0
    for part in _PART.finditer(text):
        if part["word"] in ("OR", "|", "||"):
            joins = bool(groups)
            continue
        if part["word"] in ("AND", "&", "&&", "-"):
            continue
        term = _term(part, notices)
        if term is None:
            continue
        words += len(term.words)
        if len(excluded) + sum(map(len, groups)) >= MOST_TERMS or words > MOST_WORDS:
            notices.append(f"Only the first {MOST_TERMS} terms ({MOST_WORDS} words) were looked for.")
            break
        if part["minus"]:
            excluded.append(term)
        elif joins:
            groups[-1].append(term)
        else:
            groups.append([term])
        joins = joins and bool(part["minus"])
    if excluded and not groups:
        notices.append("Add a word to look for: leaving words out alone would list everything else.")
    return SearchQuery(tuple(tuple(group) for group in groups), tuple(excluded), tuple(dict.fromkeys(notices)))


def _term(part: re.Match[str], notices: list[str]) -> Term | None:
    quoted = part["phrase"] is not None
    text = part["phrase"] if quoted else part["word"]
    if quoted and not part["end"]:
        notices.append("A quotation mark is not closed; all that follows it was taken as one phrase.")
    starred = bool(part["star"]) if quoted else text.endswith("*")
    found, is_beginning = asked_terms(text.rstrip("*"))
    if not found:
        if text.strip():
            notices.append(f"“{text.strip()[:40]}” holds no letter or digit, so it was left out.")
        return None
    if starred and not is_beginning:
        if len(found[-1]) < SHORTEST_BEGINNING and not CJK.match(found[-1]):
            notices.append(f"“{text[:40]}” is too short for a beginning; it was looked for as a word.")
        else:
            is_beginning = True
    return Term(found, is_beginning, text.strip())
