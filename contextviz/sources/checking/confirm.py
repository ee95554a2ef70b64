"""Rebuilt windows held against the client's own log of its requests: confirmed, corrected, or refuted with numbers.

The rules' window stands; a log fills what is missing in it and is whole, and takes its place only where it disagrees
and every body of it is known. A cut body never replaces a whole one. The basis of a window and any disagreement are
kept with the snapshot (events.snapshot.WindowCheck).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.events.evidence import (
    HIDDEN_NOTE,
    HIDDEN_SYSTEM_NOTE,
    HIDDEN_TOOLS_NOTE,
    SOURCES,
    TracedWindow,
    described,
)
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.snapshot import (
    ContextItem,
    ContextSnapshot,
    SnapshotBasis,
    SnapshotLog,
    TraceVerdict,
    WindowCheck,
)
from contextviz.events.text import TextPool
from contextviz.sources.checking.alignment import MOST_CELLS_OF_ALL, Group, Grouping, Pairs, aligned

MOST_PROBLEMS = 20
MOST_NAMES, NAME_CHARS = 30, 60


def confirm(transcript: Transcript, pool: TextPool) -> None:
    """Hold `transcript.traced` against the windows, and empty it. Adds a check to each snapshot that a log speaks of,
    what it fills to the windows, a counter for each verdict, and a problem for each disagreement (the first 20)."""
    traced = {one.call_index: one for one in transcript.traced}
    transcript.traced = []
    if not traced:
        return
    old = transcript.log
    work = _Work(transcript, pool, SnapshotLog(table=old.table), Grouping(old.table))
    for position, snapshot in enumerate(old.snapshots):
        work.take(position, snapshot, traced.get(snapshot.call_index))
    old.table.settle()
    transcript.log = work.fresh
    for verdict, number in sorted(work.verdicts.items()):
        transcript.session.counters[f"trace_{verdict}"] = number
    transcript.problems += work.findings()


@dataclass(slots=True)
class _Work:
    """The windows of one session on their way. `filled` are prompts that no entry holds, by the entry of the answer
    that they opened; `dates` the dates as sent, by the entry of the user text that they stand before."""

    transcript: Transcript
    pool: TextPool
    fresh: SnapshotLog
    grouping: Grouping
    is_changed: bool = False
    filled: dict[str, list[int]] = field(default_factory=dict)
    dates: dict[str, int] = field(default_factory=dict)
    cells: int = MOST_CELLS_OF_ALL
    verdicts: Counter[str] = field(default_factory=Counter)
    disagreements: list[tuple[ContextSnapshot, WindowCheck]] = field(default_factory=list)

    def take(self, position: int, snapshot: ContextSnapshot, traced: TracedWindow | None) -> None:
        """Add one window to the new log, held against what a log says of it."""
        agent = self.transcript.calls[snapshot.call_index].agent
        if traced is None and not self.is_changed:
            self.fresh.add_from(snapshot.call_index, snapshot.keep, snapshot.tail, basis=snapshot.basis, agent=agent,
                                note=snapshot.note)  # fmt: skip
            return
        before = self.transcript.log.positions(position)
        shown, basis, note, check = before, snapshot.basis, snapshot.note, None
        if traced is not None:
            if traced.messages is not None:
                shown, check = self._held(before, snapshot, traced)
                basis, note = _basis(snapshot, check, traced)
            elif traced.opening_before in self.filled:
                shown = self._with_opening(before, traced.opening_before or "")
            shown, note = self._with_head(shown, traced, note)
        self.is_changed = self.is_changed or shown != before
        self.fresh.add(snapshot.call_index, shown, basis=basis, agent=agent, note=note, check=check)
        if check is not None:
            self.verdicts[check.verdict] += 1
            if check.verdict in ("corrected", "refuted"):
                self.disagreements.append((snapshot, check))

    def _held(
        self, before: list[int], snapshot: ContextSnapshot, traced: TracedWindow
    ) -> tuple[list[int], WindowCheck]:
        table = self.transcript.log.table
        head, groups = self.grouping.of(before)
        pairs = aligned(groups, traced, self.pool, self.cells)
        self.cells -= pairs.cells
        check = _check(groups, pairs, traced, has_engine=self.transcript.store is not None)
        if check.verdict == "differs" or (check.verdict != "corrected" and pairs.changes_nothing and not self.dates):
            return before, check
        shown = list(head)
        for group, message in pairs.merged(is_logs=check.verdict == "corrected"):
            if group is not None:
                shown.extend(self._dated(group, before, pairs.dates.get(group.start)))
            elif message is not None and message.items is not None:
                added = [table.intern(item) for item in message.items]
                shown.extend(added)
                if not message.is_client and not traced.is_literal:
                    entry = self.transcript.calls[snapshot.call_index].entry
                    self.filled.setdefault(entry or "", []).extend(added)
        return shown, check

    def _dated(self, group: Group, before: list[int], sent: ContextItem | None) -> list[int]:
        table, entry = self.transcript.log.table, group.entry or ""
        if sent is not None:
            self.dates[entry] = table.intern(sent)
        own = before[group.start : group.stop]
        if entry in self.dates and group.is_dated:
            return [self.dates[entry], *own[1:]]
        return own

    def _with_opening(self, before: list[int], entry: str) -> list[int]:
        table = self.transcript.log.table
        place = next((at for at, number in enumerate(before) if table.items[number].entry == entry), None)
        return before if place is None else [*before[:place], *self.filled[entry], *before[place:]]

    def _with_head(self, shown: list[int], traced: TracedWindow, note: str | None) -> tuple[list[int], str | None]:
        """The system prompt and the tools before the rest, where the window has none of its own."""
        items = self.transcript.log.table.items
        has_system = any(items[number].kind == "system" for number in shown)
        has_tools = any(items[number].kind == "tools" for number in shown)
        added: list[int] = []
        if traced.system is not None and not has_system:
            added.append(self.transcript.log.table.intern(traced.system))
            # A runtime context that the client puts into the system prompt is in its text already.
            shown = [number for number in shown if (items[number].role, items[number].kind) != ("system", "injected")]
            has_system = True
        if traced.tools and not has_tools:
            added.extend(map(self.transcript.log.table.intern, traced.tools))
            has_tools = True
        if note == HIDDEN_NOTE and (has_system or has_tools):
            note = None if has_system and has_tools else HIDDEN_TOOLS_NOTE if has_system else HIDDEN_SYSTEM_NOTE
        if note in (HIDDEN_NOTE, HIDDEN_SYSTEM_NOTE) and traced.system_chars:
            note = f"{note}; the trajectory gives the system prompt's size, {traced.system_chars:,} characters"
        if traced.tool_names and not has_tools and note is not None:
            names = ", ".join(one[:NAME_CHARS] for one in traced.tool_names[:MOST_NAMES])
            more = ", …" if len(traced.tool_names) > MOST_NAMES else ""
            note = f"{note}; the {SOURCES[traced.source]} names {len(traced.tool_names)} tools: {names}{more}"
        return [*added, *shown], note

    def findings(self) -> list[ReadProblem]:
        """A problem for each call whose window the log does not agree with, the first MOST_PROBLEMS in full."""
        found = []
        for snapshot, check in self.disagreements[:MOST_PROBLEMS]:
            number, entry = snapshot.call_index + 1, self.transcript.calls[snapshot.call_index].entry
            said = f"call {number}: {described(check)}"
            found.append(ReadProblem("trace_disagrees", said, "warning", check.file, check.line, entry, number))
        unlike = self.verdicts["differs"]
        if unlike:
            said = (
                f"the trajectory's windows of {unlike} of {sum(self.verdicts.values())} runs differ from the rebuilt:"
                " with a context engine it notes what the engine assembled, which is not always what was sent"
            )
            found.append(ReadProblem("trace_differs", said, "info", value=unlike))
        rest = len(self.disagreements) - MOST_PROBLEMS
        if rest > 0:
            said = f"the log disagrees with the windows of {rest} more calls; each call's page says how"
            found.append(ReadProblem("trace_disagrees", said, "warning", self.disagreements[0][1].file, value=rest))
        return found


def _check(groups: Sequence[Group], pairs: Pairs, traced: TracedWindow, *, has_engine: bool) -> WindowCheck:
    missing, extra = pairs.missing, pairs.extra
    is_known = all(message.items is not None for message in missing) and (not extra or not pairs.by_role)
    verdict: TraceVerdict = "refuted"
    if not missing and not extra:
        verdict = "confirmed"
    elif has_engine and traced.source == "trajectory":
        # Measured on 2026.9.6 with lossless-claw: 19 of 42 compiled contexts lack leading messages that were sent.
        verdict = "differs"
    elif is_known and (traced.is_literal or not extra):
        verdict = "corrected"
    return WindowCheck(
        source=traced.source, verdict=verdict, file=traced.file, line=traced.line, traced=len(traced.messages or ()),
        rebuilt=len(groups), client=pairs.client, proven=pairs.proven, by_role=pairs.by_role, missing=len(missing),
        extra=len(extra), filled=sum(message.items is not None for message in missing),
    )  # fmt: skip


def _basis(snapshot: ContextSnapshot, check: WindowCheck, traced: TracedWindow) -> tuple[SnapshotBasis, str | None]:
    """How a window is known once a log was asked: what a log has word for word is the request itself."""
    if check.verdict == "refuted":
        return "partial", snapshot.note
    if check.verdict == "differs":
        return snapshot.basis, snapshot.note
    if check.verdict == "corrected" and traced.is_literal:
        return "request", HIDDEN_NOTE
    is_seen = check.verdict == "corrected" or not check.by_role
    return ("rules", HIDDEN_NOTE) if snapshot.basis == "partial" and is_seen else (snapshot.basis, snapshot.note)
