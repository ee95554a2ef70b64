"""Every compaction of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contextviz.analysis.transcript import one_line
from contextviz.events.compaction import Compaction
from contextviz.services.figures import strip_of
from contextviz.store.queries.snapshots import snapshots_of_calls
from contextviz.store.values import SessionRow
from contextviz.web.pages.boundary_words import producer_name, shared_beginning, window_sizes
from contextviz.web.pages.held import READER, title_of
from contextviz.web.pages.links import compaction_url
from contextviz.web.pages.tabs import Tab, session_tabs

PAGE_SIZE = 50
SUMMARY_CHARS = 1_200
SUMMARY_LINE = 320


@dataclass(frozen=True, slots=True)
class ListedCompaction:
    """One boundary in the list."""

    # Anchor
    id: str
    # The number people read
    number: int
    # Its page
    url: str
    # summary, trim, clear, reset, microcompact
    kind: str
    # Window tokens before and after, and where both come from
    before: int | None
    after: int | None
    basis: str
    # after − before and its share of before; None where one is unknown
    delta: int | None
    share: float | None
    # What set it off, who did it, in words; "" where the source does not say
    trigger: str
    producer: str
    # The sub-agent whose window it was, "" for the main agent
    agent: str
    # When, and how long it took
    at: object
    seconds: float | None
    # Items in the window before and after; None where a window is not known
    items_before: int | None
    items_after: int | None
    # Leading items that stayed where they were; None where a window is not known
    kept_in_place: int | None
    # Beginning of the summary in one line, "" where there is none to read
    summary: str
    # Why there is no summary to read, or what went wrong
    note: str
    problem: str
    # Whether it lies on a branch that was abandoned
    is_abandoned: bool


@dataclass(frozen=True, slots=True)
class CompactionsPage:
    """The list."""

    # The session
    row: SessionRow
    # The session's name
    title: str
    # The session's tabs
    tabs: list[Tab]
    # The compactions of this page
    rows: list[ListedCompaction]
    # How many there are
    total: int
    # Number of the first and the last row on this page
    first: int
    last: int
    # Neighbouring pages, "" at the ends
    previous: str
    next: str


def compactions_page(row: SessionRow, found: Sequence[Compaction], page: int) -> CompactionsPage:
    """One page of the list, in the order of the session. Five queries, whatever the session's length."""
    pages = max(1, -(-len(found) // PAGE_SIZE))
    number = min(max(page, 1), pages)
    start = (number - 1) * PAGE_SIZE
    shown = found[start : start + PAGE_SIZE]
    return CompactionsPage(
        row, title_of(row), session_tabs(row, "compactions"),
        _rows(row, shown), len(found),
        start + 1 if shown else 0, start + len(shown),
        f"?page={number - 1}" if number > 1 else "", f"?page={number + 1}" if number < pages else "",
    )  # fmt: skip


def _rows(row: SessionRow, shown: Sequence[Compaction]) -> list[ListedCompaction]:
    if not shown:
        return []
    strip = strip_of(row.id)
    reported = dict(zip(strip.calls, strip.reported, strict=True))
    near = [call for one in shown for call in (one.before_call, one.after_call) if call is not None]
    windows = snapshots_of_calls(row.id, near)
    summaries = READER.beginnings([one.summary for one in shown if one.summary is not None], chars=SUMMARY_CHARS)
    fixed = shared_beginning(text.text for text in summaries.values())
    rows = []
    for one in shown:
        before, after = window_sizes(one, reported)
        basis = "unknown" if before is None and after is None else "reported"
        first = windows.get(one.before_call) if one.before_call is not None else None
        second = windows.get(one.after_call) if one.after_call is not None else None
        follows = first is not None and second is not None and second.previous == first.index
        text = summaries.get(one.summary.digest) if one.summary is not None else None
        delta = after - before if before is not None and after is not None else None
        rows.append(
            ListedCompaction(
                f"c-{one.number}", one.number, compaction_url(row.id, one.number), one.kind,
                before, after, basis, delta,
                delta / before if delta is not None and before else None,
                one.trigger or "", producer_name(one), one.agent or "", one.at, one.duration_seconds,
                first.item_count if first else None, second.item_count if second else None,
                second.kept_items if second is not None and follows else None,
                one_line(("… " if fixed else "") + text.text[fixed:], SUMMARY_LINE) if text else "",
                _note(one), one.problem or "", not one.on_active_path,
            )
        )  # fmt: skip
    return rows


def _note(one: Compaction) -> str:
    if one.summary is not None:
        return ""
    if one.summary_note and "encrypt" in one.summary_note.lower():
        return "Summary encrypted: not readable"
    return one.summary_note or ("No summary in the transcript" if one.kind == "summary" else "No summary is made")
