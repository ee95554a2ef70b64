"""A summary store beside its host's sessions, put into the session it belongs to.

While lossless-claw owns the window, the host's transcript knows nothing of compactions: every message stays in
it. The store knows which messages were folded into which summaries, and when. Both together give what the model
was given at each call (engines.md 7.5; formats.md section I).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, SummaryStore
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.snapshot import SnapshotBasis, SnapshotLog
from contextviz.sources.folded import Anchors, FoldedWindow

ROLE_WORDS = {"tool": "tool", "toolResult": "tool"}
EARLIEST = datetime.min.replace(tzinfo=UTC)
# Engines whose summaries stand beside the host's messages and never in place of them (engines.md 3.8).
SUMMARIES_ONLY = frozenset({"flowctx"})
UNPROVEN = "the store's folds could not be replayed to the context it holds: summaries or their times may be off"


def attach(host: Transcript, store: Transcript) -> None:
    """Put `store` (a transcript read from a summary store) into the session of the same id.

    Sets the store, adds its compactions in time order with the calls around them, and rebuilds the windows of the
    main agent's calls. Where replaying the folds gives exactly the context that the store holds, the windows are
    by rule ("rules"); else they are "partial" with a note. Does nothing for a transcript without a store.
    """
    if store.store is None:
        return
    if store.store.engine in SUMMARIES_ONLY:
        _beside(host, store)
        return
    anchors = Anchors.of(host, store.store)
    folds = _placed(host, store.compactions, anchors)
    if host.store is None or (store.session.generation == "active" and store.store.context):
        host.store = store.store
        host.context_at_end = [anchors.entry(item) for item in store.context_at_end]
    if folds:
        _rebuild(host, store.store, store.compactions, folds, anchors)
    host.compactions = _numbered([*host.compactions, *folds])
    host.files.extend(name for name in store.files if name not in host.files)
    # The host's index counts what its engine did; with the store's compactions the two may now agree.
    if host.session.hints.get("compaction_count") == len(host.compactions):
        host.problems = [problem for problem in host.problems if problem.code != "count_mismatch"]
    host.problems.extend(store.problems)


def _beside(host: Transcript, store: Transcript) -> None:
    """Put a store that leaves the host's window alone beside the session: its graph, and nothing else changes."""
    if host.store is None:
        host.store = store.store
    else:
        text = f"a second summary store ({', '.join(store.files)}) names this session; only the first is shown"
        host.problems.append(ReadProblem("second_store", text, "info", next(iter(store.files), None)))
    host.files.extend(name for name in store.files if name not in host.files)
    host.problems.extend(store.problems)


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
