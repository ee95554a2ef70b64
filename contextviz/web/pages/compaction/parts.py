"""The parts of one boundary's page: rows of the window before, of the window after, of what was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contextviz.analysis.compaction import Accounting, BoundaryView
from contextviz.analysis.composition import CATEGORIES
from contextviz.analysis.difference import Change
from contextviz.charts.palette import category
from contextviz.events.compaction import Compaction
from contextviz.web.pages.compaction.reading import Reading
from contextviz.web.pages.held import first_lines
from contextviz.web.pages.links import call_url, message_url
from contextviz.web.pages.session.items import ItemRow as Listed
from contextviz.web.pages.session.items import baseline_row

MOST_AFTER = 200
DROPPED_SIZE = 100
# A summariser is given the conversation; the system prompt, thinking and placeholders are not told again.
FOLDED = frozenset({"summary", "user", "assistant", "call", "result", "error"})
# "Folded" borrows the hatch of a variant, "dropped" the stroke of what is lost.
MARKS = {"kept": "kept", "folded": "variant", "dropped": "lost"}


@dataclass(frozen=True, slots=True)
class BeforeRow:
    """Items of one category in the window before that had the same fate."""

    # The category's key, for the swatch
    category: str
    # Its name
    name: str
    # How many items; None for what no item holds
    items: int | None
    # Their window tokens
    tokens: int
    # Their share of the largest row, 0 to 100, for the bar
    width: float
    # kept, folded, dropped, or "" where that is not known
    fate: str
    # The mark that goes with the fate
    mark: str
    # The window before, from the first of these items on
    url: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item as components/item.html draws it."""

    # Anchor
    id: str
    # Its place in the window, with a sign where it is new or gone
    order: str
    # The category's key
    category: str
    # Its text in one line
    name: str
    # Why it is there, what was done to it
    why: str
    # Its window tokens
    tokens: int | None
    # The message it comes from, "" where it has none
    url: str
    # "new", "gone" or ""
    change: str
    # A loss state or "": not used for items
    loss: str = ""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One line of before − dropped + new + residual = after."""

    # Words
    name: str
    # Signed tokens for a change, plain ones for a total
    tokens: int
    # Whether the number is a change
    is_change: bool


def before_rows(session_id: int, reading: Reading, compaction: Compaction) -> list[BeforeRow]:
    """The window before by category and fate, in stack order, and what no record of it holds; without a window after,
    by category alone."""
    view, before, part = reading.view, reading.before, reading.before_parts
    counted: list[tuple[str, str, int, int]] = []
    has_summary = _has_summary(compaction)
    if view.difference is not None:
        for group in view.groups:
            if group.fate != "new":
                fate = _fate(group.fate, group.category, has_summary=has_summary)
                counted.append((group.category, fate, group.items, group.tokens))
    elif before is not None and part is not None:
        sums: dict[str, list[int]] = {}
        for one, tokens in zip(before.items, part.shares.by_place, strict=True):
            entry = sums.setdefault(one.category, [0, 0])
            entry[0] += 1
            entry[1] += tokens
        counted = [(name, "", *sums[name]) for name in CATEGORIES if name in sums]  # type: ignore[misc]
    order = {name: at for at, name in enumerate(CATEGORIES)}
    counted.sort(key=lambda row: (order.get(row[0], 99), row[1]))  # type: ignore[call-overload]
    first: dict[tuple[str, str], int] = {}
    for change in view.difference.changes if view.difference else ():
        if change.a is not None:
            name = change.a_category or change.category
            fate = _fate("dropped" if change.b is None else "kept", name, has_summary=has_summary)
            first[(name, fate)] = min(change.a, first.get((name, fate), change.a))
    call = call_url(session_id, view.facts.before_call) if view.facts.before_call else ""
    base = baseline_row(part.shares, part.composition) if part is not None else None
    return _before_rows(counted, first, call, base, "kept" if view.difference is not None else "")


def _before_rows(
    counted: Sequence[tuple[str, str, int, int]], first: Mapping[tuple[str, str], int], call: str,
    base: Listed | None, base_fate: str,
) -> list[BeforeRow]:  # fmt: skip
    largest = max([*(tokens for *_, tokens in counted), (base.tokens or 0) if base else 0], default=0) or 1
    unlogged = [
        BeforeRow(
            base.category, base.name, None, base.tokens or 0, round((base.tokens or 0) / largest * 100, 1), base_fate,
            MARKS.get(base_fate, ""), f"{call}?from=1#{base.id}" if call else "",
        )
    ] if base is not None else []  # fmt: skip
    return unlogged + [
        BeforeRow(
            key,
            category(key).name, items, tokens, round(tokens / largest * 100, 1), fate, MARKS.get(fate, ""),
            f"{call}?from={first.get((key, fate), 0) + 1}#i-{first.get((key, fate), 0) + 1}" if call else "",
        )
        for key, fate, items, tokens in counted
    ]  # fmt: skip


def rest_of(whole: int | None, rows: Sequence[BeforeRow]) -> int | None:
    """The signed residual: the size that the heading tells less the rows; None where one of them is not known."""
    return None if whole is None or not rows else whole - sum(row.tokens for row in rows)


def rest_after(whole: int | None, reading: Reading) -> int | None:
    """The same of the window after, of all its items."""
    part = reading.after_parts
    if whole is None or part is None:
        return None
    return whole - sum(part.shares.by_place) - (part.shares.baseline or 0)


def more_after(reading: Reading) -> tuple[int, int]:
    """How many items of the window after `after_rows` leaves out, and their tokens."""
    part = reading.after_parts
    left = part.shares.by_place[MOST_AFTER:] if part is not None and reading.view.difference is not None else ()
    return len(left), sum(left)


def _has_summary(compaction: Compaction) -> bool:
    return compaction.summary is not None or compaction.summary_note is not None


def _fate(fate: str, key: str, *, has_summary: bool) -> str:
    if fate == "kept":
        return fate
    return "folded" if has_summary and key in FOLDED else "dropped"


def after_rows(session_id: int, reading: Reading) -> list[ItemRow]:
    """What no record of the window after holds, then its first MOST_AFTER items, in order."""
    found, part = reading.view.difference, reading.after_parts
    if found is None:
        return []
    changes = [change for change in found.changes if change.b is not None][:MOST_AFTER]
    base = baseline_row(part.shares, part.composition) if part is not None else None
    unlogged = [] if base is None else [
        ItemRow("after-0", base.order, base.category, base.name, base.why, base.tokens, "", "")
    ]  # fmt: skip
    return unlogged + _item_rows(session_id, changes, is_after=True)


def dropped_rows(session_id: int, view: BoundaryView, compaction: Compaction, *, start: int) -> list[ItemRow]:
    """Dropped items from `start`, at most DROPPED_SIZE, in their order."""
    shown = view.dropped[start : start + DROPPED_SIZE]
    rows = _item_rows(session_id, shown, is_after=False)
    has_summary = _has_summary(compaction)
    return [
        replace(row, why=_fate("dropped", change.category, has_summary=has_summary))
        for row, change in zip(rows, shown, strict=True)
    ]


def _item_rows(session_id: int, changes: Sequence[Change], *, is_after: bool) -> list[ItemRow]:
    lines = first_lines(change.item.text for change in changes)
    rows = []
    for change in changes:
        item = change.item
        place = (change.b if is_after else change.a) or 0
        is_new = change.kind == "new"
        name = lines.get(item.text.digest) or category(change.category).name
        why = item.reason if item.state in ("verbatim", "injected") else f"{item.state}, {item.reason}"
        rows.append(
            ItemRow(
                f"{'after' if is_after else 'dropped'}-{place + 1}",
                f"{'+' if is_new else ''}{place + 1}",
                change.category, name, why, change.tokens,
                "" if item.message_index is None else message_url(session_id, item.message_index),
                "new" if is_new else "",
            )
        )  # fmt: skip
    return rows


def account_rows(accounting: Accounting | None) -> list[AccountRow]:
    """The accounting line by line; none where one of the windows is not known."""
    if accounting is None:
        return []
    return [
        AccountRow("Before", accounting.before, is_change=False),
        AccountRow("Left the window", -accounting.dropped, is_change=True),
        AccountRow("New", accounting.new, is_change=True),
        AccountRow("Residual, signed", accounting.residual, is_change=True),
        AccountRow("After", accounting.after, is_change=False),
    ]
