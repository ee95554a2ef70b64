"""Sessions made up for engine tests: messages by role and text, a call before each assistant message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from contextviz.engines.engine import Engine
from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summaries import RuleSummariser, Summariser
from contextviz.events.message import Kind, Role
from contextviz.events.run import Run
from contextviz.tokens.pool import MemoryPool

SHORT = RuleSummariser("short", lambda request: f"summary of {len(request.text)} characters")
START = 1_700_000_000_000
KINDS: dict[str, Kind] = {"user": "text", "assistant": "text", "tool": "tool_result", "system": "system"}


def message(
    seq: int, role: Role, text: str, *, turn: int = 0, tool: str | None = None, call: str | None = None
) -> ReplayMessage:
    """One message of one piece; a tool result carries the name of its tool and the id of its call."""
    piece = Piece(KINDS[role], text, 0, tool_name=tool, tool_call_id=call)
    return ReplayMessage(seq, role, (piece,), turn, START + seq * 1000, f"m{seq}", seq)


def session(turns: Iterable[tuple[Role, str]], *, window: int | None = None) -> Material:
    """A session of these messages, with a call before each assistant message."""
    material = Material(window=window, session_id="made-up", agent="main")
    turn = 0
    for seq, (role, text) in enumerate(turns):
        turn += role == "user"
        if role == "assistant":
            material.points.append(CallPoint(seq))
        material.messages.append(message(seq, role, text, turn=turn))
    return material


def run(engine: type[Engine], material: Material, *, window: int | None = None, summarise: Summariser = SHORT,
        progress: Callable[[int, int], None] | None = None, **settings: Any) -> Run:  # fmt: skip
    """Replay with an own pool."""
    request = RunRequest(settings, window=window)
    return replay(material, engine, request, pool=MemoryPool(), summarise=summarise, progress=progress)


def texts(made: Run, call: int) -> list[str]:
    """The texts of a window: of what the material holds by the item's message, else as made."""
    return [item.text.sha256 for item in made.log.window(call)]
