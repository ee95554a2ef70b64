"""The session page: strip, transcript, inspector, compactions, facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils import timezone

from contextviz.analysis.strip import StripTable
from contextviz.charts import strip as strip_chart
from contextviz.charts import words
from contextviz.events.compaction import Compaction
from contextviz.services import figures
from contextviz.sources.naming import format_name
from contextviz.store.queries import calls, messages, sessions
from contextviz.store.values import SessionDetail, SessionRow
from contextviz.web.pages.boundary_words import window_words
from contextviz.web.pages.held import READER
from contextviz.web.pages.session.boundaries import (
    CompactionRow,
    Surroundings,
    compaction_row,
    nearest,
    previews,
    surroundings,
)
from contextviz.web.pages.session.facts import Facts, facts_of
from contextviz.web.pages.session.inspector import Inspector, inspector, settled
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.transcript import TranscriptPage, transcript_page
from contextviz.web.pages.tabs import Tab, session_tabs
from contextviz.web.shell import origin_of, states_of

SHOWN_COMPACTIONS = 10


@dataclass(frozen=True, slots=True)
class Head:
    """One play-head in the readout."""

    name: str
    number: int
    # Window tokens, with where the number comes from
    tokens: int | None
    basis: str
    # Share of the window, None where that is not known
    share: float | None
    # The compaction after which the client told `tokens`, more than can be shown of the window; 0 otherwise
    told_after: int = 0
    # By how much the parts come to more than was reported; 0 where they do not
    over: int = 0


@dataclass(frozen=True, slots=True)
class Readout:
    """The line over the strip."""

    a: Head | None
    b: Head | None
    # The number of the last call, and the window in tokens
    last: int
    window: int | None
    # Where the window is from, "" where the source reported it
    window_from: str
    # B's place among the calls of a sub-agent's window, and how many those are; None for the main chain
    place: int | None
    count: int | None
    # B − A
    change: int | None
    # "across compaction 2", with its address
    across: str
    across_url: str


@dataclass(frozen=True, slots=True)
class Strip:
    """What components/strip.html is given."""

    src: str
    # The number of the last call
    calls: int
    a: int | None
    b: int | None
    # Where B stands, in words, and the strip in a sentence
    text: str
    summary: str
    # Call numbers right after each compaction
    compactions: tuple[int, ...]
    # The inspector's own address
    inspector: str
    # The page of call 0, for pages on which a moved play-head leads to another call's
    go: str


@dataclass(frozen=True, slots=True)
class BottomTab:
    """One of the three tabs of a narrow screen."""

    name: str
    url: str
    icon: str
    current: bool


@dataclass(frozen=True, slots=True)
class SessionHead:
    """The last crumbs of the page, drawn anew while the session grows."""

    title: str
    # running or idle, as the mark beside the title says it
    state: str
    # "Claude Code · 103 calls · 2 h 4 min · $1.20", and "growing" while it runs
    meta: str


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Everything the session page shows."""

    id: int
    title: str
    head: SessionHead
    tabs: tuple[Tab, ...]
    bottom: tuple[BottomTab, ...]
    # None where the session has no model call
    strip: Strip | None
    readout: Readout | None
    transcript: TranscriptPage
    inspector: Inspector
    # The compactions of this window, and how many there are in all
    compactions: tuple[CompactionRow, ...]
    compaction_count: int
    compactions_url: str
    # Where its topics are, "" without any
    topics_url: str
    facts: Facts
    # The sub-agent shown, "" for the main chain
    agent: str
    # What was wrong with the address, as sentences
    notices: tuple[str, ...]
    # The pane that a narrow screen shows
    pane: str
    # Whether the transcript opens at the session's end, its newest message last
    opens_at_end: bool
    # The same place with messages as Markdown, or as they were written
    other_text_url: str
    # Where new rows come from, the stream that tells of them, and the revision shown
    fresh_url: str
    live_url: str
    revision: int


def session_page(session_id: int, place: Place) -> SessionPage:
    """The page at `place`; raises NotFound. The number of queries does not follow the session's size."""
    detail = sessions.session_detail(session_id, with_lists=False)
    row = detail.row
    place = _in_its_window(place)
    table = figures.strip_of(session_id, place.agent)
    compactions = calls.compactions(session_id, with_lists=False)
    a, b, moved = settled(place, table)
    stand = replace(place, a=a, b=b)
    shown_inspector = inspector(stand, table)
    window = next((value for value in reversed(table.window) if value is not None), row.window)
    around = surroundings(table, window, row.format)
    jump = replace(place, b=b if place.b is not None else None)
    transcript = transcript_page(jump, compactions, total=row.message_count, around=around)
    own = [one for one in compactions if one.agent == place.agent]
    tabs = tuple(session_tabs(row, "session"))
    return SessionPage(
        id=row.id,
        title=row.title or row.source_id,
        head=head_of(row),
        tabs=tabs,
        bottom=_bottom(place, tabs),
        strip=strip_of(stand, table) if table.calls else None,
        readout=readout_of(stand, table, compactions, row.window_basis) if table.calls else None,
        transcript=transcript,
        inspector=shown_inspector,
        compactions=_compactions(own[-SHOWN_COMPACTIONS:], place, around),
        compaction_count=len(own),
        compactions_url=reverse("compactions", args=[row.id]),
        topics_url=reverse("topic_map", args=[row.id]) if row.topic_count else "",
        facts=facts_of(detail, place),
        agent=_agent_name(detail, place.agent),
        notices=(*place.notices, *moved),
        pane=place.pane,
        opens_at_end=transcript.is_end and not jump.is_given,
        other_text_url=place.url(is_raw=not place.is_raw),
        fresh_url=Place(row.id, is_raw=place.is_raw).url("session_fresh"),
        live_url=reverse("session_live", args=[row.id]),
        revision=row.revision,
    )


def transcript_part(session_id: int, place: Place) -> TranscriptPage:
    """The transcript at `place` alone, for a page that reads on; raises NotFound. Ten queries at most."""
    row = sessions.get_session(session_id)
    place = _in_its_window(place)
    table = figures.strip_of(session_id, place.agent)
    window = next((value for value in reversed(table.window) if value is not None), row.window)
    return transcript_page(
        place,
        calls.compactions(session_id, with_lists=False),
        total=row.message_count,
        around=surroundings(table, window, row.format),
    )


def _in_its_window(place: Place) -> Place:
    """The place with the agent whose call or message it jumps to."""
    if place.agent is not None or (place.call is None and place.message is None):
        return place
    if place.message is not None:
        return replace(place, agent=messages.get_message(place.session_id, place.message).agent)
    return replace(place, agent=calls.get_call(place.session_id, (place.call or 1) - 1).agent)


def head_of(row: SessionRow) -> SessionHead:
    """The head as it stands now. One query where the session has no times and changed lately, else none."""
    state = states_of([row], timezone.now())[row.id]
    return SessionHead(row.title or row.source_id, state, _meta(row) + (" · growing" if state == "running" else ""))


def _meta(row: SessionRow) -> str:
    lasted = ""
    if row.started_at and row.ended_at and row.ended_at > row.started_at:
        lasted = words.duration((row.ended_at - row.started_at).total_seconds())
    parts = [format_name(row.format), origin_of(row), words.counted(row.call_count, "call"), lasted]
    if row.cost_usd is not None:
        parts.append(words.money(row.cost_usd))
    return " · ".join(part for part in parts if part)


def _agent_name(detail: SessionDetail, agent: str | None) -> str:
    if agent is None:
        return ""
    return next((one.kind or one.id for one in detail.transcript.subagents if one.id == agent), agent)


def _bottom(place: Place, tabs: Sequence[Tab]) -> tuple[BottomTab, ...]:
    """The panes that hold something, as the tabs above have them."""
    names = {tab.name for tab in tabs} | {"Transcript"}
    panes = (("Transcript", "transcript", "library"), ("Context", "context", "grid"),
             ("Compactions", "compactions", "compacting"))  # fmt: skip
    return tuple(BottomTab(name, place.url(pane=key), icon, place.pane == key) for name, key, icon in panes
                 if name in names)  # fmt: skip


def _compactions(own: Sequence[Compaction], place: Place, around: Surroundings) -> tuple[CompactionRow, ...]:
    texts = previews(own, READER.raw([one.summary for one in own if one.summary is not None]))
    return tuple(replace(compaction_row(one, place, around, texts), id=f"list-c-{one.number}") for one in own)


def strip_of(place: Place, table: StripTable) -> Strip:
    """The strip of one agent's window with its play-heads."""
    own = Place(place.session_id, place.agent)
    b = place.b or table.calls[-1]
    marks = [one.after_call for one in table.compactions if one.after_call is not None]
    row = table.calls.index(b)
    told = table.told(row)
    total = told.tokens if told is not None else table.total(row)
    return Strip(
        src=own.url("strip_figure"),
        calls=table.calls[-1],
        a=place.a,
        b=b,
        text=f"call {b:,} of {table.calls[-1]:,}, {words.compact(total)} tokens{_said_over(table, row)}",
        summary=strip_chart.summary(table),
        compactions=tuple(sorted(marks)),
        inspector=own.url("session_inspector"),
        go=reverse("call", args=[place.session_id, 0]),
    )


def _said_over(table: StripTable, row: int) -> str:
    over = _over(table, row)
    return f", its parts {words.tokens(over)} more than was reported" if over else ""


def readout_of(place: Place, table: StripTable, compactions: Sequence[Compaction], window_basis: str | None) -> Readout:
    """The line over the strip: both play-heads in numbers; `window_basis` is the session's."""
    a = _head("A", place.a, table) if place.a is not None else None
    b = _head("B", place.b, table) if place.b is not None else None
    both = a is not None and b is not None and a.tokens is not None and b.tokens is not None
    number = nearest(compactions, place.agent, place.a, place.b)
    return Readout(
        a,
        b,
        table.calls[-1],
        table.window[table.calls.index(place.b)] if place.b is not None else None,
        window_words(window_basis),
        table.calls.index(place.b) + 1 if place.b is not None and place.agent is not None else None,
        len(table.calls) if place.agent is not None else None,
        (b.tokens or 0) - (a.tokens or 0) if both and a and b else None,
        f"across compaction {number}" if number else "",
        reverse("compaction", args=[place.session_id, number]) if number else "",
    )


def _head(name: str, number: int, table: StripTable) -> Head:
    row = table.calls.index(number)
    reported, window = table.reported[row], table.window[row]
    tokens = reported if reported is not None else table.total(row) or None
    basis = "reported" if reported is not None else "estimated" if tokens else "unknown"
    told = table.told(row)
    if told is not None:
        tokens, basis = told.tokens, "derived"
    share = tokens / window if tokens and window else None
    return Head(name, number, tokens, basis, share, told.number if told is not None else 0, _over(table, row))


def _over(table: StripTable, row: int) -> int:
    return max(-(table.residual[row] or 0), 0)
