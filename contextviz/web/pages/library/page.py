"""The Library as one object: heading, filters, table, imports under way, and the empty page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from contextviz.services.ingest import FoundHome
from contextviz.sources.naming import program_and_format
from contextviz.store.queries import calls
from contextviz.store.queries.sparklines import Sparkline
from contextviz.store.values import Facet, Page, SessionRow, UploadRow
from contextviz.web.pages.jobs import JobView
from contextviz.web.pages.library.query import PERIODS, LibraryQuery
from contextviz.web.pages.library.rows import DayGroup, grouped

SPENT_TITLE = "The sum of the calls; what a client's own total has beyond them stands on the session's page"
SORT_NAMES = {
    "time": "Last activity",
    "title": "Title",
    "agent": "Agent",
    "calls": "Calls",
    "fill": "Fill",
    "compactions": "Compactions",
    "cost": "Cost",
    "tokens": "Billed tokens",
    "problems": "Problems",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter."""

    name: str
    url: str
    current: bool
    # How many sessions have it, None where that is not counted
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """One chip with its values."""

    # What stands on the chip
    name: str
    # Whether it leaves anything out, and the address without it
    on: bool
    clear_url: str
    choices: list[Choice]


@dataclass(frozen=True, slots=True)
class Column:
    """One heading of the table: a link that sorts by it; `url` "" where it does not sort."""

    name: str
    url: str = ""
    # aria-sort, "" where the table is not sorted by it
    sort: str = ""
    # Whether it holds numbers, which stand right
    num: bool = False
    # What its numbers count, where the name does not say it; "" for nothing
    title: str = ""


@dataclass(frozen=True, slots=True)
class Imports:
    """Imports under way: the table's first rows. It looks again while any is left."""

    # The jobs that are not finished
    jobs: list[JobView]
    # The address to look at again: it says what this page has seen
    url: str


@dataclass(frozen=True, slots=True)
class LibraryPage:
    """The Library."""

    # What the address asks for
    query: LibraryQuery
    # Sentences about what of the address could not be understood
    notices: tuple[str, ...]
    # Uploads that were cut off
    interrupted: list[UploadRow]
    # How many sessions there are in all, and how many are asked for
    total: int
    found: int
    # The rows
    groups: list[DayGroup]
    columns: list[Column]
    # Filters, and the orders
    filters: list[Filter]
    toggles: list[Choice]
    sorts: list[Choice]
    sort_name: str
    # Addresses of the pages before and after, "" at the ends
    previous: str
    next: str
    # Which rows these are, from 1
    first: int
    last: int
    # The address of this state, for looking again
    url: str
    # Imports under way
    imports: Imports
    # Agents' homes with transcripts in them; looked for only when there are no sessions
    homes: list[FoundHome] = field(default_factory=list)


def library_page(
    query: LibraryQuery, page: Page[SessionRow], pictures: Mapping[int, Sparkline], facets: Mapping[str, list[Facet]],
    *, total: int, imports: Imports, interrupted: list[UploadRow], homes: list[FoundHome],
) -> LibraryPage:  # fmt: skip
    """The page object of one state of the Library."""
    start = (page.number - 1) * page.size
    notes = calls.notes_of([row.id for row in page.items if row.problem_count])
    return LibraryPage(
        query=query,
        notices=query.notices,
        interrupted=interrupted,
        total=total,
        found=page.total,
        groups=grouped(page.items, pictures, notes, by_day=query.sort == "time"),
        columns=_columns(query),
        filters=_filters(query, facets),
        toggles=[
            Choice("Compacted", query.to_query(compacted=not query.compacted), query.compacted),
            Choice("Problems", query.to_query(problems=not query.problems), query.problems),
        ],
        sort_name=SORT_NAMES.get(query.sort, query.sort.capitalize()),
        sorts=[
            Choice(name, query.to_query(sort=key, reverse=False), query.sort == key)
            for key, name in SORT_NAMES.items()
        ],
        previous=query.to_query(page=page.number - 1) if page.number > 1 else "",
        next=query.to_query(page=page.number + 1) if page.number < page.pages else "",
        first=start + 1 if page.items else 0,
        last=start + len(page.items),
        url=query.to_query(page=page.number),
        imports=imports,
        homes=homes,
    )  # fmt: skip


def _columns(query: LibraryQuery) -> list[Column]:
    def by(key: str, name: str, *, num: bool = True) -> Column:
        chosen = query.sort == key
        url = query.to_query(sort=key, reverse=chosen and not query.reverse)
        return Column(name, url, ("descending" if query.descending else "ascending") if chosen else "", num)

    return [
        by("title", "Session", num=False),
        by("agent", "Agent, format", num=False),
        by("time", "Active"),
        by("calls", "Calls"),
        Column("Window over calls"),
        by("fill", "Last fill, k tok", num=False),
        by("compactions", "Comp."),
        replace(by("tokens" if query.sort == "tokens" else "cost", "Cost, or tok"), title=SPENT_TITLE),
    ]


def _filters(query: LibraryQuery, facets: Mapping[str, list[Facet]]) -> list[Filter]:
    formats = [Choice("Any format", query.to_query(format=""), not query.format)]
    formats += [
        Choice(_format_name(one.value), query.to_query(format=one.value), query.format == one.value, one.count)
        for one in facets["format"]
    ]
    chips = [
        _agents(query, facets),
        _chip("Format", _format_name(query.format), formats, query.to_query(format="")),
    ]
    return [one for one in chips if len(one.choices) > 1 or one.on] + [_period(query)]


def _agents(query: LibraryQuery, facets: Mapping[str, list[Facet]]) -> Filter:
    """The programs of the table's column; then agents' own names, where there are several or one is asked for."""
    counts: Counter[str] = Counter()
    for one in facets["format"]:
        counts[program_and_format(one.value)[0]] += one.count
    any_one = query.to_query(program="", agent="")
    choices = [Choice("Any agent", any_one, not (query.program or query.agent))]
    choices += [
        Choice(name, query.to_query(program=name, agent=""), query.program == name, count)
        for name, count in counts.most_common()
    ]
    if len(facets["agent"]) > 1 or query.agent:
        choices += [
            Choice(
                f"named {one.value}", query.to_query(program="", agent=one.value), query.agent == one.value, one.count
            )
            for one in facets["agent"]
        ]
    chosen = " ".join(part for part in (query.program, f"named {query.agent}" if query.agent else "") if part)
    return _chip("Agent", chosen, choices, any_one)


def _chip(name: str, value: str, choices: list[Choice], clear_url: str) -> Filter:
    return Filter(f"{name}: {value or 'any'}", bool(value), clear_url, choices)


def _period(query: LibraryQuery) -> Filter:
    clear = query.to_query(days=0, since=None, until=None)
    days = {0: "Any time", **PERIODS}
    choices = [
        Choice(name, query.to_query(days=key, since=None, until=None), query.days == key) for key, name in days.items()
    ]
    if query.since or query.until:
        shown = f"{query.since or 'the first'} to {query.until or 'today'}"
        return Filter(shown, True, clear, choices)
    return Filter(PERIODS.get(query.days, "Any time"), bool(query.days), clear, choices)


def _format_name(key: str) -> str:
    return program_and_format(key)[1] if key else ""
