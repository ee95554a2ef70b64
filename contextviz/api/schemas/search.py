"""Hits of a search."""

from __future__ import annotations

from datetime import datetime

from ninja import Schema

from contextviz.api.shapes import Name, Words
from contextviz.store.search import Hit


class SearchHit(Schema):
    """One place where the words stand. `call` is the number of the call it belongs to, `place` a compaction's number
    or an item's position, by `kind`. `excerpt` has secrets masked and is cut."""

    session: int
    kind: str
    role: Name
    tool: Name
    agent: Name
    at: datetime | None
    message_index: int | None
    call: int | None
    place: int | None
    in_window: bool | None
    excerpt: Words


def search_hit_of(hit: Hit, excerpt: str) -> SearchHit:
    """A hit with its excerpt."""
    return SearchHit(
        session=hit.session_id,
        kind=hit.kind,
        role=hit.role,
        tool=hit.tool,
        agent=hit.agent,
        at=hit.at,
        message_index=hit.message_index,
        call=None if hit.call_index is None else hit.call_index + 1,
        place=hit.place,
        in_window=hit.is_in_window,
        excerpt=excerpt,
    )
