"""What a parent gives a sub-agent, and what comes back: seen from the tool calls of a transcript (5.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contextviz.engines.material import ReplayMessage

# Tools by which known hosts start a sub-agent and wait for it.
SPAWNING = frozenset({"Task", "Agent", "sessions_spawn", "spawn_agent", "subagent"})


@dataclass(frozen=True, slots=True)
class Started:
    """A call that starts a sub-agent."""

    child: str


@dataclass(frozen=True, slots=True)
class Ended:
    """What such a call gave back."""

    child: str
    result: str
    is_error: bool


def handovers(message: ReplayMessage) -> Iterator[Started | Ended]:
    """The starts and ends in a message, by the ids of their calls."""
    for piece in message.pieces:
        if piece.tool_name not in SPAWNING or not piece.tool_call_id:
            continue
        if piece.kind == "tool_call":
            yield Started(piece.tool_call_id)
        elif piece.kind == "tool_result":
            yield Ended(piece.tool_call_id, piece.text, piece.is_error)
