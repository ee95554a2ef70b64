"""The page of one call: what the model was given, in order, in numbers, and against another call."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from contextviz.analysis.difference import WindowDifference
from contextviz.analysis.strip import StripTable
from contextviz.charts import words
from contextviz.events.call import ModelCall
from contextviz.events.snapshot import ContextItem
from contextviz.services import figures
from contextviz.store.queries import calls
from contextviz.store.values import SessionRow, WindowItem
from contextviz.web.pages.boundary_words import window_words
from contextviz.web.pages.call.items import (
    CallItem,
    Counts,
    Prefix,
    boundary_of,
    call_items,
    counts_of,
    gone_rows,
    prefix_of,
)
from contextviz.web.pages.session.facts import Fact
from contextviz.web.pages.session.inspector import (
    BASES,
    CheckNote,
    CompositionTable,
    Side,
    changes_between,
    check_of,
    composition_table,
    missing_window,
    note_of,
    settled,
    side,
)
from contextviz.web.pages.session.items import ItemRow, Namer, baseline_row, refs_of
from contextviz.web.pages.session.page import Readout, Strip, readout_of, strip_of
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.tabs import Tab, session_tabs

PAGE_ITEMS = 80
GONE_ITEMS = 40


@dataclass(frozen=True, slots=True)
class Link:
    """One of the page's links; `key` is the key that follows it, "" for none."""

    name: str
    url: str
    key: str = ""
    is_orange: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The items of this page."""

    items: tuple[CallItem, ...]
    # What the transcript does not hold, as an item before the first
    baseline: ItemRow | None
    # The first and last shown, from 1, and how many there are
    first: int
    last: int
    count: int
    # The pages before and after, "" at the ends
    previous: str
    next: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different from A."""

    # A's number
    a: int
    counts: tuple[Counts, ...]
    # Items of A that are gone, and how many more there are
    gone: tuple[ItemRow, ...]
    more_gone: int
    # Why there is no difference to show, "" where there is
    missing: str
    # This page without A
    plain_url: str


@dataclass(frozen=True, slots=True)
class CallPage:
    """Everything the page of one call shows."""

    session_id: int
    title: str
    # The call's number, from 1
    number: int
    tabs: tuple[Tab, ...]
    # None for a call that stands in no window of the session
    strip: Strip | None
    readout: Readout | None
    links: tuple[Link, ...]
    composition: CompositionTable
    # The context window in tokens, None where it is not known
    window: int | None
    # Where it is from, "" where the source reported it
    window_from: str
    # Usage as reported, and what identifies the call
    facts: tuple[Fact, ...]
    # How the window is known; what is uncertain; why it is not known ("" where it is)
    basis: str
    note: str
    # How it stands to the client's own log of its requests; None without one
    check: CheckNote | None
    missing: str
    listing: Listing
    prefix: Prefix | None
    changes: Changes | None
    # What was wrong with the address, as sentences
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read for one page."""

    row: SessionRow
    call: ModelCall
    table: StripTable
    place: Place
    b: Side
    a: Side | None
    before: Side | None
    notices: tuple[str, ...]

    @property
    def number(self) -> int:
        return self.call.index + 1


def call_page(row: SessionRow, number: int, place: Place, start: int) -> CallPage:
    """The page of call `number` (from 1), its items from `start` (from 0) on. Raises NotFound."""
    read = _read(row, number, place)
    changed = changes_between(read.a, read.b) if read.a else None
    against = _against(read)
    listed, listing = _listed(read, start)
    gone = changed.of("gone") if changed else []
    namer = _namer(read, [*refs_of(listed), *(one.item for one in gone[:GONE_ITEMS]), *_breaks(against)])
    prefix = None
    if against is not None and read.before is not None:
        prefix = prefix_of(row.id, read.before.number, against, namer, listing.count)
    window = read.b.window
    items = call_items(read.place, read.b, listed, namer, changed, boundary_of(prefix))
    is_on_strip = number in read.table.calls
    return CallPage(
        session_id=row.id,
        title=row.title or row.source_id,
        number=number,
        tabs=tuple(session_tabs(row, "call")),
        strip=strip_of(read.place, read.table) if is_on_strip else None,
        readout=readout_of(read.place, read.table, calls.compactions(row.id, with_lists=False), row.window_basis)
        if is_on_strip
        else None,
        links=_links(read),
        composition=composition_table(read.a.composition if read.a else None, read.b.composition),
        window=read.table.window[read.table.calls.index(number)] if is_on_strip else row.window,
        window_from=window_words(row.window_basis),
        facts=_facts(read.call),
        basis=BASES[window.snapshot.basis] if window else "",
        note=note_of(read.b),
        check=check_of(read.b),
        missing="" if window else missing_window(read.b.composition),
        listing=replace(listing, items=items),
        prefix=prefix,
        changes=_changes(read, changed, namer) if read.a else None,
        notices=read.notices,
    )


def _read(row: SessionRow, number: int, place: Place) -> _Read:
    call = calls.get_call(row.id, number - 1)
    table = figures.strip_of(row.id, call.agent)
    stand = replace(place, agent=call.agent, b=number)
    notices: Sequence[str] = ()
    if number in table.calls:
        a, _, notices = settled(stand, table)
        stand = replace(stand, a=a)
    else:
        stand = replace(stand, a=None)
    at = bisect_left(table.calls, number)
    earlier = table.calls[at - 1] if at else None
    other = side(row.id, stand.a) if stand.a is not None else None
    before = other if earlier == stand.a else side(row.id, earlier) if earlier is not None else None
    found = side(row.id, number)
    return _Read(row, call, table, stand, found, other, before, (*place.notices, *notices))


def _against(read: _Read) -> WindowDifference | None:
    return changes_between(read.before, read.b, read.call.usage.cache_read_tokens) if read.before else None


def _breaks(against: WindowDifference | None) -> list[ContextItem]:
    return [one for one in (against.break_a, against.break_b) if one is not None] if against else []


def _namer(read: _Read, shown: list[ContextItem]) -> Namer:
    sides = (read.b, read.a, read.before)
    return Namer.of(shown, [item for one in sides if one and one.window for item in refs_of(one.window.items)])


def _listed(read: _Read, start: int) -> tuple[list[WindowItem], Listing]:
    items = read.b.window.items if read.b.window else []
    first = min(max(start, 0), max(len(items) - 1, 0)) // PAGE_ITEMS * PAGE_ITEMS
    listed = items[first : first + PAGE_ITEMS]
    a = f"&a={read.place.a}" if read.place.a else ""
    end = first + len(listed)
    base = baseline_row(read.b.scale, read.b.composition) if read.b.scale and not first else None
    return listed, Listing(
        (), base, first + 1, end, len(items),
        f"?from={first - PAGE_ITEMS + 1}{a}" if first else "", f"?from={end + 1}{a}" if end < len(items) else "",
    )  # fmt: skip


def _changes(read: _Read, changed: WindowDifference | None, namer: Namer) -> Changes | None:
    if read.a is None:
        return None
    gone = changed.of("gone") if changed else []
    missing = "" if changed else "One of the two windows is not known, so only their sizes can be compared."
    return Changes(
        read.a.number, counts_of(changed, read.a, read.b), gone_rows(gone[:GONE_ITEMS], read.a, namer, read.place),
        max(0, len(gone) - GONE_ITEMS), missing, reverse("call", args=[read.row.id, read.number]),
    )  # fmt: skip


def _links(read: _Read) -> tuple[Link, ...]:
    table, number = read.table, read.number
    found = []
    at, after = bisect_left(table.calls, number), bisect_right(table.calls, number)
    if at:
        found.append(_to_call(read, f"Previous, call {table.calls[at - 1]:,}", table.calls[at - 1], "ArrowLeft"))
    if after < len(table.calls):
        found.append(_to_call(read, f"Next, call {table.calls[after]:,}", table.calls[after], "ArrowRight"))
    marks = [one for one in table.compactions if one.before_call is not None and one.after_call is not None]
    earlier = [one for one in marks if (one.after_call or 0) <= number]
    later = [one for one in marks if (one.after_call or 0) > number]
    for mark, key in ((earlier[-1:], "C"), (later[:1], "c")):
        for one in mark:
            url = reverse("call", args=[read.row.id, one.after_call]) + f"?a={one.before_call}"
            found.append(Link(f"Across compaction {one.number}", url, key, is_orange=True))
    transcript = Place(read.row.id, read.call.agent, a=read.place.a, b=number).at_call(number)
    found.append(Link("In the transcript", transcript))
    return tuple(found)


def _to_call(read: _Read, name: str, number: int, key: str) -> Link:
    a = f"?a={read.place.a}" if read.place.a and read.place.a != number else ""
    return Link(name, reverse("call", args=[read.row.id, number]) + a, key)


def _facts(call: ModelCall) -> tuple[Fact, ...]:
    usage = call.usage
    numbers = (
        ("Uncached input", usage.input_tokens), ("Cache read", usage.cache_read_tokens),
        ("Cache write", usage.cache_write_tokens), ("Prompt", usage.prompt_tokens), ("Output", usage.output_tokens),
        ("of it reasoning", usage.reasoning_tokens),
    )  # fmt: skip
    cost = words.money(usage.cost_usd) if usage.cost_usd is not None else words.UNKNOWN
    return (
        *(Fact(name, words.tokens(value)) for name, value in numbers),
        Fact("Cost, as written by the client", cost),
        Fact("Usage", {"reported": "reported by the provider"}.get(call.basis, call.basis)),
        Fact("Model", call.model or words.UNKNOWN, is_code=call.model is not None),
        Fact("Response", call.response_id or words.UNKNOWN, is_code=call.response_id is not None),
        Fact("Purpose", call.purpose.replace("_", " ")),
    )
