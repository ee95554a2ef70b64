"""One boundary read from the store for analysis: two windows and the calls near them, whatever the session's length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contextviz.analysis.compaction import BoundaryView, Resolve, TokenFact, boundary, later_uses
from contextviz.analysis.composition import Calibration, Composition, Shares, shares_of
from contextviz.events.artefacts.markers import find_markers
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Message
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool
from contextviz.services.figures import compositions_at
from contextviz.store.queries import calls, messages, snapshots
from contextviz.store.queries.texts import find_handles
from contextviz.store.values import SessionRow, Window
from contextviz.web.pages.held import READER, HeldTexts, hold

MOST_CALLS_BEFORE = 5_000
MOST_CALLS_AFTER = 400
MOST_TEXT_BYTES = 3_000_000
MOST_LATER_BYTES = 600_000
MOST_LATER_USES = 20
MOST_ORIGINALS = 50


@dataclass(frozen=True, slots=True)
class Parts:
    """What a window is made of, in the numbers that the strip and the page of its call show."""

    composition: Composition
    shares: Shares

    @property
    def calibration(self) -> Calibration:
        """How its estimates became tokens."""
        made = self.composition
        return Calibration(self.shares.factor, made.scale_basis, self.shares.baseline, made.baseline_category)


@dataclass(frozen=True, slots=True)
class Reading:
    """A boundary as analysis sees it, with what the page needs of the windows themselves."""

    # Analysis' view; call numbers are the session's
    view: BoundaryView
    # The windows as they are stored, None where they are not known
    before: Window | None
    after: Window | None
    # Their compositions, and the tokens of their items; None with them
    before_parts: Parts | None
    after_parts: Parts | None
    # How much text the dropped items hold, in bytes: decides whether the ledger comes at once
    dropped_bytes: int
    # Whether the ledger was read
    has_ledger: bool


def read_boundary(row: SessionRow, compaction: Compaction, *, ledger: bool, at_once: int = 0) -> Reading:
    """Everything about one boundary. The ledger is read where `ledger` asks for it or what was dropped holds at
    most `at_once` bytes. The number of queries does not depend on the session."""
    before = _window(row.id, compaction.before_call)
    after = _window(row.id, compaction.after_call)
    windows = (before, after)
    transcript, moved = _partial(row, compaction, windows, _near_calls(row.id, compaction))
    parts = _parts(row.id, windows)
    view = _bounded(transcript, moved, HeldTexts({}, False), parts, with_ledger=False)
    dropped_bytes = sum(change.item.text.size for change in view.dropped)
    wanted = view.difference is not None and (ledger or dropped_bytes <= at_once)
    if wanted:
        view = _with_ledger(row, compaction, windows, view, parts)
    view.facts = replace(
        view.facts,
        before_call=None if compaction.before_call is None else compaction.before_call + 1,
        after_call=None if compaction.after_call is None else compaction.after_call + 1,
        prompt_before=_estimated(view.facts.prompt_before, parts[0]),
        prompt_after=_estimated(view.facts.prompt_after, parts[1]),
    )
    return Reading(view, before, after, *parts, dropped_bytes, wanted)


def _estimated(prompt: TokenFact, part: Parts | None) -> TokenFact:
    """A prompt that nobody reported is what the parts of its window add up to."""
    return prompt if part is None or prompt.basis != "estimated" else TokenFact(part.composition.known, "estimated")


def _window(session_id: int, call_index: int | None) -> Window | None:
    return None if call_index is None else snapshots.window_of_call(session_id, call_index)


@dataclass(frozen=True, slots=True)
class _Near:
    """Neighbouring calls, the index of the first, and the oldest message of whose calls they tell (0 for all)."""

    calls: list[ModelCall]
    start: int
    oldest: int


def _near_calls(session_id: int, compaction: Compaction, held: Window | None = None) -> _Near:
    """The calls beside the boundary, with as many before as said what the window `held`, MOST_CALLS_BEFORE at most."""
    last = compaction.after_call if compaction.after_call is not None else compaction.before_call
    if last is None:
        return _Near([], 0, 0)
    first = compaction.before_call if compaction.before_call is not None else last
    items = held.items if held is not None else ()
    said = [one.item.message_index for one in items if one.item.message_index is not None]
    reach, start = max(0, first - MOST_CALLS_BEFORE), first
    if said:
        start = min(calls.first_call_since(session_id, min(said), start=reach), first)
    found = calls.calls(session_id, start=start, stop=last + 1)
    known = [call.message_index for call in found if call.message_index is not None]
    whole = start == 0 or (bool(said) and start > reach)
    return _Near(found, start, 0 if whole else min(known, default=0))


def _partial(
    row: SessionRow,
    compaction: Compaction,
    windows: tuple[Window | None, Window | None],
    near: _Near,
) -> tuple[Transcript, Compaction]:
    """A transcript of the near calls alone, and the compaction with its calls as places among them.

    The call after has no message here: analysis reads later use from a transcript of its own.
    """
    transcript = Transcript(Session(row.source_id, row.format, cwd=row.cwd))
    after_call = compaction.after_call
    transcript.calls = [replace(call, message_index=None) if call.index == after_call else call for call in near.calls]
    moved = replace(
        compaction,
        before_call=None if compaction.before_call is None else compaction.before_call - near.start,
        after_call=None if after_call is None else after_call - near.start,
    )
    for window, at in zip(windows, (moved.before_call, moved.after_call), strict=True):
        if window is not None and at is not None:
            items = [_placed(one.item, near.oldest) for one in window.items]
            transcript.log.add(at, items, basis=window.snapshot.basis, note=window.snapshot.note)
    return transcript, moved


def _placed(item: ContextItem, oldest: int) -> ContextItem:
    """An item from before the calls that were read: which call had it first is then not known."""
    is_older = item.message_index is not None and item.message_index < oldest
    return replace(item, message_index=None) if is_older else item


Both = tuple[Parts | None, Parts | None]


def _parts(session_id: int, windows: tuple[Window | None, Window | None]) -> Both:
    """What both windows were drawn with, so that this page, the strip and the pages of the calls show the same tokens.
    One query."""
    indexes = [window.snapshot.call_index for window in windows if window is not None]
    found = compositions_at(session_id, indexes) if indexes else {}
    before, after = windows
    return _part(before, found), _part(after, found)


def _part(window: Window | None, found: Mapping[int, Composition]) -> Parts | None:
    if window is None:
        return None
    composition = found[window.snapshot.call_index]
    return Parts(composition, shares_of([one.item for one in window.items], composition))


def _bounded(
    transcript: Transcript, moved: Compaction, pool: TextPool, parts: Both, *, resolve: Resolve | None = None,
    with_ledger: bool = True,
) -> BoundaryView:  # fmt: skip
    before, after = parts
    known = before or after
    tokens = None if before is None or after is None else (before.shares.by_place, after.shares.by_place)
    return boundary(
        transcript, moved, pool, calibration=known.calibration if known else None, tokens=tokens, resolve=resolve,
        with_ledger=with_ledger,
    )  # fmt: skip


def _with_ledger(
    row: SessionRow,
    compaction: Compaction,
    windows: tuple[Window | None, Window | None],
    view: BoundaryView,
    parts: Both,
) -> BoundaryView:
    transcript, moved = _partial(row, compaction, windows, _near_calls(row.id, compaction, windows[0]))
    refs = [item.text for item in view.after or []] + [change.item.text for change in view.dropped]
    pool = hold(refs, most_bytes=MOST_TEXT_BYTES)
    originals = _originals([pool.texts.get(item.text.digest, "") for item in view.after or []])
    full = _bounded(transcript, moved, pool, parts, resolve=originals.get)
    if full.ledger is None:
        return full
    if pool.is_cut:
        full.ledger.notes.append(f"Only {MOST_TEXT_BYTES // 1_000_000} MB of the texts of both windows were read.")
    _add_later_uses(row, compaction, full)
    return full


def _originals(texts: Sequence[str]) -> dict[str, str]:
    """The originals behind the markers of a window, by handle. Three queries."""
    handles = dict.fromkeys(marker.handle for text in texts for marker in find_markers(text) if not marker.is_cut)
    digests = find_handles(list(handles)[:MOST_ORIGINALS])
    held = READER.get_many(digests.values())
    return {handle: held[digest] for handle, digest in digests.items() if digest in held}


def _add_later_uses(row: SessionRow, compaction: Compaction, view: BoundaryView) -> None:
    if compaction.after_call is None or view.ledger is None:
        return
    stop = compaction.after_call + MOST_CALLS_AFTER
    own = [
        call
        for call in calls.calls(row.id, start=compaction.after_call, stop=stop)
        if call.agent == compaction.agent and call.message_index is not None and call.purpose == "turn"
    ]
    answers = messages.messages_at(row.id, [call.message_index for call in own if call.message_index is not None])
    blocks = [block for message in answers.values() for block in message.blocks]
    refs = [block.text for block in blocks if block.kind in ("text", "tool_call")]
    pool = hold(refs, most_bytes=MOST_LATER_BYTES)
    transcript = Transcript(Session(row.source_id, row.format, cwd=row.cwd))
    transcript.messages, transcript.calls = _answers(own, answers)
    used, is_whole = later_uses(transcript, 0, pool, agent=compaction.agent)
    for one in view.ledger.rows:
        one.later = used.get((one.kind, one.canonical), [])[:MOST_LATER_USES]
    if not is_whole or pool.is_cut or stop < row.call_count:
        size = f"{MOST_LATER_BYTES // 1000} KB of output"
        view.ledger.notes.append(f"Later use was looked for in the next {MOST_CALLS_AFTER} calls and {size}.")


def _answers(own: list[ModelCall], found: dict[int, Message]) -> tuple[list[Message], list[ModelCall]]:
    """The answers in a list of their own, and the calls that point into it."""
    places = {index: at for at, index in enumerate(found)}
    moved = [
        replace(call, message_index=places[call.message_index])
        for call in own
        if call.message_index is not None and call.message_index in places
    ]
    return list(found.values()), moved
