"""The assembled lists side by side, and one run's whole window page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from contextviz.analysis.composition.categories import category_of, item_tokens
from contextviz.analysis.lab import Cell
from contextviz.charts import words
from contextviz.events.snapshot import ContextItem
from contextviz.web.pages.lab.columns import Column
from contextviz.web.pages.lab.place import LabPlace
from contextviz.web.pages.lab.windows import Compared, SlotWindow, compare, rows_shown
from contextviz.web.pages.links import message_url
from contextviz.web.pages.session.items import Namer, why_of

PAGE_ROWS = 30
BESIDE = 2
WORDS = {"kept": "kept", "changed": "changed", "only": "only here", "missing": "missing", "beside": "in every request"}
MARKS = {"kept": "kept", "changed": "variant", "only": "kept", "missing": "lost", "beside": "kept"}

_WHY_NOT = {
    "missing": "not in this window",
    "beside": "The recorded request holds it; a replay counts system prompt and tools as one number beside its list.",
}


@dataclass(frozen=True, slots=True)
class CellView:
    """An item in one window: a word, the mark before it, and why it is there as it is."""

    word: str
    mark: str
    why: str
    tokens: int | None
    # Opens its text, "" where it is not there
    url: str


@dataclass(frozen=True, slots=True)
class ListRow:
    """One item over the windows; `gap` rows are not shown before it: `alike` says whether they are the same in every
    window, or differ as the rows beside them do."""

    id: str
    name: str
    category: str
    tokens: int
    url: str
    cells: tuple[CellView, ...]
    is_same: bool
    gap: int
    alike: str


@dataclass(frozen=True, slots=True)
class Lists:
    """What is listed: of `total` items `differences` differ. `counts` by window: kept, changed, only here, missing,
    what is in every request beside the list (where something is), and older ones that are not compared."""

    rows: tuple[ListRow, ...]
    total: int
    differences: int
    first: int
    last: int
    listed: int
    is_whole: bool
    tail_gap: int
    counts: tuple[tuple[Column, dict[str, int], int], ...]
    since: int | None
    since_url: str
    previous: str
    next: str
    whole_url: str
    differences_url: str


def lists(place: LabPlace, windows: Sequence[SlotWindow]) -> Lists | None:
    """The windows that are known, item by item; None where none is. With `only` in the address one window, whole."""
    chosen = [one for one in windows if not one.missing and (place.only is None or one.column.slot == place.only)]
    if not chosen:
        return None
    compared = compare(chosen)
    whole = place.only is not None or len(chosen) == 1 or place.is_whole
    rows = rows_shown(compared, beside=BESIDE, whole=whole)
    start = min(place.start, max(len(rows) - 1, 0)) // PAGE_ROWS * PAGE_ROWS
    listed = rows[start : start + PAGE_ROWS]
    everything = [item.item for one in chosen for item in one.items]
    namer = Namer.of([row.item for _, row in listed], everything)
    found, before = [], rows[start - 1][0] if start else -1
    for at, row in listed:
        cells = tuple(_cell(place, one, cell) for one, cell in zip(chosen, row.cells, strict=True))
        found.append(
            ListRow(
                f"r-{at + 1}", namer.name(row.item), str(category_of(row.item)), item_tokens(row.item),
                _url(place, row.item), cells, row.is_same or len(chosen) == 1, at - before - 1,
                _alike(compared, before + 1, at),
            )
        )  # fmt: skip
        before = at
    end = start + len(listed)
    rest = len(compared.aligned.rows) - before - 1 if end == len(rows) else 0
    since = compared.since
    return Lists(
        tuple(found), len(compared.aligned.rows), compared.aligned.differences, start + 1 if listed else 0, end,
        len(rows), whole, rest, _counts(chosen, compared), since,
        message_url(place.session_id, since) if since is not None else "",
        place.url(start=start - PAGE_ROWS, anchor="lab-lists") if start else "",
        place.url(start=end, anchor="lab-lists") if end < len(rows) else "",
        place.url(is_whole=True, only=None, start=0, anchor="lab-lists"),
        place.url(is_whole=False, only=None, start=0, anchor="lab-lists"),
    )  # fmt: skip


def _alike(compared: Compared, start: int, end: int) -> str:
    """What rows that are not shown have in common."""
    rows = compared.aligned.rows[start:end]
    if all(row.is_same for row in rows):
        return "the same in every window"
    return "that differ in the same way" if not any(row.is_same for row in rows) else "not shown"


def _counts(chosen: Sequence[SlotWindow], compared: Compared) -> tuple[tuple[Column, dict[str, int], int], ...]:
    return tuple(
        (one.column, {WORDS[mark]: count for mark, count in counts.items() if count or mark != "beside"}, left)
        for one, counts, left in zip(chosen, compared.aligned.counts, compared.left_out, strict=True)
    )


def _cell(place: LabPlace, window: SlotWindow, cell: Cell) -> CellView:
    if cell.item is None or cell.place is None:
        return CellView(WORDS[cell.mark], MARKS[cell.mark], _WHY_NOT[cell.mark], None, "")
    why = why_of(cell.item)
    # What was compared leaves older items out: the place in the window is found again by the item itself.
    at = next((one.place for one in window.items if one.item is cell.item), None)
    return CellView(
        WORDS[cell.mark], MARKS[cell.mark], why, item_tokens(cell.item),
        _item_url(place, window, at) if at is not None else "",
    )  # fmt: skip


def _item_url(place: LabPlace, window: SlotWindow, at: int) -> str:
    run, made = window.column.run, window.call
    if run is None or made is None:
        return ""
    return reverse("lab_item", args=[place.session_id, window.column.key, made.index + 1, at + 1])


def _url(place: LabPlace, item: ContextItem) -> str:
    return message_url(place.session_id, item.message_index) if item.message_index is not None else ""


def category_table(windows: Sequence[SlotWindow]) -> list[tuple[str, tuple[int | None, ...]]]:
    """Tokens by category, a row each in the order of the window, a value a run; None is unknown."""
    keys = next((list(one.parts) for one in windows if one.parts is not None), [])
    return [(key, tuple(one.parts.get(key) if one.parts else None for one in windows)) for key in keys]


def size_words(window: SlotWindow) -> str:
    """A window's size against its limit, in words."""
    if window.tokens is None:
        return f"{words.UNKNOWN} size not known"
    share = f", {words.percent(window.share, 0)} of {words.compact(window.column.window)}" if window.share else ""
    return f"{words.compact(window.tokens)} tok{share}"
