"""Searching texts: what words are, what a person asks for, and where it stands in a text. Pure; the indexes are the
store's."""

from __future__ import annotations

from contextviz.events.search.excerpt import Excerpt, Part, excerpt, pattern_of
from contextviz.events.search.query import SearchQuery, Term, parse_query
from contextviz.events.search.terms import plain, search_terms, spaced

__all__ = [
    "Excerpt",
    "Part",
    "SearchQuery",
    "Term",
    "excerpt",
    "parse_query",
    "pattern_of",
    "plain",
    "search_terms",
    "spaced",
]
