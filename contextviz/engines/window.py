"""What an engine gives back: the assembled window, part by part, and what it did to get there."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from contextviz.engines.material import Piece, ReplayMessage
from contextviz.events.compaction import CompactionKind
from contextviz.events.message import Kind, Role
from contextviz.events.snapshot import ItemState


@dataclass(frozen=True, slots=True)
class PartPiece:
    """One item of a part: a block of the message as it is given now. `index` is the block's position in the session's
    message, None for what the engine made."""

    kind: Kind
    text: str
    index: int | None = None
    state: ItemState = "verbatim"
    tool_name: str | None = None
    tool_call_id: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One message of a window. The same object in two windows is the same bytes: engines keep and reuse parts.

    `message` is the message it is of; `pieces` is None where that is given verbatim and whole, else what stands there
    now. `segment` is a segment kind of section 8.2, `reason` a few words for the page, `node` the summary shown,
    `handle` what gets an original back, `protected` why the engine must keep it.
    """

    role: Role
    message: ReplayMessage | None = None
    pieces: tuple[PartPiece, ...] | None = None
    segment: str = "message"
    reason: str = "kept verbatim"
    node: str | None = None
    handle: str | None = None
    protected: str | None = None

    @property
    def text(self) -> str:
        """Its texts, one under the other."""
        if self.pieces is None:
            return self.message.text if self.message is not None else ""
        return "\n".join(piece.text for piece in self.pieces if piece.text)


def made(
    role: Role, text: str, *, segment: str, reason: str, kind: Kind = "injected", node: str | None = None,
    handle: str | None = None,
) -> Part:  # fmt: skip
    """A part that the engine wrote itself."""
    state: ItemState = "summary" if kind == "summary" else "injected"
    piece = PartPiece(kind, text, None, state)
    return Part(role, None, (piece,), segment=segment, reason=reason, node=node, handle=handle)


def altered(message: ReplayMessage, text: str, *, state: ItemState, reason: str, handle: str | None = None) -> Part:
    """A message whose whole text the engine replaced by `text`; its first piece stands for it."""
    first = message.pieces[0] if message.pieces else None
    piece = PartPiece(
        first.kind if first else "text", text, first.index if first else None, state,
        first.tool_name if first else None, first.tool_call_id if first else None, message.is_error,
    )  # fmt: skip
    return Part(message.role, message, (piece,), reason=reason, handle=handle)


def without_results(part: Part, calls: Container[str]) -> Part:
    """A part without the results of these calls; it may be empty. For engines whose windows hold no result alone."""
    message = part.message
    left = [piece for piece in (message.pieces if message is not None else ()) if not is_result_of(piece, calls)]
    pieces = tuple(
        PartPiece(one.kind, one.text, one.index, "verbatim", one.tool_name, one.tool_call_id, one.is_error)
        for one in left
    )
    return Part(part.role, message, pieces, part.segment, "without a result whose call is not there")


def is_result_of(piece: Piece, calls: Container[str]) -> bool:
    """Whether a piece is the result of one of these calls."""
    return piece.kind == "tool_result" and piece.tool_call_id is not None and piece.tool_call_id in calls


@dataclass(slots=True)
class Assembly:
    """The window for one call. `parts` are the messages in order; `system` what the engine adds to the system prompt.

    `estimated_tokens` is the engine's own number, by its own estimator (None where it makes none). `is_over` says that
    it does not fit and the engine knows; a window over its budget is flagged by the replay in any case.
    """

    parts: list[Part]
    estimated_tokens: int | None = None
    system: Part | None = None
    mode: str | None = None
    is_over: bool = False
    evicted: tuple[int, ...] = ()


@dataclass(slots=True)
class CompactResult:
    """What `compact` did, as the host is told (1.1); what changed the window is told to `Host.compacted` as well."""

    compacted: bool
    reason: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: str | None = None


@dataclass(slots=True)
class NodeMade:
    """A summary node. `sources` are the ids of the lower nodes it replaces, `covers` the seqs of the messages it was
    made from directly. `tokens` is the engine's own count; `level` how it came about (normal, aggressive, fallback, …).
    """

    id: str
    depth: int
    text: str
    tokens: int
    kind: str = "leaf"
    sources: tuple[str, ...] = ()
    covers: tuple[int, ...] = ()
    level: str = "normal"
    quality: str = "simulated"
    given: str | None = None


@dataclass(slots=True)
class CompactionMade:
    """A boundary: from here on something else stands where `dropped` messages (seqs) were.

    Tokens are by the engine's own estimator. `nodes` are the summaries that stand for them.
    """

    kind: CompactionKind
    trigger: str
    tokens_before: int | None
    tokens_after: int | None
    dropped: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()
    summary: str | None = None
    reason: str = ""
    summariser_calls: int = 0
    data: dict[str, str | int | float | bool | None] = field(default_factory=dict)
