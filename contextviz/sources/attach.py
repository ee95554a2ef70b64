"""An engine's store or log beside its host's sessions, put into the session it belongs to.

While lossless-claw owns the window, the host's transcript knows nothing of compactions: every message stays in
it. The store knows which messages were folded into which summaries, and when. Both together give what the model
was given at each call (engines.md 7.5; formats.md section I). Cortext's state says where the window begins (4.5);
logs say what was decided, and the tokens before and after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, SummaryStore
from contextviz.events.engine_event import EngineEvent, in_time_order
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.snapshot import SnapshotBasis, SnapshotLog
from contextviz.events.text import TextPool
from contextviz.events.times import EARLIEST
from contextviz.sources.folded import Anchors, FoldedWindow
from contextviz.sources.joining import EVENTS_FORMAT, LOG_FORMAT, TELEMETRY_FORMAT
from contextviz.sources.windowed import NOT_FOUND, Anchor, entries_shown, mark_unknown, move_windows

ROLE_WORDS = {"tool": "tool", "toolResult": "tool"}
# Engines whose summaries stand beside the host's messages and never in place of them (engines.md 3.8).
SUMMARIES_ONLY = frozenset({"flowctx"})
CORTEXT = "cortext"
SAME_EVENT = timedelta(seconds=2)
UNPROVEN = "the store's folds could not be replayed to the context it holds: summaries or their times may be off"


def attach(host: Transcript, part: Transcript, pool: TextPool | None = None) -> None:
    """Put `part` (a transcript read from an engine's store or log) into the session it belongs to.

    Its events, files and problems go over, its compactions in time order with the calls around them. `pool` is where
    the host's texts are; without it the windows of Cortext stay as they are.
    """
    if part.session.format == LOG_FORMAT:
        _told(host, part)
    elif part.session.format == TELEMETRY_FORMAT:
        _compared(host, part)
        return
    elif part.session.format == EVENTS_FORMAT:
        _posted(host, part)
    elif part.session.format == CORTEXT:
        _window_moved(host, part, pool)
    elif part.store is not None and part.store.engine in SUMMARIES_ONLY:
        _beside(host, part)
    elif part.store is not None:
        _folded(host, part, part.store)
    elif not part.engine_events:
        return
    host.engine_events = in_time_order([*host.engine_events, *part.engine_events])
    host.files.extend(name for name in part.files if name not in host.files)
    # The host's index counts what its engine did; with the engine's compactions the two may now agree.
    if host.session.hints.get("compaction_count") == len(host.compactions):
        host.problems = [problem for problem in host.problems if problem.code != "count_mismatch"]
    host.problems.extend(part.problems)


def _folded(host: Transcript, part: Transcript, store: SummaryStore) -> None:
    """Set the store, and rebuild the windows of the main agent's calls. Where replaying the folds gives exactly the
    context that the store holds, the windows are by rule ("rules"); else they are "partial" with a note."""
    anchors = Anchors.of(host, store)
    folds = _placed(host, part.compactions, anchors)
    if host.store is None or (part.session.generation == "active" and store.context):
        host.store = store
        host.context_at_end = [anchors.entry(item) for item in part.context_at_end]
    if folds:
        _rebuild(host, store, part.compactions, folds, anchors)
    host.compactions = _numbered([*host.compactions, *folds])


def _beside(host: Transcript, store: Transcript) -> None:
    """Put a store that leaves the host's window alone beside the session: its graph, and nothing else changes."""
    if host.store is None:
        host.store = store.store
    else:
        text = f"a second summary store ({', '.join(store.files)}) names this session; only the first is shown"
        host.problems.append(ReadProblem("second_store", text, "info", next(iter(store.files), None)))


def _window_moved(host: Transcript, part: Transcript, pool: TextPool | None) -> None:
    """Let the host's windows begin where Cortext's anchors say."""
    folds = _placed(host, part.compactions, Anchors())
    if folds and pool is not None:
        moves = [event for event in part.engine_events if event.type == "window.moved"]
        anchors = [_anchor(event) for event in moves]
        folds = move_windows(host, folds, anchors, pool)
        if part.engine_events[-1].type != "window.cleared":
            _end_at(host, folds, anchors[-1], pool)
    host.compactions = _numbered([*host.compactions, *folds])
    host.session.counters.update({f"cortext_{name}": count for name, count in part.session.counters.items()})


def _end_at(host: Transcript, folds: list[Compaction], anchor: Anchor, pool: TextPool) -> None:
    """Let the window at the end begin at the anchor in force."""
    shown = entries_shown(host, anchor, pool)
    last = folds[-1]
    if shown is None:
        folds[-1] = replace(last, problem=last.problem or NOT_FOUND)
        return
    host.context_at_end = shown
    if not last.kept:
        folds[-1] = replace(last, kept=list(shown), first_kept=shown[0], context_items=list(shown))


def _anchor(event: EngineEvent) -> Anchor:
    data = event.data
    dropped = data.get("dropped")
    return Anchor(str(data.get("role")), str(data.get("textPrefix")), dropped if isinstance(dropped, int) else 0)


def _told(host: Transcript, log: Transcript) -> None:
    """Give the log's numbers to the compactions they are of, and add those that nothing else tells of.

    A store that holds summaries has all of lossless-claw's compactions, so a pass in the log is no other one.
    """
    found = list(host.compactions)
    added: list[Compaction] = []
    told: set[int] = set()
    for one in log.compactions:
        place = _same_event(found, one)
        if place is not None:
            kept = found[place]
            before = kept.tokens_before if place in told or kept.tokens_before is not None else one.tokens_before
            is_first = place not in told and kept.tokens_after is not None
            found[place] = replace(
                kept, tokens_before=before, tokens_after=kept.tokens_after if is_first else one.tokens_after
            )
            if not is_first:
                told.add(place)
        elif one.producer == CORTEXT or host.store is None:
            added.append(one)
    placed = _placed(host, added, Anchors())
    host.compactions = _numbered([*found, *placed])
    mark_unknown(host, [one for one in placed if one.producer == CORTEXT])


def _compared(host: Transcript, telemetry: Transcript) -> None:
    """Of what an exporter sent of the same conversation nothing is counted: the transcript has it, and more. How both
    stand to each other is said."""
    host.files.extend(name for name in telemetry.files if name not in host.files)
    sums = [sum(call.usage.total_tokens or 0 for call in one.calls) for one in (telemetry, host)]
    text = (
        f"telemetry of this conversation is not counted: it tells {len(telemetry.calls)} calls with {sums[0]:,} "
        f"tokens, the transcript {len(host.calls)} with {sums[1]:,}"
    )
    host.problems.append(ReadProblem("telemetry_beside", text, "info", next(iter(telemetry.files), None)))


def _posted(host: Transcript, events: Transcript) -> None:
    """Put what an engine posted beside its host's transcript: its decisions, summaries and topics; its numbers to the
    compactions that both tell of. Messages and calls are the transcript's own."""
    _told(host, events)
    if events.store is not None:
        _beside(host, events)
    host.topics = host.topics or events.topics
    host.topic_events = host.topic_events or events.topic_events


def _same_event(found: Sequence[Compaction], told: Compaction) -> int | None:
    near = [
        (abs(one.at - told.at), place)
        for place, one in enumerate(found)
        if one.producer == told.producer and one.at is not None and told.at is not None
    ]
    least = min(near, default=None)
    return least[1] if least is not None and least[0] <= SAME_EVENT else None


def _placed(host: Transcript, compactions: Sequence[Compaction], anchors: Anchors) -> list[Compaction]:
    """The store's compactions (in time order) with the host's calls around them and the host's entry ids."""
    calls = [call for call in host.calls if call.agent is None and call.purpose == "turn"]
    placed: list[Compaction] = []
    position = 0
    for compaction in compactions:
        at = compaction.at
        while at is not None and position < len(calls) and not _can_follow(host, calls[position], at):
            position += 1
        after = calls[position] if at is not None and position < len(calls) else None
        placed.append(
            replace(
                compaction,
                before_call=calls[position - 1].index if at is not None and position else None,
                after_call=after.index if after is not None else None,
                message_index=after.message_index if after is not None else None,
                kept=[anchors.entry(item) for item in compaction.kept],
                context_items=[anchors.entry(item) for item in compaction.context_items],
                first_kept=anchors.entry(compaction.first_kept) if compaction.first_kept else None,
            )
        )
    return placed


def _can_follow(host: Transcript, call: ModelCall, at: datetime) -> bool:
    """Whether a compaction published at `at` can have changed the window of `call`.

    SQLite's times are whole seconds, so within that second only a call that begins a turn counts: the engine
    publishes when it assembles a turn, not between a tool's result and the next call.
    """
    certain = at if at.microsecond else at + timedelta(seconds=1)
    return call.at is not None and call.at >= at and (call.at >= certain or _begins_turn(host, call))


def _begins_turn(host: Transcript, call: ModelCall) -> bool:
    index = call.message_index
    while index is not None and index > 0:
        index -= 1
        if host.messages[index].agent is None:
            return host.messages[index].role == "user"
    return True


def _numbered(compactions: Sequence[Compaction]) -> list[Compaction]:
    times: list[tuple[datetime, int]] = []
    latest = EARLIEST
    for place, compaction in enumerate(compactions):
        latest = compaction.at or latest
        times.append((latest, place))
    ordered = [compactions[place] for _, place in sorted(times)]
    return [replace(compaction, number=number) for number, compaction in enumerate(ordered, start=1)]


def _rebuild(
    host: Transcript, store: SummaryStore, raw: Sequence[Compaction], folds: Sequence[Compaction], anchors: Anchors
) -> None:
    is_proven = bool(store.facts.get("replayed_context_matches")) and all(fold.at is not None for fold in folds)
    basis: SnapshotBasis = "rules" if is_proven else "partial"
    old, fresh = host.log, SnapshotLog(table=host.log.table)
    window = FoldedWindow(host.log.table, store, anchors)
    done = 0
    for snapshot in old.snapshots:
        call = host.calls[snapshot.call_index]
        if call.agent is not None:
            fresh.add(call.index, old.positions(len(fresh.snapshots)), basis=snapshot.basis, agent=call.agent,
                      note=snapshot.note)  # fmt: skip
            continue
        while done < len(folds) and _is_in_force(folds[done], call.index):
            window.fold(raw[done])
            done += 1
        shown = window.advance(snapshot.keep if snapshot.previous is not None else 0, snapshot.tail)
        kept = "request" if snapshot.basis == "request" else basis
        fresh.add(call.index, shown, basis=kept, note=None if is_proven else UNPROVEN)
    host.log = fresh


def _is_in_force(fold: Compaction, call: int) -> bool:
    return fold.after_call is not None and fold.after_call <= call
