"""The context inspector: what the window held at a call, and what changed since another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.urls import reverse

from contextviz.analysis.composition import Composition, Shares
from contextviz.analysis.difference import WindowDifference, difference
from contextviz.analysis.strip import StripTable
from contextviz.charts import words
from contextviz.events.evidence import SOURCES, described
from contextviz.events.snapshot import ContextItem
from contextviz.services import figures
from contextviz.store.queries import snapshots
from contextviz.store.values import Window, WindowItem
from contextviz.web.pages.session.items import ItemRow, Namer, baseline_row, refs_of, scale_of, why_of
from contextviz.web.pages.session.place import Place

HEAD_ITEMS = 10
TAIL_ITEMS = 20
GONE_ITEMS = 8
BASES = {
    "request": "Exact: the client recorded this request.",
    "rules": "Rebuilt by the format's rules from the transcript.",
    "partial": "Partly known.",
}


# What stands on the badge for each verdict, with the badge's state; the log's name goes into it.
CHECKS = {
    "confirmed": ("verified", "confirmed by the {}"),
    "corrected": ("mismatch", "corrected by the {}"),
    "refuted": ("mismatch", "the {} disagrees"),
    "differs": ("missing", "the {} differs"),
}


@dataclass(frozen=True, slots=True)
class CheckNote:
    """What the client's own log of its requests says of a window: a badge, and a sentence with the numbers."""

    state: str
    label: str
    sentence: str


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One line of the composition: tokens in A and B, and B − A; None is unknown."""

    key: str
    a: int | None
    b: int | None
    change: int | None


@dataclass(frozen=True, slots=True)
class CompositionTable:
    """What components/composition.html draws. Σ rows + residual = total, in either column."""

    # Every category, in stack order
    rows: tuple[CategoryRow, ...]
    # Reported prompt minus the known parts
    residual_a: int | None
    residual_b: int | None
    # The reported prompt
    total_a: int | None
    total_b: int | None
    total_change: int | None
    # derived where calibrated by reported prompts, estimated else
    basis_a: str
    basis_b: str
    # Whether only B is shown
    one_column: bool
    # B's parts, for the bar
    parts: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Inspector:
    """The inspector at play-head B."""

    # The call, from 1; None where the window has no call at all
    call: int | None
    # Play-head A, None without one
    a: int | None
    # The call's own page
    url: str
    # Composition of B, and of A beside it
    composition: CompositionTable | None
    # The window in tokens that the bar is drawn against
    window: int | None
    # Items in order: the first ones, how many are left out, the last ones
    head: tuple[ItemRow, ...]
    hidden: int
    tail: tuple[ItemRow, ...]
    # How many items the window holds
    count: int
    # Items of A that are gone, the largest first, how many there are and their tokens
    gone: tuple[ItemRow, ...]
    gone_count: int
    gone_tokens: int
    # How the window is known, in words; what is uncertain
    basis: str
    note: str
    # How it stands to the client's own log of its requests; None without one
    check: CheckNote | None
    # Without a window: why there is none
    missing: str
    # Without A: the addresses with A and B around the compaction before or after B, "" where there is none
    boundary_url: str
    boundary_text: str
    # At the last call of the main chain: what would go if it compacted now; "" elsewhere
    if_now_url: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One play-head's window with its numbers; `window` is None where it is not known."""

    number: int
    composition: Composition
    window: Window | None
    scale: Shares | None


def side(session_id: int, number: int) -> Side:
    """A call's window and composition, by the number people read."""
    composition = figures.composition_of(session_id, number - 1)
    window = snapshots.window_of_call(session_id, number - 1)
    return Side(number, composition, window, scale_of(window, composition) if window else None)


def inspector(place: Place, table: StripTable) -> Inspector:
    """The inspector for the play-heads of `place` (already moved onto calls of `table`)."""
    if place.b is None:
        return _empty("No model call is recorded here, so there is no context to show.")
    b = side(place.session_id, place.b)
    a = side(place.session_id, place.a) if place.a is not None else None
    row = table.calls.index(place.b)
    url, text = _boundary(place, table)
    lists = _lists(place, a, b)
    return Inspector(
        call=place.b,
        a=place.a,
        url=reverse("call", args=[place.session_id, place.b]) + (f"?a={place.a}" if place.a else ""),
        composition=composition_table(a.composition if a else None, b.composition),
        window=table.window[row],
        head=lists.head,
        hidden=lists.hidden,
        tail=lists.tail,
        count=len(b.window.items) if b.window else 0,
        gone=lists.gone,
        gone_count=lists.gone_count,
        gone_tokens=lists.gone_tokens,
        basis=BASES[b.window.snapshot.basis] if b.window else "",
        note=note_of(b),
        check=check_of(b),
        missing="" if b.window else missing_window(b.composition),
        boundary_url=url,
        boundary_text=text,
        if_now_url=reverse("if_now", args=[place.session_id]) if _is_now(place, table) else "",
    )


def _is_now(place: Place, table: StripTable) -> bool:
    return place.agent is None and place.b == table.calls[-1]


def _empty(sentence: str) -> Inspector:
    return Inspector(None, None, "", None, None, (), 0, (), 0, (), 0, 0, "", "", None, sentence, "", "")


def check_of(one: Side) -> CheckNote | None:
    """How a window stands to the client's own log of its requests; None where no log speaks of the call."""
    check = one.window.snapshot.check if one.window else None
    if check is None:
        return None
    state, label = CHECKS[check.verdict]
    return CheckNote(state, label.format(SOURCES[check.source]), described(check))


def note_of(one: Side) -> str:
    """What is uncertain about a window, in sentences."""
    notes = [one.window.snapshot.note if one.window else None, one.composition.note if one.window else None]
    return " ".join(note[:1].upper() + note[1:].rstrip(".") + "." for note in notes if note)


def missing_window(composition: Composition) -> str:
    """Why nothing is known of a window."""
    said = "The source does not record what the model was given at this call, and no rule rebuilds it"
    rest = (
        f"; only its reported size is known, {words.tokens(composition.reported)} tokens"
        if composition.reported
        else ""
    )
    return f"{said}{rest}."


def composition_table(a: Composition | None, b: Composition) -> CompositionTable:
    """Both compositions side by side; change is unknown where one side is."""
    first = a.parts if a else None
    rows = []
    for key, part in b.parts.items():
        before = first[key] if first else None
        rows.append(CategoryRow(key, before, part, None if before is None or part is None else part - before))
    both = a is not None and a.reported is not None and b.reported is not None
    return CompositionTable(
        tuple(rows),
        a.residual if a else None,
        b.residual,
        a.reported if a else None,
        b.reported,
        (b.reported or 0) - (a.reported or 0) if both and a else None,
        (a.scale_basis if a.has_snapshot else "unknown") if a else "unknown",
        b.scale_basis if b.has_snapshot else "unknown",
        a is None,
        dict(b.parts.items()),
    )


def changes_between(a: Side, b: Side, cache_read: int | None = None) -> WindowDifference | None:
    """The difference from window A to window B, None where one of them is not known."""
    if a.window is None or b.window is None or a.scale is None or b.scale is None:
        return None
    prompts = [one.composition.reported for one in (a, b) if one.composition.reported is not None]
    found = difference(
        refs_of(a.window.items), refs_of(b.window.items), tokens=(a.scale.by_place, b.scale.by_place),
        baseline=b.scale.baseline, cache_read=cache_read, most_cached=min(prompts, default=None),
    )  # fmt: skip
    with_front, without = (b, a) if b.scale.baseline else (a, b)
    front = with_front.composition.baseline_category
    if front is None or bool(a.scale.baseline) == bool(b.scale.baseline) or without.composition.parts[front]:
        return found
    # What stands in front of every item goes with one of the two requests only: nothing behind it can be served.
    is_known = without.composition.parts[front] is not None
    return replace(found, predicted_cache_tokens=0 if is_known else None)


@dataclass(frozen=True, slots=True)
class _Lists:
    head: tuple[ItemRow, ...] = ()
    hidden: int = 0
    tail: tuple[ItemRow, ...] = ()
    gone: tuple[ItemRow, ...] = ()
    gone_count: int = 0
    gone_tokens: int = 0


def _lists(place: Place, a: Side | None, b: Side) -> _Lists:
    if b.window is None or b.scale is None:
        return _Lists()
    items, scale = b.window.items, b.scale
    changed = changes_between(a, b) if a else None
    new = {one.b for one in changed.of("new")} if changed else set()
    gone = [(one, _tokens_in(a, one.a)) for one in (changed.of("gone") if changed else [])]
    biggest = sorted(gone, key=lambda pair: -pair[1])[:GONE_ITEMS]
    is_short = len(items) <= HEAD_ITEMS + TAIL_ITEMS + 1
    first, last = (items, []) if is_short else (items[:HEAD_ITEMS], items[-TAIL_ITEMS:])
    everything = [*refs_of(items), *(refs_of(a.window.items) if a and a.window else [])]
    namer = Namer.of([*refs_of(first), *refs_of(last), *(one.item for one, _ in biggest)], everything)

    def row(one: WindowItem) -> ItemRow:
        is_new = one.place in new
        return ItemRow(
            f"i-{one.place + 1}", f"+{one.place + 1}" if is_new else f"{one.place + 1}", one.category,
            namer.name(one.item), why_of(one.item), scale.by_place[one.place], _leads(place, one.item),
            "new" if is_new else "",
        )  # fmt: skip

    base = baseline_row(scale, b.composition)
    return _Lists(
        head=(*([base] if base else []), *(row(one) for one in first)),
        hidden=len(items) - len(first) - len(last),
        tail=tuple(row(one) for one in last),
        gone=tuple(
            ItemRow(f"g-{one.a}", "−", one.category, namer.name(one.item), f"{one.item.state} in A", tokens,
                    _leads(place, one.item), "gone")
            for one, tokens in biggest
        ),
        gone_count=len(gone),
        gone_tokens=sum(tokens for _, tokens in gone),
    )  # fmt: skip


def _tokens_in(a: Side | None, at: int | None) -> int:
    return a.scale.by_place[at] if a and a.scale and at is not None else 0


def _leads(place: Place, item: ContextItem) -> str:
    return place.at_message(item.message_index) if item.message_index is not None else ""


def _boundary(place: Place, table: StripTable) -> tuple[str, str]:
    """Where A and B stand on either side of the compaction nearest to B."""
    marks = [one for one in table.compactions if one.before_call is not None and one.after_call is not None]
    if place.a is not None or place.b is None or not marks:
        return "", ""
    at = place.b
    mark = min(marks, key=lambda one: abs((one.after_call or 0) - at))
    return place.url(a=mark.before_call, b=mark.after_call), f"Across compaction {mark.number}"


def settled(place: Place, table: StripTable) -> tuple[int | None, int | None, Sequence[str]]:
    """Play-heads A and B on calls of this window: B the last one by itself, others moved to the call before."""
    notices = []
    if not table.calls:
        return None, None, ()
    found: list[int | None] = []
    for name, wanted in (("A", place.a), ("B", place.b)):
        at = None if wanted is None else max([call for call in table.calls if call <= wanted], default=table.calls[0])
        if wanted is not None and at != wanted:
            notices.append(f"Play-head {name}: this window has no call {wanted:,}; it stands at call {at:,}.")
        found.append(at)
    b = table.calls[-1] if found[1] is None else found[1]
    return found[0] if found[0] != b else None, b, notices
