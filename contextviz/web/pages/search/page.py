"""The search page as one object: words, filters with counts, hits, pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.urls import reverse

from contextviz.charts import words
from contextviz.events.masking import without_secrets
from contextviz.events.search import parse_query, pattern_of
from contextviz.sources.naming import program_and_format
from contextviz.store import search
from contextviz.store.search import Hit, Hits
from contextviz.web.pages.library.page import Choice, Filter
from contextviz.web.pages.search.hits import HitRow, hit_rows
from contextviz.web.pages.search.query import KINDS, PERIODS, ROLES, WINDOWS, SearchPlace

PAGE_HITS = 25
MOST_CHOICES = 40
_KIND_OF = {kind: key for key, (_, kinds) in KINDS.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Everything the search page shows."""

    query: SearchPlace
    # Sentences about what was not understood, or not looked at
    notices: tuple[str, ...]
    # What is still to be indexed, as a sentence; "" where the index is complete
    behind: str
    # Whether anything was looked for
    has_words: bool
    # "1,000+", and whether there is one hit alone
    count: str
    found: int
    filters: tuple[Filter, ...]
    rows: tuple[HitRow, ...]
    # Which hits these are, from 1
    first: int
    last: int
    # Neighbouring pages, "" at the ends
    previous: str
    next: str
    # The words without any filter
    everywhere: str
    # The same words among the Library's sessions
    library_url: str


def search_page(place: SearchPlace, *, now: datetime) -> SearchPage:
    """Look for the words. The number of queries does not follow what is found."""
    query = parse_query(place.q)
    found = search.search(query, place.wanted(now))
    pages = max(1, -(-len(found.hits) // PAGE_HITS))
    place = replace(place, page=min(place.page, pages))
    start = (place.page - 1) * PAGE_HITS
    shown = found.hits[start : start + PAGE_HITS]
    rows = hit_rows(shown, pattern_of(query), place.q) if shown else []
    return SearchPage(
        query=place,
        notices=(*place.notices, *query.notices, *_told(found)),
        behind=_behind(),
        has_words=bool(query.groups),
        count=f"{len(found.hits):,}{'+' if found.is_more else ''}",
        found=len(found.hits),
        filters=_filters(place, found),
        rows=tuple(rows),
        first=start + 1 if shown else 0,
        last=start + len(shown),
        previous=place.to_query(page=place.page - 1) if place.page > 1 else "",
        next=place.to_query(page=place.page + 1) if place.page < pages else "",
        everywhere=SearchPlace(q=place.q).to_query(),
        library_url=reverse("library") + SearchPlace(q=place.q[:200]).to_query(),
    )


def _told(found: Hits) -> Iterable[str]:
    if found.is_cut:
        yield "These words are in very many texts; only the 20,000 that came last were looked at. Add a word."
    elif found.is_more:
        yield "There are more than 1,000 hits; the newest are listed. Add a word or choose a filter to see others."


def _behind() -> str:
    waiting = search.waiting()
    if not waiting.packs:
        return ""
    return f"{words.size(waiting.size)} of texts are still being indexed; what they hold is not found yet."


def _filters(place: SearchPlace, found: Hits) -> tuple[Filter, ...]:
    def chip(key: str, name: str, value_of: Callable[[Hit], str], shown: Callable[[str], str]) -> Filter:
        counted = Counter(value for hit in found.hits if (value := value_of(hit)))
        chosen = getattr(place, key)
        if chosen:
            counted.setdefault(chosen, 0)
        choices = [Choice("Any", place.to_query(**{key: ""}), not chosen)]
        choices += [
            Choice(shown(value), place.to_query(**{key: value}), value == chosen, count)
            for value, count in counted.most_common(MOST_CHOICES)
        ]
        return Filter(
            f"{name}: {shown(chosen) if chosen else 'any'}", bool(chosen), place.to_query(**{key: ""}), choices
        )

    chips = [
        chip("kind", "Kind", lambda hit: _KIND_OF.get(hit.kind, ""), lambda key: KINDS[key][0]),
        chip("program", "Agent", lambda hit: program_and_format(hit.session_format)[0], without_secrets),
        chip("agent", "Agent's name", lambda hit: hit.session_agent, without_secrets),
        chip("format", "Format", lambda hit: hit.session_format, lambda key: program_and_format(key)[1]),
        chip("role", "Role", lambda hit: hit.role, lambda key: ROLES.get(key, key)),
        chip("tool", "Tool", lambda hit: hit.tool, without_secrets),
        chip("window", "Window", _window, lambda key: WINDOWS[key]),
    ]
    kept = [one for one in chips if one.on or len(one.choices) > 2]
    if place.session:
        clear = place.to_query(session=0)
        kept.insert(0, Filter(f"Session {place.session}", True, clear, [Choice("All sessions", clear, False)]))
    return (*kept, _period(place))


def _window(hit: Hit) -> str:
    return "" if hit.is_in_window is None else "in" if hit.is_in_window else "out"


def _period(place: SearchPlace) -> Filter:
    clear = place.to_query(days=0, since=None, until=None)
    names = {0: "Any time", **PERIODS}
    choices = [
        Choice(name, place.to_query(days=key, since=None, until=None), place.days == key) for key, name in names.items()
    ]
    if place.since or place.until:
        return Filter(f"{place.since or 'the first'} to {place.until or 'today'}", True, clear, choices)
    return Filter(names[place.days], bool(place.days), clear, choices)
