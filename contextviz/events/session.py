"""Sessions: one agent's conversation from one source, with all that was read of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, SummaryStore
from contextviz.events.engine_event import EngineEvent
from contextviz.events.evidence import TracedWindow
from contextviz.events.message import Message, ToolPair
from contextviz.events.problem import ReadProblem
from contextviz.events.snapshot import SnapshotLog
from contextviz.events.topic import Topic, TopicEvent
from contextviz.events.usage import TokenUsage

FileRole = Literal["session", "archive", "duplicate", "index", "trace", "store", "ignored"]
GenerationState = Literal["active", "reset", "deleted"]
WindowBasis = Literal["reported", "hint", "configuration", "table"]
Setting = int | float | bool | str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file that was looked at: what it is, whether its usage counts, and why not where it does not. `sessions`
    are those that a log of requests speaks of."""

    path: str
    format: str | None
    role: FileRole
    is_counted: bool
    reason: str | None
    size: int
    session: str | None = None
    sessions: tuple[str, ...] = ()


@dataclass(slots=True)
class LineCounts:
    """Every line accounted for: total = read + blank + malformed + kept as unknown type.

    `recovered` names, by malformed line, the entry ids found in it. `lone_surrogates` counts replacements,
    `surrogate_lines` the lines that had them. `in_progress` is the number of a half-written last line.
    """

    total: int = 0
    read: int = 0
    blank: int = 0
    malformed: list[int] = field(default_factory=list)
    recovered: dict[int, list[str]] = field(default_factory=dict)
    lone_surrogates: int = 0
    surrogate_lines: list[int] = field(default_factory=list)
    unknown_types: dict[str, int] = field(default_factory=dict)
    in_progress: int | None = None

    def add(self, part: LineCounts) -> None:
        """Count the lines of one more file; numbers of lines are those of the file that they are in."""
        self.total += part.total
        self.read += part.read
        self.blank += part.blank
        self.lone_surrogates += part.lone_surrogates
        self.malformed += part.malformed
        self.surrogate_lines += part.surrogate_lines
        self.in_progress = self.in_progress or part.in_progress
        for line, entries in part.recovered.items():
            self.recovered.setdefault(line, []).extend(entries)
        for kind, count in part.unknown_types.items():
            self.unknown_types[kind] = self.unknown_types.get(kind, 0) + count

    @property
    def unknown(self) -> int:
        """Lines kept although their type is not known."""
        return sum(self.unknown_types.values())

    @property
    def coverage(self) -> float | None:
        """Share of non-blank lines that were read as records of a known type; None for an empty file."""
        filled = self.total - self.blank
        return None if filled == 0 else self.read / filled


@dataclass(slots=True)
class TreeFacts:
    """The branches of a transcript whose entries name their parents."""

    branches: int
    branch_point: str | None
    active_leaf: str | None
    active_path: list[str] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)
    segments: int = 1


@dataclass(slots=True)
class SubAgent:
    """A sub-agent inside a session, with a window of its own; its calls carry its id in `agent`."""

    id: str
    kind: str | None = None
    task: str | None = None
    spawned_by_entry: str | None = None
    message_count: int = 0


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the configuration of the agent beside a session says of its context: allow-listed settings alone.

    `agent` is the program it is of (openclaw, pi, openvole, codex), `engine` the context engine in its slot, `settings`
    are by their dotted names, `windows` tokens by model (`provider/model`). `left_out` counts the other settings of
    `files`: nothing else of them is kept.
    """

    agent: str
    files: tuple[str, ...]
    engine: str | None = None
    settings: dict[str, Setting] = field(default_factory=dict)
    windows: dict[str, int] = field(default_factory=dict)
    left_out: int = 0


# The hint with what the client says that the whole session cost, in dollars: where calls have no cost of their own,
# what is left for tokens beyond them cannot be told apart from theirs.
COST_HINT = "total_cost_usd"


@dataclass(slots=True)
class Session:
    """Identity and relations. Times are UTC; `ended_at` leaves suspicious times out.

    `window` is the context window in tokens; `window_basis` says whether the source reported it, an index
    hinted it, the agent's configuration says it, or it is our table's. `compaction_threshold` is in tokens; without
    a basis the source reported it. `hints` are an index's claims, never used as truth.
    """

    id: str
    format: str
    format_version: str | None = None
    generation: GenerationState = "active"
    generation_at: datetime | None = None
    agent: str | None = None
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    parent: str | None = None
    forked_from: str | None = None
    replayed_lines: int | None = None
    first_own_line: int | None = None
    window: int | None = None
    window_basis: WindowBasis | None = None
    compaction_threshold: int | None = None
    compaction_threshold_basis: Literal["reported", "configuration"] | None = None
    configuration: Configuration | None = None
    hints: dict[str, int | str | None] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str | None, str, datetime | None]:
        """What makes it one session: format, id, agent and generation (formats.md trap 21)."""
        return (self.format, self.id, self.agent, self.generation, self.generation_at)


@dataclass(slots=True)
class Transcript:
    """Everything read of one session. Messages are in the order they are shown, all branches; calls in the
    order they were made, sub-agents' included. `context_at_end` is what the next call would be given, as
    `"summary <id>"` or entry ids. `entry_times` maps entry ids to instants (None where unreadable). `traced` is what
    the client's own log of requests says of the windows, until `sources.checking` has held both together."""

    session: Session
    files: list[str] = field(default_factory=list)
    lines: LineCounts = field(default_factory=LineCounts)
    entries: int = 0
    messages: list[Message] = field(default_factory=list)
    calls: list[ModelCall] = field(default_factory=list)
    failed_calls: int = 0
    pairs: list[ToolPair] = field(default_factory=list)
    orphan_results: list[str] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    log: SnapshotLog = field(default_factory=SnapshotLog)
    traced: list[TracedWindow] = field(default_factory=list)
    subagents: list[SubAgent] = field(default_factory=list)
    tree: TreeFacts | None = None
    context_at_end: list[str] = field(default_factory=list)
    entry_times: dict[str, datetime | None] = field(default_factory=dict)
    store: SummaryStore | None = None
    topics: list[Topic] = field(default_factory=list)
    topic_events: list[TopicEvent] = field(default_factory=list)
    engine_events: list[EngineEvent] = field(default_factory=list)
    unlogged_usage: TokenUsage | None = None
    problems: list[ReadProblem] = field(default_factory=list)
