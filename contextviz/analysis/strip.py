"""The context strip: window tokens over the calls of one agent, with its compactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.analysis.composition import Composition
from contextviz.analysis.composition.categories import CATEGORIES, Category
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, CompactionKind, ToldSize, told_size

MAX_POINTS = 1400  # more than a screen is wide; each is drawn a dozen times over


@dataclass(frozen=True, slots=True)
class CompactionMark:
    """One compaction on the strip. Calls are numbers people read (from 1); tokens are the client's own."""

    number: int
    before_call: int | None
    after_call: int | None
    kind: CompactionKind
    tokens_before: int | None
    tokens_after: int | None
    trigger: str | None
    on_active_path: bool = True


@dataclass(slots=True)
class StripTable:
    """Columns of equal length, one entry a call. For each row: Σ known categories + residual = reported.

    `calls` are numbers from 1, those of the session (a sub-agent's calls leave gaps). `reduced_from` is how
    many rows there were before `reduce` left some out.
    """

    calls: list[int] = field(default_factory=list)
    categories: dict[Category, list[int | None]] = field(default_factory=lambda: {name: [] for name in CATEGORIES})
    reported: list[int | None] = field(default_factory=list)
    residual: list[int | None] = field(default_factory=list)
    window: list[int | None] = field(default_factory=list)
    cache_read: list[int | None] = field(default_factory=list)
    threshold: int | None = None
    compactions: list[CompactionMark] = field(default_factory=list)
    agent: str | None = None
    reduced_from: int | None = None

    def total(self, row: int) -> int:
        """Window tokens of a row: reported, else the sum of the known categories."""
        reported = self.reported[row]
        if reported is not None:
            return reported
        return sum(column[row] or 0 for column in self.categories.values())

    def told(self, row: int) -> ToldSize | None:
        """What the client told of a row's window after a compaction, where nothing was reported and less than that is
        known of it (events.compaction.told_size)."""
        if self.reported[row] is not None:
            return None
        own = [
            ToldSize(one.number, one.after_call, one.tokens_after)
            for one in self.compactions if one.on_active_path and one.after_call is not None
        ]  # fmt: skip
        return told_size(own, self.calls[row], self.total(row))

    def _take(self, other: StripTable, row: int) -> None:
        self.calls.append(other.calls[row])
        for name, column in self.categories.items():
            column.append(other.categories[name][row])
        self.reported.append(other.reported[row])
        self.residual.append(other.residual[row])
        self.window.append(other.window[row])
        self.cache_read.append(other.cache_read[row])


def strip(
    compositions: Sequence[Composition],
    calls: Sequence[ModelCall],
    compactions: Sequence[Compaction],
    *,
    agent: str | None = None,
    window: int | None = None,
    threshold: int | None = None,
) -> StripTable:
    """The strip of the main chain, or of sub-agent `agent`.

    `compositions` and `calls` are those of the session, side by side. `window` is the session's, for calls
    that report none; `threshold` in tokens. A summariser's own calls are not windows of the agent.
    """
    table = StripTable(agent=agent, threshold=threshold)
    both = zip(calls, compositions, strict=True)
    chosen = [(call, row) for call, row in both if call.agent == agent and call.purpose == "turn"]
    table.calls = [call.index + 1 for call, _ in chosen]
    for name, column in zip(CATEGORIES, zip(*(row.tokens for _, row in chosen), strict=True), strict=bool(chosen)):
        table.categories[name] = list(column)
    table.reported = [row.reported for _, row in chosen]
    table.residual = [row.residual for _, row in chosen]
    table.window = [window if call.window is None else call.window for call, _ in chosen]
    table.cache_read = [call.usage.cache_read_tokens for call, _ in chosen]
    table.compactions = [mark_of(compaction) for compaction in compactions if compaction.agent == agent]
    return table


def mark_of(compaction: Compaction) -> CompactionMark:
    """`compaction` as the strip shows it."""
    return CompactionMark(
        compaction.number,
        None if compaction.before_call is None else compaction.before_call + 1,
        None if compaction.after_call is None else compaction.after_call + 1,
        compaction.kind,
        compaction.tokens_before,
        compaction.tokens_after,
        compaction.trigger,
        compaction.on_active_path,
    )


def reduce(table: StripTable, points: int = MAX_POINTS) -> StripTable:
    """At most `points` rows: the lowest and highest of each stretch, the ends, and the calls beside compactions.

    Only where the calls beside compactions alone are more than `points` are they thinned out, evenly.
    """
    if points < 4:
        raise ValueError(f"A strip needs at least 4 points, not {points}.")
    if len(table.calls) <= points:
        return table
    wanted = _fixed_rows(table)
    if len(wanted) > points:
        step = len(wanted) / points
        wanted = [wanted[int(index * step)] for index in range(points)]
    rows = sorted(set(wanted) | _extremes(table, (points - len(wanted)) // 2))
    result = StripTable(threshold=table.threshold, compactions=table.compactions, agent=table.agent)
    result.reduced_from = table.reduced_from or len(table.calls)
    for row in rows:
        result._take(table, row)
    return result


def _fixed_rows(table: StripTable) -> list[int]:
    row_of = {call: row for row, call in enumerate(table.calls)}
    near = {call for mark in table.compactions for call in (mark.before_call, mark.after_call)}
    rows = {row_of[call] for call in near if call in row_of}
    return sorted(rows | {0, len(table.calls) - 1})


def _extremes(table: StripTable, buckets: int) -> set[int]:
    rows: set[int] = set()
    count = len(table.calls)
    for bucket in range(buckets):
        stretch = range(bucket * count // buckets, (bucket + 1) * count // buckets)
        rows.add(min(stretch, key=table.total))
        rows.add(max(stretch, key=table.total))
    return rows
