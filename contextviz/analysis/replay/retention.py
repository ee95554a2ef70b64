"""What a run's boundaries took away, by the loss ledger of each, pooled (metrics.md section 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from contextviz.analysis.compaction.loss import LossLedger, LossState, Source, ledger, readable
from contextviz.analysis.replay.handles import Handles
from contextviz.analysis.replay.history import HistoryMessage
from contextviz.events.run import Run, RunBoundary
from contextviz.events.text import TextPool

# A ledger reads what left and the whole window after, at about 1.3 MB/s: this is some seconds.
MOST_CHARS = 3_000_000
LEAST_READ = 8


@dataclass(slots=True)
class Retention:
    """Rows of all ledgers by state. `read` of `boundaries` (those that dropped something and have a call after them)
    were read; `chosen` are their numbers."""

    states: Counter[LossState] = field(default_factory=Counter)
    boundaries: int = 0
    read: int = 0
    chosen: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many identifiers left, each counted once a boundary."""
        return self.states.total()

    @property
    def retention(self) -> float | None:
        """(kept + stale) ÷ all; None where nothing left."""
        return self._kept / self.rows if self.rows else None

    @property
    def reach(self) -> float | None:
        """(kept + stale + variant + recoverable) ÷ all; None where nothing left."""
        return 1 - self.states["lost"] / self.rows if self.rows else None

    @property
    def staleness(self) -> float | None:
        """stale ÷ (kept + stale); None where nothing was kept."""
        return self.states["stale"] / self._kept if self._kept else None

    @property
    def _kept(self) -> int:
        return self.states["kept"] + self.states["stale"]


def retention(run: Run, pool: TextPool, history: Sequence[HistoryMessage], *, root: str | None = None) -> Retention:
    """The ledgers of a run's boundaries against the window of the call after each.

    Where reading all of them would take long, evenly spaced ones are read, and a note says how many.
    """
    known = [one for one in run.boundaries if one.dropped and one.compaction.after_call is not None]
    made = Retention(boundaries=len(known))
    if not known:
        return made
    handles = Handles(run, pool, history)
    chosen = _chosen(run, known, history)
    for boundary in chosen:
        found = _ledger(run, boundary, pool, history, handles, root)
        made.states.update(row.state for row in found.rows)
        made.notes.extend(note for note in found.notes if note not in made.notes)
    made.read = len(chosen)
    made.chosen = [boundary.compaction.number for boundary in chosen]
    if len(chosen) < len(known):
        made.notes.append(f"{len(chosen):,} of {len(known):,} boundaries were read, evenly spaced.")
    return made


def _ledger(
    run: Run, boundary: RunBoundary, pool: TextPool, history: Sequence[HistoryMessage], handles: Handles,
    root: str | None,
) -> LossLedger:  # fmt: skip
    after = boundary.compaction.after_call
    window = run.log.window(after) if after is not None else []
    sources = [
        Source(said.text, history[seq].role, None)
        for seq in boundary.dropped
        if seq < len(history)
        for said in history[seq].texts
    ]
    texts = [readable(item, pool) for item in window if item.kind != "image"]
    return ledger(sources, texts, resolve=handles.resolve, root=root)


def _chosen(run: Run, known: list[RunBoundary], history: Sequence[HistoryMessage]) -> list[RunBoundary]:
    """All, or so many evenly spaced ones that about MOST_CHARS are read; at least LEAST_READ."""
    by_token = _chars_by_token(history)
    dropped = sum(sum(len(said.text) for said in history[seq].texts) for one in known for seq in one.dropped
                  if seq < len(history))  # fmt: skip
    after = [one.compaction.after_call for one in known]
    windows = sum(run.calls[call].tokens for call in after if call is not None) * by_token
    most = int(len(known) * MOST_CHARS / max(1.0, dropped + windows))
    if most >= len(known):
        return known
    count = min(len(known), max(LEAST_READ, most))
    return [known[number * len(known) // count] for number in range(count)]


def _chars_by_token(history: Sequence[HistoryMessage]) -> float:
    tokens = sum(message.tokens for message in history)
    chars = sum(len(said.text) for message in history for said in message.texts)
    return chars / tokens if tokens else 4.0
