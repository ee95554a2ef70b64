"""Calls and results that stand apart: who keeps them together, and what a run says where they are torn."""

from __future__ import annotations

from contextviz.engines.baselines import KeepNothing, KeepTail
from contextviz.engines.hosts.pi import Pi
from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.openbrain import OpenBrain
from contextviz.engines.oracle import Oracle
from contextviz.events.message import Kind, Role
from contextviz.events.run import Run
from tests.engines.building import run

WORDS = "word " * 40
# Two calls in one answer: the first is answered at once, the second behind the next message of the user.
LATE: list[tuple[Role, list[tuple[Kind, str, str | None]]]] = [
    ("user", [("text", WORDS, None)]),
    ("assistant", [("tool_call", '{"name": "read", "arguments": {}}', "a"), ("tool_call", "{}", "b")]),
    ("tool", [("tool_result", WORDS, "a")]),
    ("user", [("text", "and now the other one", None)]),
    ("tool", [("tool_result", "late", "b")]),
    ("assistant", [("text", "thanks", None)]),
    ("user", [("text", "go on", None)]),
]  # fmt: skip


def session() -> Material:
    material = Material(session_id="late", agent="main")
    turn = 0
    for seq, (role, blocks) in enumerate(LATE):
        turn += role == "user"
        pieces = tuple(Piece(kind, text, at, tool_call_id=call) for at, (kind, text, call) in enumerate(blocks))
        material.messages.append(ReplayMessage(seq, role, pieces, turn, None, f"m{seq}", seq))
    material.points = [CallPoint(5), CallPoint(7)]
    return material


def places(made: Run, call: int) -> list[int | None]:
    return [item.message_index for item in made.log.window(call)]


def said(made: Run) -> list[str]:
    return [str(event.data["message"]) for event in made.events if event.data.get("phase") == "pairs"]


def test_a_late_result_leaves_a_turn_and_a_tail_with_its_call() -> None:
    nothing, tail = run(KeepNothing, session()), run(KeepTail, session(), keepTokens=30)

    assert (places(nothing, 0), places(nothing, 1)) == ([3], [6])
    assert places(tail, 0) == [3]
    assert [boundary.dropped for boundary in tail.boundaries] == [(0, 1, 2, 4)]
    assert [call.tokens for call in tail.calls] == [5, 8]
    assert said(nothing) == said(tail) == []


def test_the_newest_answer_is_kept_with_its_results_and_flagged() -> None:
    material = session()
    material.points = [CallPoint(3)]
    made = run(KeepTail, material, keepTokens=10)

    assert places(made, 0) == [1, 1, 2]
    assert made.calls[0].is_over


def test_the_oracle_leaves_a_late_result_out_where_its_call_is() -> None:
    made = run(Oracle, session(), keepTokens=30)

    assert places(made, 0) == [3]
    assert said(made) == []
    assert made.calls[0].engine_tokens == made.calls[0].tokens == 5


def test_a_rule_that_tears_them_is_followed_and_the_run_says_so_once() -> None:
    made = run(Pi, session(), window=90, reserveTokens=40, keepRecentTokens=5)

    assert 4 in places(made, 0) and 1 not in places(made, 0)
    assert said(made) == ["A tool's result is in the window without the call: b."]


def test_what_is_remembered_without_its_call_says_so_itself() -> None:
    made = run(OpenBrain, session(), recentMessages=2, semanticSearchLimit=0)

    assert [(item.message_index, item.reason) for item in made.log.window(0)] == [
        (3, "among the newest thoughts"), (4, "among the newest thoughts; its call left the window"),
    ]  # fmt: skip
    assert said(made) == []


def test_half_an_emoji_and_a_zero_are_counted_as_they_are_kept() -> None:
    material = Material([ReplayMessage(0, "user", (Piece("text", "\ud83d and \x00", 0),))], [CallPoint(1)])
    made = run(KeepTail, material, window=100)

    assert made.calls[0].tokens == made.calls[0].engine_tokens == made.messages[0].tokens
