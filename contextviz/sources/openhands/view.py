"""The window as OpenHands makes it: a list of events, of which condensations take some away and put a summary in.

Every event of the history has a place in that list, also those that are shown to no model, since the place of a summary
is counted in it. A tool call is sent once each of its reply's calls has a result, and a result only with its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from contextviz.events.message import Block, Message
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextRef
from contextviz.sources.plain.draft import Draft

PieceKind = Literal["silent", "message", "calls", "result", "summary"]
# Positions and pieces that condensations may have gone through, over a whole conversation. A real one of thousands of
# condensations stays far below; a file may be written so that each of them changes a window of 100,000 items.
MOST_REBUILT = 1_500_000
SUMMARY_ID = "{}-summary"


@dataclass(slots=True)
class Batch:
    """The tool calls of one reply that are sent together: its message, the blocks of it that are sent, and the calls
    whose results are waited for. `is_answered` says that one of them has come."""

    message: Message
    blocks: list[Block]
    calls: list[str]
    is_answered: bool = False


@dataclass(slots=True)
class Piece:
    """One event in the list. `name` is its id, `number` the same where it is one, `calls` are those that it adds to its
    batch, `call` is the one that it answers."""

    kind: PieceKind
    name: str
    number: int | None = None
    message: Message | None = None
    blocks: list[Block] | None = None
    batch: Batch | None = None
    calls: tuple[str, ...] = ()
    call: str | None = None
    summary: TextRef | None = None
    reason: str = ""


class View:
    """One agent's list of events, with the window that follows from it in the draft."""

    def __init__(self, draft: Draft, agent: str | None):
        self._draft = draft
        self._agent = agent
        self._budget = MOST_REBUILT
        self.pieces: list[Piece] = []
        self.is_lost = False
        self._missing: dict[int, set[str]] = {}
        self._results: dict[str, Piece] = {}
        self._waiting: dict[str, Batch] = {}

    def names(self) -> set[str]:
        """The messages that are in the list now, sent or not."""
        messages = (one.message or (one.batch.message if one.batch is not None else None) for one in self.pieces)
        return {message.id or "" for message in messages if message is not None}

    def add(self, piece: Piece) -> None:
        """Let an event follow."""
        self.pieces.append(piece)
        window = self._draft.window(self._agent)
        self._take(piece, window.positions, window.names)

    def condense(
        self, is_forgotten: Callable[[Piece], bool], summary: Piece | None, offset: int | None, *, drops_summary: bool
    ) -> tuple[list[str], int] | None:
        """Take events away and put a summary at its place, which is counted in what is left; earlier summaries stay
        only where not `drops_summary`. Gives the names of what is in the window then, and how many events were taken
        away; None where so much was gone through already that the window is given up (`is_lost`)."""
        self._budget -= len(self.pieces)
        if self._budget < 0:
            self.is_lost = True
            return None
        taken = {id(one) for one in self.pieces if is_forgotten(one)}
        # A reply's calls are one message: where one of them is taken away, all are.
        torn = {id(one.batch) for one in self.pieces if one.batch is not None and id(one) in taken}
        left = [
            one for one in self.pieces
            if id(one) not in taken and not (drops_summary and one.kind == "summary")
            and (one.batch is None or id(one.batch) not in torn)
        ]  # fmt: skip
        gone = sum(one.kind != "summary" for one in self.pieces) - sum(one.kind != "summary" for one in left)
        if summary is not None and offset is not None:
            left.insert(offset, summary)
        self.pieces = left
        return self._rebuild(), gone

    def _rebuild(self) -> list[str]:
        self._missing, self._results, self._waiting = {}, {}, {}
        positions: list[int] = []
        names: list[str] = []
        for piece in self.pieces:
            self._take(piece, positions, names)
        self._budget -= len(positions)
        self._draft.restart(positions, names, agent=self._agent)
        return names

    def _take(self, piece: Piece, positions: list[int], names: list[str]) -> None:
        if piece.kind == "message" and piece.message is not None:
            positions.extend(self._draft.items(piece.message, blocks=piece.blocks, reason=_reason(piece)))
            names.append(piece.message.id or "")
        elif piece.kind == "summary" and piece.summary is not None:
            item = ContextItem("user", "summary", piece.summary, piece.name, None, "summary", piece.reason)
            positions.append(self._draft.transcript.log.table.intern(item))
            names.append(f"summary {piece.name}")
        elif piece.kind == "calls" and piece.batch is not None:
            self._missing.setdefault(id(piece.batch), set()).update(piece.calls)
            self._waiting.update(dict.fromkeys(piece.calls, piece.batch))
        elif piece.kind == "result" and piece.call is not None:
            self._answered(piece, piece.call, positions, names)

    def _answered(self, piece: Piece, call: str, positions: list[int], names: list[str]) -> None:
        batch = self._waiting.pop(call, None)
        if batch is None:
            return
        self._results[call] = piece
        missing = self._missing[id(batch)]
        missing.discard(call)
        if not missing:
            self._send(batch, positions, names)

    def _send(self, batch: Batch, positions: list[int], names: list[str]) -> None:
        """A reply whose calls are all answered, with the results behind it."""
        positions.extend(self._draft.items(batch.message, blocks=batch.blocks))
        names.append(batch.message.id or "")
        for call in batch.calls:
            result = self._results.pop(call, None)
            if result is not None and result.message is not None:
                positions.extend(self._draft.items(result.message, blocks=result.blocks))
                names.append(result.message.id or "")


def _reason(piece: Piece) -> str:
    return piece.reason or "in the transcript"


def forgets(names: set[str], start: int | None, end: int | None) -> Callable[[Piece], bool]:
    """Whether a condensation takes an event away: by its id, or by the range of ids, both ends with it."""
    has_range = start is not None and end is not None

    def is_forgotten(piece: Piece) -> bool:
        if piece.name in names or (piece.kind == "summary" and SUMMARY_ID.format(piece.name) in names):
            return True
        return has_range and piece.number is not None and (start or 0) <= piece.number <= (end or 0)

    return is_forgotten


def numbers_of(values: Iterable[object]) -> set[str]:
    """Ids as names: the application numbers its events, the SDK has texts."""
    return {str(one) for one in values if isinstance(one, str | int) and not isinstance(one, bool)}
