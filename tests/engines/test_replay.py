from __future__ import annotations

import random

import pytest

from contextviz.engines.baselines import KeepAll, KeepNothing, KeepTail
from contextviz.engines.engine import AssembleRequest
from contextviz.engines.material import CallPoint, Material
from contextviz.engines.registry import NoSuchEngine, named
from contextviz.engines.window import Assembly
from contextviz.events.message import Role
from contextviz.events.run import WindowLog, edit_between
from contextviz.events.snapshot import ItemTable, common_prefix
from tests.engines.building import run, session

TALK: list[tuple[Role, str]] = [
    ("user", "one two three"), ("assistant", "four five"), ("user", "six"), ("assistant", "seven"),
    ("tool", "eight"), ("assistant", "nine"),
]  # fmt: skip


def test_each_call_gets_what_was_there_before_it() -> None:
    made = run(KeepAll, session(TALK))

    assert [call.messages for call in made.calls] == [1, 3, 5]
    assert [[item.message_index for item in made.log.window(index)] for index in range(3)] == [
        [0], [0, 1, 2], [0, 1, 2, 3, 4],
    ]  # fmt: skip
    assert [(call.kept_items, call.items) for call in made.calls] == [(0, 1), (1, 3), (3, 5)]
    assert made.calls[1].kept_tokens == made.calls[0].tokens


def test_the_floor_keeps_the_turn_alone() -> None:
    made = run(KeepNothing, session(TALK))

    assert [item.message_index for item in made.log.window(2)] == [2, 3, 4]


def test_the_tail_drops_the_oldest_and_never_splits_a_call_from_its_result() -> None:
    made = run(KeepTail, session(TALK), keepTokens=3)

    assert [item.message_index for item in made.log.window(1)] == [1, 2]
    assert [boundary.dropped for boundary in made.boundaries] == [(0,), (1,)]
    assert made.boundaries[0].compaction.kind == "trim"


def test_the_same_replay_gives_the_same_hashes_and_equal_windows_have_equal_ones() -> None:
    first, second = run(KeepAll, session(TALK)), run(KeepAll, session(TALK))
    tail = run(KeepTail, session(TALK))  # without a budget it keeps all

    assert first.hash == second.hash
    assert (
        [call.hash for call in first.calls]
        == [call.hash for call in second.calls]
        == [call.hash for call in tail.calls]
    )
    assert len({call.hash for call in first.calls}) == 3


def test_a_window_of_nothing_is_a_sentence_and_a_result() -> None:
    made = run(KeepTail, session(TALK), window=0, keeptokens="x")

    assert any("window of 0" in note for note in made.notes)
    assert any("keepTokens" in note for note in made.notes)
    assert [call.is_over for call in made.calls] == [False, False, False]


def test_one_message_larger_than_the_window_is_flagged() -> None:
    made = run(KeepTail, session([("user", "word " * 500), ("assistant", "yes")]), window=100)

    assert made.calls[0].is_over
    assert made.calls[0].items == 1


def test_a_session_without_messages() -> None:
    assert run(KeepAll, Material(points=[CallPoint(0)])).calls[0].items == 0


def test_windows_come_back_from_their_differences() -> None:
    chance = random.Random(7)
    log, windows, window = WindowLog(ItemTable()), [], list[int]()
    for step in range(200):
        before = window
        front = chance.randrange(0, len(window) + 1) if chance.random() < 0.3 else 0
        fresh = [1000 + step] if chance.random() < 0.3 else []
        window = fresh + window[front:] + [chance.randrange(50) for _ in range(chance.randrange(4))]
        keep = common_prefix(before, window)
        log.add(before, window, keep)
        windows.append(window)

    assert [log.positions(index) for index in range(200)] == windows


def test_a_window_that_slides_is_a_small_difference() -> None:
    before = list(range(2000))
    edit = edit_between(before, [*before[700:], 5000])

    assert (edit.keep, edit.insert, edit.start, edit.end, edit.tail) == (0, (), 700, 2000, (5000,))


def test_an_engine_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(NoSuchEngine, match="Did you mean keep-all"):
        named("keep-al")


class Newest(KeepAll):
    """An engine that gives only the newest message, and says nothing of it."""

    def assemble(self, request: AssembleRequest) -> Assembly:
        return Assembly(super().assemble(request).parts[-1:])


def test_what_an_assembly_leaves_out_is_a_boundary_although_the_engine_tells_none() -> None:
    made = run(Newest, session(TALK))

    assert [[item.message_index for item in made.log.window(call)] for call in range(3)] == [[0], [2], [4]]
    assert [(one.dropped, one.compaction.kind, one.compaction.trigger) for one in made.boundaries] == [
        ((0,), "trim", "assembly"), ((2,), "trim", "assembly"),
    ]  # fmt: skip
    assert [(one.compaction.before_call, one.compaction.after_call) for one in made.boundaries] == [(0, 1), (1, 2)]
    assert [one.compaction.tokens_before for one in made.boundaries] == [call.tokens for call in made.calls[:2]]
    assert {one.basis for one in made.boundaries} == {"o200k_base"}
