"""The engine's own tests: a session made by hand, and the windows that its rule gives."""

from __future__ import annotations

from first_and_last import FirstAndLast

from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summarising.registry import summariser
from contextviz.events.message import Role
from contextviz.events.run import Run
from contextviz.tokens.pool import MemoryPool

ROLES: list[Role] = ["user", "assistant", "user", "assistant", "user", "assistant"]


def replayed(newest: object) -> Run:
    messages = [
        ReplayMessage(seq, role, (Piece("text", f"message {seq}", 0),), source_index=seq)
        for seq, role in enumerate(ROLES)
    ]
    material = Material(messages, [CallPoint(5)])
    return replay(material, FirstAndLast, RunRequest({"newest": newest}), pool=MemoryPool(), summarise=summariser())


def test_the_first_message_stays_and_what_is_between_is_said_to_be_gone() -> None:
    made = replayed(2)

    assert [item.message_index for item in made.log.window(0)] == [0, 3, 4]
    assert [boundary.dropped for boundary in made.boundaries] == [(1, 2)]


def test_what_is_no_number_of_messages_is_said() -> None:
    assert any("newest" in note for note in replayed("many").notes)
