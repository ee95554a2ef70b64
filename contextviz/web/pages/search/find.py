"""Find within one session: over all of its messages, whichever of them are on the page."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.events.search import parse_query
from contextviz.store.search import find_in_session
from contextviz.web.pages.session.place import Place, parse

MOST_CHARS = 500


@dataclass(frozen=True, slots=True)
class Found:
    """What was found. `number` is the chosen hit's place among `messages`, from 1; 0 without any."""

    # The words
    q: str
    # Message indexes in order, and whether there are more
    messages: tuple[int, ...]
    is_more: bool
    number: int
    # The transcript at the chosen hit
    url: str
    # What was not understood, and the outcome in words
    notices: tuple[str, ...]
    text: str

    def as_json(self) -> dict[str, Any]:
        """What cv-find reads."""
        return {
            "q": self.q, "messages": list(self.messages), "more": self.is_more, "number": self.number, "url": self.url,
            "notices": list(self.notices), "text": self.text,
        }  # fmt: skip


def find_page(session_id: int, given: Mapping[str, str]) -> Found:
    """Look for `q`. `from` is the message to go on from (not counted), `step` is next (default) or previous; both go
    round at the ends."""
    place = parse(session_id, given)
    q = given.get("q", "").replace("\x00", " ").strip()[: MOST_CHARS + 1]
    query = parse_query(q)
    indexes, is_more = find_in_session(session_id, query, place.agent)
    text = given.get("from", "")
    here = int(text) if text.isdecimal() and len(text) < 16 else None
    at = _chosen(indexes, here, backwards=given.get("step") == "previous")
    number = at + 1 if indexes else 0
    return Found(
        q=q,
        messages=tuple(indexes),
        is_more=is_more,
        number=number,
        url=_url(place, q, indexes[at] if indexes else None),
        notices=query.notices,
        text=_text(number, len(indexes), is_more, has_words=bool(query.groups)),
    )


def _chosen(indexes: list[int], here: int | None, *, backwards: bool) -> int:
    if not indexes:
        return 0
    if backwards:
        return ((bisect_left(indexes, here) if here is not None else 0) - 1) % len(indexes)
    return (bisect_right(indexes, here) if here is not None else 0) % len(indexes)


def _url(place: Place, q: str, message: int | None) -> str:
    bare = replace(place, after=None, before=None, call=None, message=message, pane="transcript")
    query = bare.query | ({"find": q} if q else {})
    anchor = f"#m-{message}" if message is not None else ""
    return f"{reverse('session', args=[place.session_id])}?{urlencode(query)}{anchor}"


def _text(number: int, count: int, is_more: bool, *, has_words: bool) -> str:
    if not has_words:
        return ""
    return f"{number:,} of {count:,}{'+' if is_more else ''}" if count else "not in this window"
