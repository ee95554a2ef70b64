"""What Cortext's memory costs: texts given to the native engine, turn by turn (4.3, 4.4, 4.7, 4.8).

Each message is written once for good; each recall and each segment of the gate is one more text that is processed and
not kept. The counts are exact by these rules, apart from the segments, whose increments are simulated. When the native
engine asks for a consolidation is its own affair, so the hint here is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from contextviz.events.engine_event import EngineEvent

Hint = Literal["none", "recommended", "required"]


@dataclass(slots=True)
class TurnCost:
    """One turn. `writes` are durable texts and `written_tokens` theirs; `lookups` are texts processed to recall (one
    for the turn and one for each segment) and `lookup_tokens` theirs; `pending` the durable writes since the last
    consolidation. Tokens by `chars4`, rounded up for each text."""

    turn: int
    writes: int = 0
    written_tokens: int = 0
    lookups: int = 0
    lookup_tokens: int = 0
    pending: int = 0
    hint: Hint = "none"

    @property
    def texts(self) -> int:
        """All texts that the native engine processed."""
        return self.writes + self.lookups


class WriteCosts:
    """Counts as a session goes on. `recommended` and `required` are the pending writes from which the hint says so."""

    def __init__(self, recommended: int, required: int) -> None:
        self._recommended = recommended
        self._required = max(recommended, required)
        self._pending = 0
        self._now = TurnCost(0)

    def turn(self, number: int) -> None:
        """A turn begins."""
        self._now = TurnCost(number)

    def wrote(self, tokens: int) -> None:
        """A message was written."""
        self._now.writes += 1
        self._now.written_tokens += tokens
        self._pending += 1

    def looked_up(self, tokens: int) -> None:
        """A text was processed to recall something."""
        self._now.lookups += 1
        self._now.lookup_tokens += tokens

    def consolidated(self) -> None:
        """Nothing waits any more."""
        self._pending = 0

    @property
    def hint(self) -> Hint:
        """What the engine would say now (simulated)."""
        if self._pending >= self._required:
            return "required"
        return "recommended" if self._pending >= self._recommended else "none"

    def end_turn(self) -> TurnCost | None:
        """The turn is over: what it cost, None where nothing was processed. Counting goes on from nothing."""
        done = self._now
        done.pending, done.hint = self._pending, self.hint
        self._now = TurnCost(done.turn)
        return done if done.texts else None


def event_data(cost: TurnCost) -> dict[str, int | str]:
    """A turn's cost as the data of its `consolidation` event."""
    data: dict[str, int | str] = {"where": "ingest"}
    return data | {key: value for key, value in asdict(cost).items() if key != "turn"} | {"turn": cost.turn}


def cost_series(events: Iterable[EngineEvent]) -> list[TurnCost]:
    """The write-cost curve of a run, turn by turn, from its events."""
    names = TurnCost.__dataclass_fields__
    return [
        TurnCost(**{name: event.data[name] for name in names if name in event.data})  # type: ignore[arg-type]
        for event in events
        if event.type == "consolidation" and event.data.get("where") == "ingest"
    ]
