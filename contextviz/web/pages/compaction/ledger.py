"""The loss ledger as a table: each identifier that left, what became of it, and where it was used afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from contextviz.analysis.compaction import STATES, LossLedger, LossRow
from contextviz.events.identifiers import class_name
from contextviz.events.masking import without_secrets
from contextviz.web.pages.links import call_url

PAGE_SIZE = 60
MOST_USES = 4
MOST_TEXT = 300
# What asks for attention first.
ORDER = {"lost": 0, "stale": 1, "variant": 2, "recoverable": 3, "kept": 4}


@dataclass(frozen=True, slots=True)
class CallLink:
    """A call by its number."""

    # The number people read
    number: int
    # The context at that call
    url: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One identifier."""

    # kept, stale, variant, recoverable or lost
    state: str
    # Its class in words: path, command, open item, …
    kind: str
    # Its last spelling, cut after MOST_TEXT characters
    text: str
    # The same for the pointer, secrets masked
    title: str
    # Its length in characters
    size: int
    # The call whose window had it first, None where that is not known
    origin: CallLink | None
    # Calls afterwards whose output names it, the first MOST_USES
    uses: list[CallLink]
    # How many more there are
    more_uses: int
    # How many of them are misses: named in a tool call's arguments although it was lost
    misses: int
    # Where its original is, "" where it is not recoverable
    original_url: str


@dataclass(frozen=True, slots=True)
class StateCount:
    """A part of the ledger's bar."""

    # The state
    state: str
    # How many identifiers are in it
    count: int
    # The list of those alone
    url: str
    # Whether the list shows those alone now
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """The ledger of one boundary, one page of it."""

    # Identifiers in all
    total: int
    # How many of them the list can show under the chosen state
    listed: int
    # The grammar that found them
    grammar: str
    # Counts by state, every state
    counts: list[StateCount]
    # (kept + stale) ÷ all, (all − lost) ÷ all, stale ÷ (kept + stale); None without rows
    retention: float | None
    reach: float | None
    staleness: float | None
    # Identifiers that were lost and then needed
    missed: int
    # The rows of this page, what asks for attention first
    rows: list[LedgerRow]
    # The first and last row's number on this page
    first: int
    last: int
    # Neighbouring pages, "" at the ends
    previous: str
    next: str
    # What was not read
    notes: list[str]


def ledger_table(
    session_id: int, found: LossLedger, *, boundary_call: int, state: str, page: int, originals: str
) -> LedgerTable:
    """One page of the ledger; `state` "" lists all. `originals` is the address of the page that fetches originals."""
    rows = sorted(found.rows, key=lambda row: (ORDER[row.state], -_misses(row, boundary_call), -len(row.later)))
    listed = [row for row in rows if not state or row.state == state]
    pages = max(1, -(-len(listed) // PAGE_SIZE))
    number = min(max(page, 1), pages)
    start = (number - 1) * PAGE_SIZE
    shown = listed[start : start + PAGE_SIZE]
    counts = [
        StateCount(name, found.count(name), _query("" if name == state else name, 1), name == state) for name in STATES
    ]
    return LedgerTable(
        len(rows), len(listed), found.grammar, counts,
        found.retention, found.reach, found.staleness,
        sum(row.is_missed(boundary_call) for row in rows),
        [_row(session_id, row, boundary_call, originals) for row in shown],
        start + 1 if shown else 0, start + len(shown),
        _query(state, number - 1) if number > 1 else "",
        _query(state, number + 1) if number < pages else "",
        found.notes,
    )  # fmt: skip


def _query(state: str, page: int) -> str:
    return "?" + urlencode({"identifiers": "1", "state": state, "page": page}) + "#ledger"


def _misses(row: LossRow, boundary_call: int) -> int:
    return sum(use.where == "arguments" for use in row.later) if row.is_missed(boundary_call) else 0


def _row(session_id: int, row: LossRow, boundary_call: int, originals: str) -> LedgerRow:
    numbers = list(dict.fromkeys(use.call for use in row.later))
    origin = row.last_call or row.first_call
    text = row.text if len(row.text) <= MOST_TEXT else row.text[: MOST_TEXT - 1] + "…"
    return LedgerRow(
        row.state, class_name(row.kind, row.canonical), text, without_secrets(text), row.size,
        None if origin is None else CallLink(origin, call_url(session_id, origin)),
        [CallLink(number, call_url(session_id, number)) for number in numbers[:MOST_USES]],
        max(0, len(numbers) - MOST_USES), _misses(row, boundary_call),
        f"{originals}?{urlencode({'q': row.handle})}" if row.handle else "",
    )  # fmt: skip
