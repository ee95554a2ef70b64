"""The bench of engines: its session is what it says, and its table marks what took too long."""

from __future__ import annotations

from dataclasses import replace

from bench.engines import MESSAGES, Measured, packed_bytes, rendered, session
from contextviz.engines.registry import named
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summarising.registry import summariser
from contextviz.tokens.pool import MemoryPool

ONE = Measured("keep-tail@1", 200_000, 9.0, 3.0, 0.1, 3928, 7, 0, 8000, 1 << 27, "0" * 64)


def test_the_session_is_as_large_as_the_table_says() -> None:
    messages = 1_000
    made = session(messages, MemoryPool())
    tokens = sum(piece.ref.estimated_tokens for one in made.messages for piece in one.pieces if piece.ref)

    assert 360_000 < tokens / messages * MESSAGES < 385_000
    assert [point.messages for point in made.points] == list(range(1, messages, 4))
    assert [one.role for one in made.messages[:4]] == ["user", "assistant", "tool", "assistant"]
    assert [one.text for one in session(messages, MemoryPool()).messages] == [one.text for one in made.messages]


def test_a_replay_of_it_is_kept_in_few_bytes() -> None:
    pool = MemoryPool()
    material = session(1_000, pool)
    made = replay(material, named("keep-tail"), RunRequest({}, 4_000, system_tokens=0), pool=pool,
                  summarise=summariser())  # fmt: skip

    assert len(made.calls) == 250 and len(made.boundaries) > 100
    assert 100 < packed_bytes(made) < 20_000


def test_over_ten_seconds_is_missed_and_it_says_by_which_clock() -> None:
    rows = rendered([ONE, replace(ONE, wall=11.0), replace(ONE, wall=30.0, cpu=12.0)]).splitlines()

    assert [row.partition("128")[2].strip() for row in rows[1:]] == ["", "MISSED (wall alone)", "MISSED"]
    assert "90.0" in rows[1]
