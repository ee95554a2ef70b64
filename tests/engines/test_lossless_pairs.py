"""lossless-claw's results without calls: why a call has none, and that each one that is left out is told of."""

from __future__ import annotations

import pytest

from contextviz.engines.lossless import Lossless, LosslessBeta
from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summarising.stubs import TINY
from contextviz.events.run import Run
from contextviz.tokens.pool import MemoryPool

BEFORE = "its result stands before the call and is dropped, as upstream does"
NONE = "no result was recorded for this call"


def piece(of: str) -> tuple[str, Piece]:
    """`u` a user's words, `cX` the call X, `rX` a result of it."""
    if of == "u":
        return "user", Piece("text", "please", 0)
    name = of[1:]
    if of[0] == "c":
        call = '{"name":"read","arguments":{"path":"a"}}'
        return "assistant", Piece("tool_call", call, 0, tool_name="read", tool_call_id=name)
    return "tool", Piece("tool_result", f"what {name} says", 0, tool_name="read", tool_call_id=name)


def replayed(order: str, engine: type[Lossless]) -> Run:
    """A session in this order, with a call after each message."""
    material = Material(window=100_000, session_id="pairs")
    for seq, of in enumerate(order.split()):
        role, content = piece(of)
        material.messages.append(
            ReplayMessage(seq, role, (content,), 1, 1_700_000_000_000 + seq, f"m{seq}", seq)  # type: ignore[arg-type]
        )
        material.points.append(CallPoint(seq + 1))
    return replay(material, engine, RunRequest(), pool=MemoryPool(), summarise=TINY)


def made_up(made: Run) -> list[str]:
    """Why each made-up result stands in the last window."""
    return [item.reason for item in made.log.window(len(made.calls) - 1) if item.state == "injected"]


def lost(made: Run) -> list[int]:
    return [int(str(event.data["msg"])) for event in made.events if event.type == "message.trimmed"]


@pytest.mark.parametrize("engine", [Lossless, LosslessBeta])
@pytest.mark.parametrize(
    ("order", "reasons", "dropped"),
    [
        ("u c1 r1 u", [], []),
        ("u c1 u", [NONE], []),
        ("u r1 c1 u u", [BEFORE], [1]),
        ("u r1 r2 c1 c2 u", [BEFORE, BEFORE], [1, 2]),
        ("u c1 u r1 u", [], []),  # late, and put behind its call
        ("u c1 r1 r1 u", [], [3]),
        ("u c1 r1 u c1 u", [NONE], []),  # the id comes again: the later call has none of its own
        ("u r9 u", [], [1]),
    ],
)
def test_a_call_without_a_result_says_why_and_a_result_without_a_call_is_told_once(
    order: str, reasons: list[str], dropped: list[int], engine: type[Lossless]
) -> None:
    made = replayed(order, engine)

    assert made_up(made) == reasons
    assert lost(made) == dropped


def test_what_is_told_of_a_result_says_what_is_missing_and_how_much() -> None:
    event = next(one for one in replayed("u r1 c1 u", LosslessBeta).events if one.type == "message.trimmed")

    assert event.data["action"] == "drop" and int(str(event.data["tokensSaved"])) > 0 and event.quality == "exact"
    assert "no call of this result stands before it" in str(event.data["reason"])
