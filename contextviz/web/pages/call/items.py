"""The items of a window with their texts, and what became of them since another call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from contextviz.analysis.difference import Change, WindowDifference
from contextviz.charts import words
from contextviz.events.snapshot import ContextItem
from contextviz.store.queries import snapshots
from contextviz.store.values import NotFound, WindowItem
from contextviz.web.pages.held import READER
from contextviz.web.pages.session.inspector import Side
from contextviz.web.pages.session.items import ItemRow, Namer, why_of
from contextviz.web.pages.session.place import Place
from contextviz.web.pages.session.shown import Shown, beginning, shown

PREVIEW_CHARS = 240
PREVIEW_BYTES = 900
WHOLE_BYTES = 900_000


@dataclass(frozen=True, slots=True)
class CallItem:
    """One item with its text."""

    # As lists show it; its change is new, moved or nothing
    row: ItemRow
    # Who it comes from, and what it is
    role: str
    kind: str
    # Its beginning, and where the whole text is
    text: Shown
    url: str
    # Whether its text is known by rule and not from a record
    is_derived: bool
    # The line before it where the prefix that a cache can serve ends, "" elsewhere
    boundary: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """How far the window agrees with the previous call's."""

    # The previous call of the same window, and its page
    number: int
    url: str
    # Leading items that are the same, and of how many
    items: int
    count: int
    # Tokens that a cache can serve, the baseline included; what was reported; reported minus predicted
    predicted: int | None
    reported: int | None
    gap: int | None
    # The first item that differs, in words
    broke: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The difference from A: kept + moved + gone = the items of A, kept + moved + new = those of B."""

    kind: str
    items: int
    # Window tokens of these items, as they are in B (gone ones as they were in A)
    tokens: int


def call_items(
    place: Place,
    found: Side,
    listed: Sequence[WindowItem],
    namer: Namer,
    changed: WindowDifference | None,
    boundary: tuple[int, str],
) -> tuple[CallItem, ...]:
    """The listed items; `boundary` is the place of the first item beyond the prefix, with its line."""
    if found.scale is None:
        return ()
    kinds = {one.b: one.kind for one in changed.changes if one.b is not None} if changed else {}
    texts = READER.raw([one.item.text for one in listed if one.item.text.size])
    rows = []
    for one in listed:
        kind = kinds.get(one.place, "kept")
        item = one.item
        row = ItemRow(
            f"i-{one.place + 1}", f"+{one.place + 1}" if kind == "new" else f"{one.place + 1}", one.category,
            namer.name(item), why_of(item) + (", moved" if kind == "moved" else ""), found.scale.by_place[one.place],
            place.at_message(item.message_index) if item.message_index is not None else "",
            "new" if kind == "new" else "",
        )  # fmt: skip
        url = reverse("item", args=[place.session_id, one.position])
        text = shown(
            beginning(texts.get(item.text.digest, b""), PREVIEW_CHARS), chars=item.text.chars, limit=PREVIEW_CHARS,
            most_bytes=PREVIEW_BYTES, url=url, unmask=reverse("unmask_item", args=[place.session_id, one.position]),
        )  # fmt: skip
        line = boundary[1] if one.place == boundary[0] else ""
        rows.append(CallItem(row, item.role, item.kind.replace("_", " "), text, url, item.basis == "derived", line))
    return tuple(rows)


def prefix_of(session_id: int, number: int, against: WindowDifference, namer: Namer, count: int) -> Prefix:
    """The shared prefix with the call `number` before."""
    reported = against.reported_cache_tokens
    predicted = against.predicted_cache_tokens
    first, other = against.break_b, against.break_a
    if first is None:
        broke = "Every item is as it was."
    elif other is None:
        broke = f"Only appended: the first new item is {namer.name(first)}."
    else:
        broke = f"The first item that differs is {namer.name(first)}, where {namer.name(other)} was."
    if against.prefix_tokens and predicted is None:
        broke = f"{broke} What stands in front of the items is not known of both requests."
    elif against.prefix_tokens and not predicted:
        broke = f"{broke} The tool definitions, which stand in front of them, go with one of the two requests only."
    gap = None if reported is None or predicted is None else reported - predicted
    url = reverse("call", args=[session_id, number])
    return Prefix(number, url, against.prefix_items, count, predicted, reported, gap, broke)


def boundary_of(prefix: Prefix | None) -> tuple[int, str]:
    """Where the boundary's line stands and what it says."""
    if prefix is None:
        return -1, ""
    reported = words.UNKNOWN if prefix.reported is None else words.tokens(prefix.reported)
    said = f"same as call {prefix.number:,} up to here: ~{words.tokens(prefix.predicted)} tok a cache can serve"
    return prefix.items, f"{said}, reported {reported}"


def counts_of(changed: WindowDifference | None, a: Side | None, b: Side) -> tuple[Counts, ...]:
    """The difference in numbers, each item with its own window's tokens."""
    if changed is None or a is None or a.scale is None or b.scale is None:
        return ()
    found = []
    for kind in ("kept", "moved", "new", "gone"):
        chosen = changed.of(kind)
        tokens = sum(b.scale.by_place[one.b] if one.b is not None else a.scale.by_place[one.a or 0] for one in chosen)
        found.append(Counts(kind, len(chosen), tokens))
    return tuple(found)


def gone_rows(gone: Iterable[Change], a: Side | None, namer: Namer, place: Place) -> tuple[ItemRow, ...]:
    """Items of A that are not in B, in A's order."""
    rows = []
    for one in gone:
        tokens = a.scale.by_place[one.a] if a and a.scale and one.a is not None else None
        index = one.item.message_index
        url = place.at_message(index) if index is not None else ""
        order = "−" if one.a is None else f"−{one.a + 1}"
        row = ItemRow(f"g-{one.a}", order, one.category, namer.name(one.item), why_of(one.item), tokens, url, "gone")
        rows.append(row)
    return tuple(rows)


def item_text(session_id: int, position: int) -> tuple[ContextItem, Shown]:
    """One item of the session's table with its whole text, up to a megabyte; raises NotFound."""
    found = snapshots.items_at(session_id, [position]).get(position)
    if found is None:
        raise NotFound(f"Session {session_id} has no context item {position}.")
    item: ContextItem = found[0]
    data = READER.raw([item.text]).get(item.text.digest, b"")
    url = reverse("item_download", args=[session_id, position])
    text = shown(
        beginning(data, WHOLE_BYTES), chars=item.text.chars, limit=WHOLE_BYTES, most_bytes=WHOLE_BYTES, url=url,
        unmask=reverse("unmask_item", args=[session_id, position]),
    )  # fmt: skip
    return item, replace(text, url=url)


def item_bytes(session_id: int, position: int) -> bytes:
    """The whole text of one item as bytes of UTF-8; raises NotFound."""
    found = snapshots.items_at(session_id, [position]).get(position)
    data = READER.raw([found[0].text]).get(found[0].text.digest) if found else None
    if data is None:
        raise NotFound(f"Session {session_id} has no context item {position}, or its text is no longer held.")
    return data
