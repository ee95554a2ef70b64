"""What a replay is given: the session's own messages in order, and the points at which a model was called.

What an engine or client had made of them (summaries, stubs) is left out: each engine starts from the originals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from contextviz.events.compaction import Compaction
from contextviz.events.message import Kind, Role
from contextviz.events.snapshot import SnapshotLog
from contextviz.events.text import TextRef

NOTHING_TO_REPLAY = (
    "This session cannot be replayed: there is no model call in it and no user message, so there is nothing to replay."
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One content block of a message. `index` is its position in the session's message; `ref` the text in the pool.

    A tool call's text is JSON `{"name","arguments"}`. An image has no text; `media_bytes` is its decoded size.
    """

    kind: Kind
    text: str
    index: int
    ref: TextRef | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    is_error: bool = False
    media_bytes: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReplayMessage:
    """One message. `seq` is its position in the replay, from 0; `turn` the number of user messages up to and including
    it (8.1); `source_index` its index in the session's messages; `at` milliseconds since 1970, None where unknown.
    `text` is the texts of its pieces, one under the other."""

    seq: int
    role: Role
    pieces: tuple[Piece, ...]
    turn: int = 0
    at: int | None = None
    id: str | None = None
    source_index: int | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        texts = [piece.text for piece in self.pieces if piece.text]
        object.__setattr__(self, "text", texts[0] if len(texts) == 1 else "\n".join(texts))

    @property
    def tool_name(self) -> str | None:
        """The tool of its first call or result."""
        return next((piece.tool_name for piece in self.pieces if piece.tool_name), None)

    @property
    def calls(self) -> list[str]:
        """The ids of the tool calls in it."""
        return [piece.tool_call_id for piece in self.pieces if piece.kind == "tool_call" and piece.tool_call_id]

    @property
    def answers(self) -> list[str]:
        """The ids of the tool calls of which it has results."""
        return [piece.tool_call_id for piece in self.pieces if piece.kind == "tool_result" and piece.tool_call_id]

    @property
    def is_error(self) -> bool:
        """Whether a tool result in it is an error."""
        return any(piece.is_error for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class CallPoint:
    """A model call: the first `messages` of the material were there when it was made. `model_call` is its index in the
    session's calls, None where the session reports none and the point follows from the messages."""

    messages: int
    model_call: int | None = None


@dataclass(slots=True)
class RecordedSummary:
    """A summary that the session itself holds: of the messages before `messages`, as the model was given it."""

    messages: int
    text: str


@dataclass(slots=True)
class Recorded:
    """The session's own windows, for the engine `recorded`. `places` are the snapshots of one agent in `log`, in order;
    `seqs` gives a session message's place in the material; `compactions` are those of the agent and branch."""

    log: SnapshotLog
    places: tuple[int, ...]
    text: Callable[[TextRef], str]
    seqs: Mapping[int, int]
    compactions: tuple[Compaction, ...] = ()


@dataclass(slots=True)
class Material:
    """A session as replays see it. `system_tokens` is what is in every request beside the messages (system prompt,
    tools), by `system_basis`; `notes` say what was left out and why.

    Two more are for one engine each and None unless given: `recorded` for `recorded`; for `oracle`, `needs` are the
    identifiers that each call needs (metrics.md section 4), by call point, and `holds` those of each message, by seq.
    """

    messages: list[ReplayMessage] = field(default_factory=list)
    points: list[CallPoint] = field(default_factory=list)
    summaries: list[RecordedSummary] = field(default_factory=list)
    window: int | None = None
    model: str | None = None
    system_tokens: int | None = None
    system_basis: str = "unknown"
    session_id: str = ""
    agent: str = ""
    notes: list[str] = field(default_factory=list)
    recorded: Recorded | None = None
    needs: list[frozenset[str]] | None = None
    holds: Mapping[int, frozenset[str]] | None = None
