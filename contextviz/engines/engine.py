"""The one protocol of replay engines: the lifecycle of a context engine (engines document, section 1.1).

An engine is pure: it is given its settings, a summariser, a scorer and a clock by the `Host`, reads nothing and asks
nobody. The same messages, settings and host give the same windows, byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from contextviz.engines.material import Material, ReplayMessage
from contextviz.engines.scoring import Scorer
from contextviz.engines.settings import Setting, Value
from contextviz.engines.summaries import Summariser
from contextviz.engines.window import Assembly, CompactionMade, CompactResult, NodeMade
from contextviz.events.engine_event import EventType, Quality

CompactTarget = Literal["budget", "threshold"]


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """What an engine is. `qualities` say, part by part (budget, cut, recall, summary, …), whether its rule is exact,
    derived or simulated; `simulated` says in a sentence what stands in for what. `section` is the section of the
    engines document that it follows, `estimator` what it counts with (None: with the run's). `host_compacts_at` is the
    share of the budget at which its host calls `compact` after a turn (None: it decides for itself)."""

    id: str
    version: str
    label: str
    summary: str
    section: str
    settings: tuple[Setting, ...] = ()
    qualities: Mapping[str, Quality] = field(default_factory=dict)
    simulated: str = ""
    estimator: str | None = None
    host_compacts_at: float | None = None
    uses_summariser: bool = False
    uses_scorer: bool = False
    is_baseline: bool = False

    @property
    def key(self) -> str:
        """Id and version, as runs are stored and named: `flowctx@port-0.1.0`."""
        return f"{self.id}@{self.version}"


@dataclass(frozen=True, slots=True)
class AssembleRequest:
    """A call is about to be made. `messages` are all so far, in order; `budget` is what the host grants them (tokens of
    the window less system prompt and reserve; 0: none is known). `prompt` is the text of the newest user message."""

    messages: Sequence[ReplayMessage]
    budget: int
    call: int
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class CompactRequest:
    """The host asks for room. `current_tokens` is what it counts, `is_forced` says that the last window did not fit."""

    budget: int
    current_tokens: int | None
    target: CompactTarget = "threshold"
    is_forced: bool = False


def _unheard(sentence: str) -> None:
    """What `Host.noted` is where nobody keeps notes."""


@dataclass(slots=True)
class Host:
    """What an engine may use. `window` and `reserve` are in tokens (0: not known), `system_tokens` what the request
    holds beside the messages. `count` is the run's estimator; `now` the time of the newest message in milliseconds.

    `told` takes events of section 8.2, `node` summaries as they are made, `replaced` the id of one that left the
    window, `compacted` boundaries, `keep` an original that a handle stands for (handle, message, whole text), and
    `noted` a sentence about the whole run, once however often it is said.
    """

    window: int
    reserve: int
    system_tokens: int
    count: Callable[[str], int]
    summarise: Summariser
    scorer: Callable[[], Scorer]
    now: Callable[[], int]
    told: Callable[[EventType, Mapping[str, Any], Quality], None]
    node: Callable[[NodeMade], None]
    replaced: Callable[[str], None]
    compacted: Callable[[CompactionMade], None]
    keep: Callable[[str, ReplayMessage | None, str], None]
    material: Material
    session_id: str = ""
    agent: str = ""
    noted: Callable[[str], None] = _unheard

    @property
    def budget(self) -> int:
        """What is left for messages: the window less system prompt and reserve; 0 where no window is known."""
        return max(0, self.window - self.system_tokens - self.reserve) if self.window else 0


class Engine(Protocol):
    """A replay engine. `ReplayEngine` has the optional half of it as doing nothing."""

    spec: ClassVar[EngineSpec]

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None: ...

    def bootstrap(self) -> None:
        """The session begins."""
        ...

    def ingest(self, message: ReplayMessage) -> None:
        """A message came."""
        ...

    def ingest_batch(self, messages: Sequence[ReplayMessage]) -> None:
        """Messages came together."""
        ...

    def assemble(self, request: AssembleRequest) -> Assembly:
        """The window for the call that is about to be made."""
        ...

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """The turn is over: the next message is a user's, or there is none."""
        ...

    def compact(self, request: CompactRequest) -> CompactResult:
        """The host asks for room."""
        ...

    def maintain(self) -> None:
        """Background work after a turn."""
        ...

    def prepare_subagent_spawn(self, parent: str, child: str, *, is_fork: bool = False) -> None:
        """A sub-agent is about to start."""
        ...

    def on_subagent_ended(self, child: str, result: str, *, reason: str = "completed") -> None:
        """A sub-agent ended."""
        ...

    def dispose(self) -> None:
        """The session ends."""
        ...


class ReplayEngine:
    """A base that keeps host and settings, and does nothing where an engine need not."""

    spec: ClassVar[EngineSpec]

    def __init__(self, host: Host, settings: Mapping[str, Value]) -> None:
        self.host = host
        self.settings = dict(settings)

    def bootstrap(self) -> None:
        """See Engine."""

    def ingest(self, message: ReplayMessage) -> None:
        """See Engine."""

    def ingest_batch(self, messages: Sequence[ReplayMessage]) -> None:
        """One after the other."""
        for message in messages:
            self.ingest(message)

    def assemble(self, request: AssembleRequest) -> Assembly:
        """Every engine has its own."""
        raise NotImplementedError

    def after_turn(self, messages: Sequence[ReplayMessage]) -> None:
        """See Engine."""

    def compact(self, request: CompactRequest) -> CompactResult:
        """Nothing to give."""
        return CompactResult(False, "this engine does not compact on request")

    def maintain(self) -> None:
        """See Engine."""

    def prepare_subagent_spawn(self, parent: str, child: str, *, is_fork: bool = False) -> None:
        """See Engine."""

    def on_subagent_ended(self, child: str, result: str, *, reason: str = "completed") -> None:
        """See Engine."""

    def dispose(self) -> None:
        """See Engine."""

    def number(self, key: str) -> float:
        """A numeric setting."""
        return float(self.settings[key])

    def whole(self, key: str) -> int:
        """A whole-number setting."""
        return int(float(self.settings[key]))

    def flag(self, key: str) -> bool:
        """A yes-or-no setting."""
        return bool(self.settings[key])
