"""What a context engine did or decided, as it wrote it down: evaluations, assemblies, gates, debts, errors.

The types and the names of their data are those of the unified event model (engines document, section 8.2). What
replaces items of a window is a Compaction beside them; these are what no other event holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

EventType = Literal[
    "session.bootstrap", "message.ingested", "context.assembled", "compaction.evaluated", "compaction.started",
    "compaction.finished", "window.moved", "window.cleared", "summary.created", "block.compressed", "retrieve",
    "recall.injected", "gate.segment", "gate.fired", "answer.revised", "consolidation", "llm.call",
    "maintenance.debt", "engine.error", "session.dispose", "summary.replaced", "message.trimmed", "topic.switch",
    "topic.status", "agent.spawn", "agent.end",
]  # fmt: skip
Origin = Literal["disk", "log", "replay"]
Quality = Literal["exact", "derived", "simulated"]
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """One event of an engine. `data` has the names of section 8.2; its token numbers are the engine's own, so their
    basis is "reported". `origin` says whether a state on disk, a log or a replay tells it, `quality` whether it is
    written or done by the rule (exact), follows from what is (derived), or something else stood in (simulated). `line`
    is the line of a log, from 1."""

    type: EventType
    engine: str
    at: datetime | None
    file: str
    line: int | None = None
    origin: Origin = "log"
    quality: Quality = "exact"
    data: dict[str, Scalar] = field(default_factory=dict)

    @property
    def did_not_fire(self) -> bool:
        """Whether it is a check, or an attempt, after which nothing was compacted."""
        if self.type == "compaction.evaluated":
            return self.data.get("should") is False
        return self.type == "compaction.finished" and self.data.get("compacted") is False


def in_time_order(events: list[EngineEvent]) -> list[EngineEvent]:
    """Events by time; one without a time stays behind the one before it: in its file, else as they are given."""
    latest: dict[str, datetime] = {}
    last: datetime | None = None
    keyed = []
    for place, event in enumerate(events):
        at = event.at or latest.get(event.file) or last
        if at is not None:
            latest[event.file] = last = at
        keyed.append(((at is not None, at.timestamp() if at is not None else 0.0, place), event))
    return [event for _, event in sorted(keyed, key=lambda pair: pair[0])]
