"""A run: the windows that an engine made of a session's messages, and what it did to get there (design, section 2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from contextviz.events.compaction import Compaction, SummaryNode
from contextviz.events.engine_event import EngineEvent
from contextviz.events.run.windows import WindowLog
from contextviz.events.text import TextRef

Plain = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run is measured with. `window` and `reserve` in tokens (0: no window is known), `system_tokens` beside the
    messages in each request; `basis` says by setting where it comes from (session, configured, table, set, unknown).
    `estimator` counts the windows, whatever the engine counts with."""

    window: int
    reserve: int
    system_tokens: int
    estimator: str
    basis: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunCall:
    """One model call of a run; window `index` of the log is what it was given.

    `messages` of the material had been read; `model_call` is the session's own call (None: the point follows from the
    messages). `tokens` are the window's by the run's estimator, without `system_tokens` of the settings;
    `engine_tokens` the engine's own number. `kept_items` and `kept_tokens` are the prefix shared with the window
    before, `broken_by` the reason of the first item that differs. `hash` is of the whole window: equal windows have
    equal ones. `is_over`: beyond the budget, or the engine says that it does not fit.
    """

    index: int
    messages: int
    model_call: int | None
    items: int
    tokens: int
    engine_tokens: int | None
    kept_items: int
    kept_tokens: int
    hash: str
    is_over: bool
    mode: str | None = None
    broken_by: str | None = None


@dataclass(slots=True)
class RunBoundary:
    """A boundary of a run. Its `compaction` has the shape of a recorded one (tokens are the engine's own numbers);
    `dropped` are the seqs of the messages that left the window, `nodes` the summaries that stand for them, `messages`
    how many had been read, `basis` the id of the estimator that counted."""

    compaction: Compaction
    dropped: tuple[int, ...]
    nodes: tuple[str, ...]
    messages: int
    basis: str
    summariser_calls: int = 0
    data: dict[str, Plain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunOriginal:
    """An original that a handle stands for: byte for byte what the engine took away."""

    handle: str
    text: TextRef
    seq: int | None


@dataclass(frozen=True, slots=True)
class RunMessage:
    """A message of the material: its index in the session's messages and the references of its pieces."""

    seq: int
    source_index: int | None
    role: str
    turn: int
    tokens: int


@dataclass(slots=True)
class Run:
    """A replay, whole. `engine` and `version` name the rule, `settings` what it was set to, `notes` what was clamped,
    left out or simulated. `qualities` by part of the engine. Windows are in `log`, one a call, in order.
    `failed_summaries` counts, of the `summariser_calls`, those that gave none, by the sentence that said why."""

    engine: str
    version: str
    label: str
    settings: dict[str, Plain]
    measured: RunSettings
    qualities: dict[str, str] = field(default_factory=dict)
    summariser: str | None = None
    scorer: str | None = None
    notes: list[str] = field(default_factory=list)
    messages: list[RunMessage] = field(default_factory=list)
    calls: list[RunCall] = field(default_factory=list)
    log: WindowLog = field(default_factory=WindowLog)
    boundaries: list[RunBoundary] = field(default_factory=list)
    nodes: list[SummaryNode] = field(default_factory=list)
    events: list[EngineEvent] = field(default_factory=list)
    originals: list[RunOriginal] = field(default_factory=list)
    summariser_calls: int = 0
    failed_summaries: dict[str, int] = field(default_factory=dict)
    left_out_events: int = 0

    @property
    def key(self) -> str:
        """Id and version: `flowctx@port-0.1.0`."""
        return f"{self.engine}@{self.version}"

    @property
    def hash(self) -> str:
        """The hashes of all windows, hashed: two runs of one replay agree in it (metrics.md section 6)."""
        return hashlib.sha256("".join(call.hash for call in self.calls).encode()).hexdigest()
