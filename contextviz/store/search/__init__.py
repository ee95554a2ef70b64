"""Full-text search over texts, each indexed once however often it occurs.

SQLite has an FTS5 table without content (the texts lie in packs), PostgreSQL a row of lexemes a text with a GIN index.
What is a word, and what a query means, is `events.search` on both. PlaceRecord leads from a text to where it stands.

A change to `events.search.terms` needs a migration that empties the index and sets every pack's `is_indexed` to false
(`empty`): FTS5 removes a text by being told once more what was indexed for it.
"""

from __future__ import annotations

from contextviz.store.search.index import Progress, drop_texts, empty, index_packs, last_pack, waiting
from contextviz.store.search.match import Hit, Hits, SearchFilter, find_in_session, search
from contextviz.store.search.parts import TextPart, digests_of, node_names, texts_of

__all__ = [
    "Hit",
    "Hits",
    "Progress",
    "SearchFilter",
    "TextPart",
    "digests_of",
    "drop_texts",
    "empty",
    "find_in_session",
    "index_packs",
    "last_pack",
    "node_names",
    "search",
    "texts_of",
    "waiting",
]
