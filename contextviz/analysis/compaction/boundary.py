"""One boundary: the window before, the window after, what left, what came, and what became of what left."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contextviz.analysis.compaction.loss import (
    FormKey,
    LaterUse,
    LossLedger,
    Resolve,
    Source,
    ledger,
    offered_tools,
    readable,
    readable_text,
)
from contextviz.analysis.composition.calibration import Calibration
from contextviz.analysis.composition.categories import CATEGORIES, Category
from contextviz.analysis.composition.compose import reported_prompt
from contextviz.analysis.composition.shares import scaled
from contextviz.analysis.difference import Change, WindowDifference, difference
from contextviz.events.compaction import Compaction, CompactionKind
from contextviz.events.identifiers import extract
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem, SnapshotLog
from contextviz.events.text import TextPool

MAX_LATER_CHARS = 1_500_000
MAX_LATER_USES = 20
Fate = Literal["kept", "dropped", "new"]


class TokenFact(NamedTuple):
    """A number with its basis; "unknown" goes with None."""

    tokens: int | None
    basis: Literal["reported", "estimated", "unknown"]


@dataclass(frozen=True, slots=True)
class CompactionFacts:
    """What is written about a boundary. Client numbers are the client's claims; prompts are what the provider
    reported for the last call before and the first after, else the window's estimate. Calls count from 1."""

    number: int
    kind: CompactionKind
    trigger: str | None
    producer: str | None
    duration_seconds: float | None
    before_call: int | None
    after_call: int | None
    client_before_tokens: int | None
    client_after_tokens: int | None
    prompt_before: TokenFact
    prompt_after: TokenFact
    summary_tokens: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """Items of one category and one fate: how many and how many window tokens. Those that were in the window before
    count as they did there."""

    fate: Fate
    category: Category
    items: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Accounting:
    """before − dropped + new + residual = after, exactly. Before and after are reported where both are."""

    before: int
    dropped: int
    new: int
    after: int
    residual: int
    basis: Literal["reported", "estimated"]


@dataclass(slots=True)
class BoundaryView:
    """One compaction with its two windows. Where one of them is not known, `difference` and what follows from
    it is None, and `notes` say why."""

    facts: CompactionFacts
    before: list[ContextItem] | None
    after: list[ContextItem] | None
    difference: WindowDifference | None = None
    groups: list[Group] = field(default_factory=list)
    accounting: Accounting | None = None
    ledger: LossLedger | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def dropped(self) -> list[Change]:
        """Items that left the window, in their order."""
        return self.difference.of("gone") if self.difference else []

    @property
    def kept(self) -> list[Change]:
        """Items that are in both windows, in the order of the window after."""
        return self.difference.of("kept", "moved") if self.difference else []

    @property
    def new(self) -> list[Change]:
        """Items that came: the summary, what the client put in again, and what was said between the two calls."""
        return self.difference.of("new") if self.difference else []


def boundary(
    transcript: Transcript,
    compaction: Compaction,
    pool: TextPool,
    *,
    calibration: Calibration | None = None,
    tokens: tuple[Sequence[int], Sequence[int]] | None = None,
    resolve: Resolve | None = None,
    with_ledger: bool = True,
) -> BoundaryView:
    """Everything about one compaction of `transcript`.

    `tokens` are those of the items of the window before and after, where the compositions of both are known; else
    `calibration` makes them.

    `resolve` gets an original by its handle, only where its bytes are verified. The ledger reads texts (some
    seconds for very large windows); leave it out where only the items are shown.
    """
    before = _window(transcript.log, compaction.before_call)
    after = _window(transcript.log, compaction.after_call)
    scale = calibration.scale if calibration else 1.0
    facts = _facts(transcript, compaction, before, after, calibration)
    view = BoundaryView(facts, before, after, notes=_missing(compaction, before, after))
    if before is None or after is None or compaction.after_call is None:
        return view
    cache = transcript.calls[compaction.after_call].usage.cache_read_tokens
    baseline = calibration.baseline if calibration else None
    view.difference = difference(before, after, scale=scale, tokens=tokens, baseline=baseline, cache_read=cache)
    view.groups = _groups(view)
    view.accounting = _account(view)
    if with_ledger:
        view.ledger = _ledger(transcript, compaction, view, pool, resolve)
    return view


def _window(log: SnapshotLog, call_index: int | None) -> list[ContextItem] | None:
    if call_index is None:
        return None
    position = find_snapshot(log, call_index)
    return None if position is None else log.window(position)


def find_snapshot(log: SnapshotLog, call_index: int) -> int | None:
    """The position of call `call_index`'s snapshot in `log`, or None."""
    position = bisect_left(log.snapshots, call_index, key=lambda snapshot: snapshot.call_index)
    found = position < len(log.snapshots) and log.snapshots[position].call_index == call_index
    return position if found else None


def _missing(compaction: Compaction, before: list[ContextItem] | None, after: list[ContextItem] | None) -> list[str]:
    notes = []
    if before is None:
        where = "No call is known before" if compaction.before_call is None else "The window is not known right before"
        notes.append(f"{where} this compaction, so what left cannot be told.")
    if after is None:
        where = "No call follows" if compaction.after_call is None else "The window is not known right after"
        notes.append(f"{where} this compaction, so what stayed cannot be told.")
    return notes


def _facts(
    transcript: Transcript,
    compaction: Compaction,
    before: list[ContextItem] | None,
    after: list[ContextItem] | None,
    calibration: Calibration | None,
) -> CompactionFacts:
    return CompactionFacts(
        compaction.number,
        compaction.kind,
        compaction.trigger,
        compaction.producer,
        compaction.duration_seconds,
        None if compaction.before_call is None else compaction.before_call + 1,
        None if compaction.after_call is None else compaction.after_call + 1,
        compaction.tokens_before,
        compaction.tokens_after,
        _prompt(transcript, compaction.before_call, before, calibration),
        _prompt(transcript, compaction.after_call, after, calibration),
        compaction.summary.estimated_tokens if compaction.summary else None,
    )


def _prompt(
    transcript: Transcript, call: int | None, window: list[ContextItem] | None, calibration: Calibration | None
) -> TokenFact:
    reported = None if call is None else reported_prompt(transcript.calls[call])
    if reported is not None:
        return TokenFact(reported, "reported")
    if window is None:
        return TokenFact(None, "unknown")
    whole = sum(scaled(window, calibration.scale if calibration else 1.0))
    return TokenFact(whole + ((calibration.baseline or 0) if calibration else 0), "estimated")


def _groups(view: BoundaryView) -> list[Group]:
    counted: dict[tuple[Fate, Category], list[int]] = defaultdict(lambda: [0, 0])
    fates: list[tuple[Fate, list[Change]]] = [("kept", view.kept), ("dropped", view.dropped), ("new", view.new)]
    for fate, changes in fates:
        for change in changes:
            entry = counted[(fate, change.a_category or change.category)]
            entry[0] += 1
            entry[1] += change.tokens if change.a is None else change.a_tokens
    return [
        Group(fate, category, *counted[(fate, category)])
        for fate, _ in fates
        for category in CATEGORIES
        if (fate, category) in counted
    ]


def _account(view: BoundaryView) -> Accounting | None:
    before, after = view.facts.prompt_before, view.facts.prompt_after
    if before.tokens is None or after.tokens is None or view.difference is None:
        return None
    dropped = sum(change.tokens for change in view.dropped)
    new = sum(change.tokens for change in view.new)
    first, last = before.tokens, after.tokens
    basis: Literal["reported", "estimated"] = "reported"
    if (before.basis, after.basis) != ("reported", "reported"):
        # One reported and one estimated side would make the estimate's error look like a loss.
        basis = "estimated"
        first, last = sum(view.difference.a_tokens), sum(view.difference.b_tokens)
    return Accounting(first, dropped, new, last, last - (first - dropped + new), basis)


def _ledger(
    transcript: Transcript, compaction: Compaction, view: BoundaryView, pool: TextPool, resolve: Resolve | None
) -> LossLedger:
    root = transcript.session.cwd
    clock = _CallClock(transcript, compaction.agent)
    sources = [
        Source(readable(change.item, pool), change.item.role, clock.first_call_with(change.item))
        for change in view.dropped
        if change.item.kind not in ("system", "tools")
    ]
    after = view.after or []
    tools = offered_tools(view.before or [], after)
    result = ledger(sources, [readable(item, pool) for item in after], resolve=resolve, root=root, tools=tools)
    if compaction.after_call is not None:
        used, is_whole = later_uses(transcript, compaction.after_call, pool, agent=compaction.agent)
        for row in result.rows:
            row.later = used.get((row.kind, row.canonical), [])[:MAX_LATER_USES]
        if not is_whole:
            result.notes.append(f"Later use was looked for in the next {MAX_LATER_CHARS:,} characters of output.")
    return result


class _CallClock:
    """Tells for an item the number of the call whose window could have it first."""

    def __init__(self, transcript: Transcript, agent: str | None):
        pairs = sorted(
            (call.message_index, call.index + 1)
            for call in transcript.calls
            if call.agent == agent and call.message_index is not None
        )
        self._messages = [message for message, _ in pairs]
        self._numbers = [number for _, number in pairs]

    def first_call_with(self, item: ContextItem) -> int | None:
        """The call that produced `item` itself, or that was first given it; None where that is not known."""
        if item.message_index is None or not self._messages:
            return None
        at = bisect_left(self._messages, item.message_index)
        return self._numbers[min(at, len(self._numbers) - 1)]


def later_uses(
    transcript: Transcript, first_call: int, pool: TextPool, *, agent: str | None = None
) -> tuple[dict[FormKey, list[LaterUse]], bool]:
    """Which calls from `first_call` (an index) on name which identifiers in their output, thinking left out.

    Reads at most MAX_LATER_CHARS; the second value is whether that was everything.
    """
    found: dict[FormKey, list[LaterUse]] = defaultdict(list)
    left = MAX_LATER_CHARS
    root = transcript.session.cwd
    for call in transcript.calls[first_call:]:
        if call.agent != agent or call.message_index is None or call.purpose != "turn":
            continue
        for where, text in _outputs(transcript, call.message_index, pool):
            left -= len(text)
            if left < 0:
                return found, False
            for form in dict.fromkeys((one.kind, one.canonical) for one in extract(text, root=root)):
                uses = found[form]
                if not uses or uses[-1] != (call.index + 1, where):
                    uses.append(LaterUse(call.index + 1, where))
    return found, True


def _outputs(
    transcript: Transcript, message_index: int, pool: TextPool
) -> Iterable[tuple[Literal["arguments", "answer"], str]]:
    for block in transcript.messages[message_index].blocks:
        if block.kind not in ("text", "tool_call"):
            continue
        try:
            text = pool.get(block.text)
        except KeyError:
            continue
        yield ("arguments", readable_text(text)) if block.kind == "tool_call" else ("answer", text)
