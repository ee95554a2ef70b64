"""A session's messages as OpenVole would hold them, each with the part of the window that shows it.

What one message of a host is, is one message here. OpenVole itself writes what the brain says before a call twice, once
alone and once with the call; results that came together are messages of their own in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextviz.engines.material import Piece, ReplayMessage
from contextviz.engines.openvole.messages import AgentMessage, ToolCall, VoleRole
from contextviz.engines.window import Part, PartPiece
from contextviz.events.javascript import length16, parse, slice16, stringify
from contextviz.events.snapshot import ItemState

MOST_OUTPUT, OUTPUT_KEPT = 10_000, 5_000  # UTF-16 units of a tool's output
CALLING = "Calling tools: "
KEPT = "kept verbatim"


@dataclass(slots=True, eq=False)
class Held(AgentMessage):
    """A message with what the window shows for it. `calls` and `results` are the ids of the tool calls in it and of
    those it has the results of; `node` is the summary that it is; `cut_from` the whole output where that was cut;
    `handle` gets the text back that it came with, once it is shortened; `is_share` says that its
    message holds other results as well; `note` is added to each reason."""

    source: ReplayMessage | None = None
    pieces: tuple[Piece, ...] = ()
    part: Part | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    node: str | None = None
    cut_from: str | None = None
    handle: str | None = None
    is_share: bool = False
    note: str = ""

    @property
    def seq(self) -> int | None:
        """The position of its message in the replay, None where the engine made it."""
        return self.source.seq if self.source is not None else None

    def show(self, state: ItemState, reason: str, handle: str | None = None) -> None:
        """Its content was rewritten: show that from now on."""
        role = self.source.role if self.source is not None else "assistant"
        pieces = _rewritten(self.pieces, self.content, state) if self.pieces else (
            PartPiece("summary" if self.node else "text", self.content, None, state),
        )  # fmt: skip
        segment = "summary" if self.node else "message"
        self.part = Part(role, self.source, pieces, segment, reason + self.note, self.node, handle)


def held_messages(message: ReplayMessage) -> list[Held]:
    """What OpenVole holds of a message. System and developer messages in the middle count as the user's."""
    if message.role == "assistant":
        return [_brain(message)]
    if message.role == "tool":
        groups = _results(message.pieces)
        return [_result(message, group, is_whole=len(groups) == 1) for group in groups]
    return [_held(message, "user", message.text, message.pieces)]


def _held(message: ReplayMessage, role: VoleRole, content: str, pieces: tuple[Piece, ...],
          call: ToolCall | None = None) -> Held:  # fmt: skip
    held = Held(role, content, message.at or 0, call, source=message, pieces=pieces)
    held.part = Part(message.role, message, reason=KEPT)
    return held


def _brain(message: ReplayMessage) -> Held:
    calls = [piece for piece in message.pieces if piece.kind == "tool_call"]
    if not calls:
        return _held(message, "brain", message.text, message.pieces)
    named = [(piece.tool_name or "tool", _arguments(piece.text)) for piece in calls]
    said = "\n".join(piece.text for piece in message.pieces if piece.kind != "tool_call" and piece.text)
    summary = CALLING + ", ".join(f"{name}({stringify(arguments)})" for name, arguments in named)
    tool = ToolCall(*named[0])
    if len(named) > 1:
        tool = ToolCall("multiple", [{"tool": name, "params": arguments} for name, arguments in named])
    held = _held(message, "brain", said or summary, message.pieces, tool)
    held.calls = tuple(piece.tool_call_id for piece in calls if piece.tool_call_id)
    return held


def _arguments(text: str) -> Any:
    """The arguments of a call's JSON; the text itself where it is none."""
    try:
        record = parse(text)
    except ValueError:
        return text
    return record.get("arguments") if isinstance(record, dict) and "arguments" in record else record


def _results(pieces: tuple[Piece, ...]) -> list[tuple[Piece, ...]]:
    """The pieces by result. Images stay with the message, whose size they are."""
    groups: list[list[Piece]] = []
    for piece in pieces:
        if piece.kind == "tool_result" or not groups:
            groups.append([piece])
        else:
            groups[-1].append(piece)
    if len(groups) > 1 and any(piece.media_bytes is not None for piece in pieces):
        return [pieces]
    return [tuple(group) for group in groups] or [()]


def _result(message: ReplayMessage, pieces: tuple[Piece, ...], *, is_whole: bool) -> Held:
    content = message.text if is_whole else "\n".join(piece.text for piece in pieces if piece.text)
    name = next((piece.tool_name for piece in pieces if piece.tool_name), None)
    failed = any(piece.is_error for piece in pieces)
    held = _held(message, "error" if failed else "tool_result", content, pieces, ToolCall(name) if name else None)
    held.results = tuple(piece.tool_call_id for piece in pieces if piece.tool_call_id)
    if not is_whole:
        held.is_share = True
        held.part = Part(message.role, message, tuple(map(_verbatim, pieces)), reason=KEPT)
    length = length16(content)
    if not failed and length > MOST_OUTPUT:
        held.cut_from = content
        held.rewrite(f"{slice16(content, 0, OUTPUT_KEPT)}... [truncated, {length} chars total]")
    return held


def _verbatim(piece: Piece) -> PartPiece:
    return PartPiece(
        piece.kind, piece.text, piece.index, "verbatim", piece.tool_name, piece.tool_call_id, piece.is_error
    )


def _rewritten(pieces: Sequence[Piece], content: str, state: ItemState) -> tuple[PartPiece, ...]:
    """`content` in the place of the first piece that it was made of; images stay, and calls beside words. Where the
    calls are the content, the others keep their ids alone."""
    words = [piece for piece in pieces if piece.text and piece.kind != "tool_call"]
    first = (words or [piece for piece in pieces if piece.text] or list(pieces))[0]
    shown = []
    for piece in pieces:
        if piece is first:
            shown.append(PartPiece(piece.kind, content, piece.index, state, piece.tool_name, piece.tool_call_id,
                                   piece.is_error))  # fmt: skip
        elif not piece.text or (piece.kind == "tool_call" and words):
            shown.append(_verbatim(piece))
        elif piece.kind == "tool_call":
            shown.append(PartPiece(piece.kind, "", piece.index, state, piece.tool_name, piece.tool_call_id))
    return tuple(shown)
