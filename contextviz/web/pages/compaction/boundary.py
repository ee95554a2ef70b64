"""One compaction: before, summary, after, what was dropped, and which identifiers are in neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from contextviz.analysis.compaction import TokenFact
from contextviz.events.compaction import Compaction
from contextviz.events.masking import holds_secrets, without_secrets
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.pages.boundary_words import producer_name
from contextviz.web.pages.compaction.ledger import LedgerTable, ledger_table
from contextviz.web.pages.compaction.parts import (
    DROPPED_SIZE,
    AccountRow,
    BeforeRow,
    ItemRow,
    account_rows,
    after_rows,
    before_rows,
    dropped_rows,
    more_after,
    rest_after,
    rest_of,
)
from contextviz.web.pages.compaction.reading import Reading, read_boundary
from contextviz.web.pages.held import open_text, title_of
from contextviz.web.pages.links import call_url, compaction_url
from contextviz.web.pages.tabs import Tab, session_tabs

SUMMARY_CHARS = 20_000
MOST_SUMMARY_CHARS = 600_000
JUMPS = 9
AT_ONCE_BYTES = 48_000


@dataclass(frozen=True, slots=True)
class BoundaryParams:
    """What the query string asks for; bad values fall back."""

    # Whether the ledger is wanted even where reading it takes a while
    identifiers: bool = False
    # A loss state to list alone
    state: str = ""
    # Page of the ledger, from 1
    page: int = 1
    # Page of the dropped items, from 1
    dropped: int = 1
    # Whether the whole summary is wanted
    whole_summary: bool = False


@dataclass(frozen=True, slots=True)
class Jump:
    """One boundary of the row of buttons."""

    # The number people read
    number: int
    # Its page
    url: str
    # Whether it is the one being shown
    current: bool


@dataclass(frozen=True, slots=True)
class SummaryText:
    """What took the place of what was folded."""

    # The text, None where there is none to read
    text: str | None
    # Estimated tokens
    tokens: int | None
    # Whether only its beginning is here
    is_cut: bool
    # Its size in characters
    chars: int
    # Why there is no text, or what else is to be known of it
    note: str
    # Where its masked values are asked for, "" where none is masked
    unmask_url: str = ""

    @property
    def copied(self) -> str:
        """What a click copies: the same text, masked like the page."""
        return without_secrets(self.text or "")


@dataclass(frozen=True, slots=True)
class StripFacts:
    """What components/strip.html needs."""

    # The figure's JSON
    src: str
    # Calls of the session
    calls: int
    # The calls before and after
    a: int | None
    b: int | None
    # The position in words
    text: str
    # Call numbers right after each compaction
    compactions: list[int]
    # One sentence
    summary: str


@dataclass(frozen=True, slots=True)
class BoundaryPage:
    """One compaction."""

    # The session
    row: SessionRow
    # The session's name
    title: str
    # The session's tabs
    tabs: list[Tab]
    # The strip above, None for a session without calls
    strip: StripFacts | None
    # The compaction as read
    compaction: Compaction
    # Who compacted, "" where that is not said
    producer: str
    # Boundaries around this one
    jumps: list[Jump]
    # Neighbours, "" at the ends
    previous: str
    next: str
    # Window tokens before and after, with their basis
    before: TokenFact
    after: TokenFact
    # after − before; None where one is unknown
    delta: int | None
    # delta ÷ before
    share: float | None
    # The calls before and after: numbers and addresses, "" where there is none
    before_call: int | None
    before_url: str
    after_call: int | None
    after_url: str
    # Items before and after; None where the window is not known
    before_items: int | None
    after_items: int | None
    # The window before by category and fate
    before_rows: list[BeforeRow]
    # Signed: `before` less those rows; None where it is not known
    before_rest: int | None
    # The summary
    summary: SummaryText
    # Items after in order, how many more there are and their tokens; signed, `after` less all of them
    after_rows: list[ItemRow]
    more_after: int
    more_after_tokens: int
    after_rest: int | None
    # The accounting line, empty where a window is not known
    accounting: list[AccountRow]
    # "reported" where both totals are
    accounting_basis: str
    # Dropped items of this page, their number and tokens in all, neighbouring pages
    dropped_rows: list[ItemRow]
    dropped_items: int
    dropped_tokens: int
    dropped_first: int
    dropped_previous: str
    dropped_next: str
    # Identifiers, None where reading them was left for later or there is nothing to read
    ledger: LedgerTable | None
    # Where the ledger comes from when it was left for later, "" where it was not
    ledger_url: str
    # How much text it has to read, in bytes
    ledger_bytes: int
    # What cannot be told, and why
    notes: list[str]

    @property
    def number_text(self) -> str:
        """The number people read, as text."""
        return str(self.compaction.number)


def boundary_page(row: SessionRow, found: Sequence[Compaction], number: int, params: BoundaryParams) -> BoundaryPage:
    """The page of compaction `number` among `found`; raises NotFound."""
    at = next((place for place, one in enumerate(found) if one.number == number), None)
    if at is None:
        raise NotFound(f"Session {row.id} has no compaction {number}; it has {len(found)}.")
    compaction = found[at]
    reading = read_boundary(row, compaction, ledger=params.identifiers, at_once=AT_ONCE_BYTES)
    view, url = reading.view, compaction_url(row.id, number)
    facts = view.facts
    before, after = _sides(reading, compaction)
    both = before.tokens is not None and after.tokens is not None
    delta = (after.tokens or 0) - (before.tokens or 0) if both else None
    shown = after_rows(row.id, reading)
    first = before_rows(row.id, reading, compaction)
    more, more_tokens = more_after(reading)
    pages = max(1, -(-len(view.dropped) // DROPPED_SIZE))
    page = min(max(params.dropped, 1), pages)
    is_waiting = view.difference is not None and not reading.has_ledger
    return BoundaryPage(
        row=row,
        title=title_of(row),
        tabs=session_tabs(row, "compactions"),
        strip=_strip(row, found, compaction),
        compaction=compaction,
        producer=producer_name(compaction),
        jumps=_jumps(row.id, found, at),
        previous=compaction_url(row.id, found[at - 1].number) if at else "",
        next=compaction_url(row.id, found[at + 1].number) if at + 1 < len(found) else "",
        before=before,
        after=after,
        delta=delta,
        share=delta / before.tokens if delta is not None and before.tokens else None,
        before_call=facts.before_call,
        before_url=call_url(row.id, facts.before_call) if facts.before_call else "",
        after_call=facts.after_call,
        after_url=call_url(row.id, facts.after_call) if facts.after_call else "",
        before_items=len(view.before) if view.before is not None else None,
        after_items=len(view.after) if view.after is not None else None,
        before_rows=first,
        before_rest=rest_of(before.tokens, first),
        summary=_summary(row.id, compaction, whole=params.whole_summary),
        after_rows=shown,
        more_after=more,
        more_after_tokens=more_tokens,
        after_rest=rest_after(after.tokens, reading) if shown else None,
        accounting=account_rows(view.accounting),
        accounting_basis=view.accounting.basis if view.accounting else "unknown",
        dropped_rows=dropped_rows(row.id, view, compaction, start=(page - 1) * DROPPED_SIZE),
        dropped_items=len(view.dropped),
        dropped_tokens=sum(change.tokens for change in view.dropped),
        dropped_first=(page - 1) * DROPPED_SIZE + 1,
        dropped_previous=f"{url}?dropped={page - 1}#dropped" if page > 1 else "",
        dropped_next=f"{url}?dropped={page + 1}#dropped" if page < pages else "",
        ledger=_ledger(row, reading, params),
        ledger_url=f"{url}?identifiers=1" if is_waiting else "",
        ledger_bytes=reading.dropped_bytes,
        notes=view.notes,
    )


def _sides(reading: Reading, compaction: Compaction) -> tuple[TokenFact, TokenFact]:
    """Window tokens on both sides of one kind: what the provider reported for both calls, else the client's own
    numbers for both, else whatever is known."""
    before, after = reading.view.facts.prompt_before, reading.view.facts.prompt_after
    if (before.basis, after.basis) == ("reported", "reported"):
        return before, after
    if compaction.tokens_before is not None and compaction.tokens_after is not None:
        return TokenFact(compaction.tokens_before, "reported"), TokenFact(compaction.tokens_after, "reported")
    if before.tokens is None and compaction.tokens_before is not None:
        before = TokenFact(compaction.tokens_before, "reported")
    if after.tokens is None and compaction.tokens_after is not None:
        after = TokenFact(compaction.tokens_after, "reported")
    return before, after


def _strip(row: SessionRow, found: Sequence[Compaction], compaction: Compaction) -> StripFacts | None:
    if not row.call_count:
        return None
    a = None if compaction.before_call is None else compaction.before_call + 1
    b = None if compaction.after_call is None else compaction.after_call + 1
    words = f"call {b or a or row.call_count} of {row.call_count}, at compaction {compaction.number}"
    after = [one.after_call + 1 for one in found if one.after_call is not None and one.agent is None]
    return StripFacts(
        reverse("strip_figure", args=[row.id]), row.call_count, a, b, words, after,
        f"Window tokens over {row.call_count:,} calls; compaction {compaction.number} of {len(found):,} is marked.",
    )  # fmt: skip


def _jumps(session_id: int, found: Sequence[Compaction], at: int) -> list[Jump]:
    start = max(0, min(at - JUMPS // 2, len(found) - JUMPS))
    near = found[start : start + JUMPS]
    here = found[at]
    return [Jump(one.number, compaction_url(session_id, one.number), one is here) for one in near]


def _summary(session_id: int, compaction: Compaction, *, whole: bool) -> SummaryText:
    ref = compaction.summary
    note = _note_of(compaction)
    if ref is None:
        return SummaryText(None, None, False, 0, note)
    text, is_cut = open_text(ref, chars=MOST_SUMMARY_CHARS if whole else SUMMARY_CHARS)
    if text is None:
        note = "The text of this summary is not held any more."
    url = reverse("unmask_compaction", args=[session_id, compaction.number]) if text and holds_secrets(text) else ""
    return SummaryText(text, ref.estimated_tokens, is_cut, ref.chars, note, url)


def _note_of(compaction: Compaction) -> str:
    note = (compaction.summary_note or "").strip()
    if "encrypt" in note.lower():
        return "Encrypted: not readable. The client keeps the summary in a form that only its provider can open."
    if note or compaction.summary is not None:
        return note
    return {
        "reset": "A reset starts the window anew; it leaves no summary.",
        "trim": "A trim drops items; it leaves no summary.",
        "clear": "Tool results were cleared in place; no summary was made.",
        "microcompact": "Tool results were cleared in place; no summary was made.",
    }.get(compaction.kind, "The transcript holds no summary for this compaction.")


def _ledger(row: SessionRow, reading: Reading, params: BoundaryParams) -> LedgerTable | None:
    found = reading.view.ledger
    if found is None:
        return None
    return ledger_table(
        row.id, found, boundary_call=reading.view.facts.after_call or 0, state=params.state, page=params.page,
        originals=reverse("originals"),
    )  # fmt: skip
