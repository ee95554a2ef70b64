"""If it compacted now: what the session's own rule would remove, and which identifiers would go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.analysis.compaction import LossRow
from contextviz.analysis.composition.categories import category_of
from contextviz.analysis.live.if_now import AtRisk, Configured, IfNow, Removed, at_risk, if_now
from contextviz.charts import words
from contextviz.events.identifiers import class_name
from contextviz.events.masking import without_secrets
from contextviz.events.snapshot import ContextItem
from contextviz.store.queries import sessions
from contextviz.store.values import NotFound, SessionRow
from contextviz.web.pages.held import HeldTexts, hold, title_of
from contextviz.web.pages.live.next_window import NextWindow, next_window
from contextviz.web.pages.session.items import ItemRow, Namer
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.tabs import Tab, session_tabs

PAGE_SIZE = 100
MOST_ROWS = 60
MOST_TEXT = 300
# Identifiers are read at about 1.3 MB/s: this much comes with the page, more is asked for by it.
AT_ONCE_BYTES = 48_000
MOST_BYTES = 3_000_000
# Texts whose characters are not their bytes are read to be counted as JavaScript does.
MOST_COUNTED_BYTES = 300_000
QUALITIES = {
    "exact": "Exact: measured, no cut missed.",
    "derived": "Derived: the rule is stated, and where it may err.",
}


@dataclass(frozen=True, slots=True)
class RiskRow:
    """One identifier that would be lost: its class, its last spelling, the same for the pointer with secrets masked,
    and how often the items that would go name it."""

    kind: str
    text: str
    title: str
    mentions: int


@dataclass(frozen=True, slots=True)
class Risks:
    """What stands in no summary and no item that stays: `rows` of `total`, of `looked_at` identifiers that would go.
    Not read yet where `url` is set: that address reads them, out of `size` bytes of text."""

    rows: tuple[RiskRow, ...] = ()
    total: int = 0
    looked_at: int = 0
    notes: tuple[str, ...] = ()
    url: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class IfNowPage:
    """The page."""

    session_id: int
    title: str
    # Its own address, and the tabs of the session
    url: str
    tabs: list[Tab]
    # The last call's number and its page; how many messages stand after its window
    call: int | None
    call_url: str
    said: int
    # What would go; None where no window is known
    found: IfNow | None
    # The window with the last call's prompt and what was said since; what of it would neither go nor stay
    window: NextWindow
    residual: int | None
    quality: str
    # Why there is no answer, "" where there is one; what is uncertain
    missing: str
    notes: tuple[str, ...]
    # This page of the items that would go, in order, with the numbers of the first and last, and its neighbours
    rows: tuple[ItemRow, ...]
    first: int
    last: int
    previous: str
    next: str
    # None where nothing would go
    risks: Risks | None


def if_now_page(row: SessionRow, *, start: int, identifiers: bool) -> IfNowPage:
    """The page, its list from item `start` (0-based). A fixed number of queries, whatever the session's length."""
    window = next_window(row)
    found = None if window.missing else if_now(
        window.items, _configured(row), length=_Lengths(window.items).of, tokens=window.tokens
    )  # fmt: skip
    removed = found.removed if found else ()
    start = start if 0 <= start < len(removed) else 0
    shown = removed[start : start + PAGE_SIZE]
    end = start + len(shown)
    url = reverse("if_now", args=[row.id])
    return IfNowPage(
        row.id, title_of(row), url, session_tabs(row, ""), window.call,
        reverse("call", args=[row.id, window.call]) if window.call else "", window.said, found,
        window, _residual(window, found),
        QUALITIES[found.quality] if found and found.quality else "", window.missing, window.notes,
        _rows(row.id, window.items, shown), start + 1 if shown else 0, end,
        _at(url, max(0, start - PAGE_SIZE)) if start else "", _at(url, end) if end < len(removed) else "",
        _risks(row, window, found, url, is_asked=identifiers) if found and removed else None,
    )  # fmt: skip


def _residual(window: NextWindow, found: IfNow | None) -> int | None:
    """Signed: the whole window less what would go, what would stay and what is not logged, which stays with every
    request. None where the window's size is unknown."""
    if found is None or window.total is None:
        return None
    return window.total - found.removed_tokens - found.kept_tokens - window.unlogged


def _at(url: str, start: int) -> str:
    return f"{url}?{urlencode({'from': start + 1})}" if start else url


def _configured(row: SessionRow) -> Configured:
    try:
        known = sessions.session_detail(row.id, with_times=False, with_lists=False).session.configuration
    except NotFound:  # it is being read for the first time
        known = None
    if known is None:
        return Configured(row.format, row.agent)
    return Configured(row.format, row.agent, known.engine, known.settings)


class _Lengths:
    """Lengths of texts as JavaScript counts them. Plain ASCII needs no look; of others the newest are read."""

    def __init__(self, items: Sequence[ContextItem]) -> None:
        odd = [item.text for item in reversed(items) if item.text.size != item.text.chars]
        self._texts = hold(odd, most_bytes=MOST_COUNTED_BYTES).texts if odd else {}

    def of(self, item: ContextItem) -> int:
        text = self._texts.get(item.text.digest)
        return item.text.chars if text is None else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _rows(session_id: int, items: Sequence[ContextItem], shown: Sequence[Removed]) -> tuple[ItemRow, ...]:
    if not shown:
        return ()
    namer = Namer.of([items[one.place] for one in shown], items)
    place = Place(session_id)

    def row(one: Removed) -> ItemRow:
        item = items[one.place]
        url = place.at_message(item.message_index) if item.message_index is not None else ""
        return ItemRow(
            f"i-{one.place + 1}", f"−{one.place + 1}", category_of(item), namer.name(item), one.why, one.tokens, url,
            "gone",
        )  # fmt: skip

    return tuple(map(row, shown))


def _risks(row: SessionRow, window: NextWindow, found: IfNow, url: str, *, is_asked: bool) -> Risks:
    size = sum(item.text.size for item in window.items)
    if size > AT_ONCE_BYTES and not is_asked:
        return Risks(url=f"{url}?identifiers=1", size=size)
    gone = {one.place for one in found.removed}
    # What stays is read first: what is not read cannot be found to stay.
    order = sorted(range(len(window.items)), key=lambda place: place in gone)
    texts = hold((window.items[place].text for place in order if window.items[place].text.size), most_bytes=MOST_BYTES)
    made = at_risk(window.items, found, texts, root=row.cwd)
    return Risks(
        tuple(map(_risk, made.rows[:MOST_ROWS])), len(made.rows), made.looked_at, _notes(made, texts), size=size
    )


def _notes(made: AtRisk, texts: HeldTexts) -> tuple[str, ...]:
    cut = f"Only {words.size(MOST_BYTES)} of the window's texts were read."
    return (*made.notes, cut) if texts.is_cut else made.notes


def _risk(row: LossRow) -> RiskRow:
    text = row.text if len(row.text) <= MOST_TEXT else row.text[: MOST_TEXT - 1] + "…"
    return RiskRow(class_name(row.kind, row.canonical), text, without_secrets(text), row.mentions)
