"""Short messages of ten tokens each, as hosts that count characters by four count them."""

from __future__ import annotations

from contextviz.engines.material import ReplayMessage
from contextviz.events.message import Role
from tests.engines.building import message

FORTY = "x" * 40
ROLES: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}
_TURN: tuple[Role, ...] = ("user", "assistant")


def chain(roles: str) -> list[ReplayMessage]:
    """Messages by the first letters of their roles."""
    return [message(seq, ROLES[letter], FORTY) for seq, letter in enumerate(roles)]


def turns(count: int) -> list[tuple[Role, str]]:
    """Questions, each with its answer."""
    return [(role, FORTY) for _ in range(count) for role in _TURN]
