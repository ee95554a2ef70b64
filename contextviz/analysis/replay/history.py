"""What was said in a session, message by message, as the questions about a replay read it.

Messages and call points are given by shape alone: whoever has a replay's material has them (analysis never sees it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from contextviz.analysis.compaction.loss import readable_text
from contextviz.events.message import Kind, Role
from contextviz.events.text import TextRef

_NEVER_SAID: frozenset[Kind] = frozenset({"image"})


class SpokenPiece(Protocol):
    """A content block: its kind, its text, and the text's reference in the pool where it has one."""

    @property
    def kind(self) -> Kind: ...

    @property
    def text(self) -> str: ...

    @property
    def ref(self) -> TextRef | None: ...


class SpokenMessage(Protocol):
    """A message of a replay's material; `seq` counts from 0 without gaps."""

    @property
    def seq(self) -> int: ...

    @property
    def role(self) -> Role: ...

    @property
    def pieces(self) -> Sequence[SpokenPiece]: ...


class Said(NamedTuple):
    """One text of a message as identifiers are read in it (a tool call's values, one a line), and its reference."""

    kind: Kind
    text: str
    ref: TextRef | None


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """One message: who said it, its texts, and its tokens by the estimator of whoever made the history."""

    seq: int
    role: Role
    texts: tuple[Said, ...]
    tokens: int


def history_of(messages: Iterable[SpokenMessage], count: Callable[[str, TextRef | None], int]) -> list[HistoryMessage]:
    """The messages in order; `count` gives the tokens of a piece's text (with its reference, which may know them)."""
    found = []
    for message in messages:
        said = tuple(
            Said(piece.kind, readable_text(piece.text) if piece.kind == "tool_call" else piece.text, piece.ref)
            for piece in message.pieces
            if piece.text and piece.kind not in _NEVER_SAID
        )
        tokens = sum(count(piece.text, piece.ref) for piece in message.pieces if piece.text)
        found.append(HistoryMessage(message.seq, message.role, said, tokens))
    return found


def answer_to(history: Sequence[HistoryMessage], points: Sequence[int], call: int) -> Sequence[HistoryMessage]:
    """The recorded answer to call `call`: the model's messages right after the point, before the next call's point.

    `points` is by call how many messages had been read. Empty where the session holds no answer.
    """
    start = points[call]
    bound = points[call + 1] if call + 1 < len(points) else len(history)
    end = start
    while end < min(bound, len(history)) and history[end].role == "assistant":
        end += 1
    return history[start:end]
