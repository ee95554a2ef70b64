"""Search over messages, tool calls, results, summaries and originals."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx, Router

from contextviz.api import cursors
from contextviz.api.params import BIGGEST, NO_NUL, USUAL_ITEMS, Cursor, Limit, Words, operation
from contextviz.api.replies import page
from contextviz.api.schemas.search import SearchHit, search_hit_of
from contextviz.api.shapes import PageOf
from contextviz.events.search import excerpt, parse_query, pattern_of
from contextviz.store.search import Hit, SearchFilter, search, texts_of

router = Router(tags=["search"])
SCAN_CHARS = 20_000
Query = QueryEx[
    str, P(min_length=1, max_length=1_000, pattern=NO_NUL, description='Words, "a phrase", -not, begin*, OR')
]
Session = QueryEx[int | None, P(ge=1, le=BIGGEST, description="Only in this session")]
InWindow = QueryEx[
    Literal["in", "out"] | None, P(description="Whether the text was still in the window at the session's end")
]


@router.get("/search", **operation("read", reply=PageOf[SearchHit], errors=(422,)))
def search_texts(
    request: HttpRequest,
    q: Query,
    session: Session = None,
    agent: Words = "",
    format: Words = "",
    role: Words = "",
    tool: Words = "",
    kind: Words = "",
    window: InWindow = None,
    limit: Limit = USUAL_ITEMS,
    cursor: Cursor = None,
) -> HttpResponse:
    """Where the words stand, the newest first, at most the first 1,000 places. Any text is a valid query."""
    query = parse_query(q)
    chosen = SearchFilter(
        agent=agent,
        format=format,
        role=role,
        tool=tool,
        kinds=(kind,) if kind else (),
        in_window=None if window is None else window == "in",
        session_id=session,
    )
    start = cursors.read_index("search", cursor)
    found = list(enumerate(search(query, chosen).hits))[start : start + limit + 1]
    texts = texts_of([hit for _, hit in found])
    pattern = pattern_of(query)

    def build(numbered: tuple[int, Hit]) -> SearchHit:
        held = texts.get(numbered[1].text_id)
        cut = excerpt(held.text, pattern, scan=SCAN_CHARS) if held is not None else None
        return search_hit_of(numbered[1], "".join(part.text for part in cut.parts) if cut else "")

    return page(found, limit=limit, build=build, cursor=lambda numbered: cursors.write("search", numbered[0]))
