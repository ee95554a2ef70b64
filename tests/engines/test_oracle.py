"""The oracle: what it keeps is what is needed, within the budget."""

from __future__ import annotations

from typing import Any

import pytest

from contextviz.engines.material import Material
from contextviz.engines.oracle import Oracle
from contextviz.engines.registry import engines, named
from contextviz.events.message import Role
from contextviz.events.run import Run
from tests.engines.building import run, session


def told(*roles: str) -> Material:
    """Messages of one token by chars4-each, and a call before each answer."""
    names: dict[str, Role] = {"u": "user", "a": "assistant", "t": "tool"}
    return session([(names[one], "abcd") for one in roles])


def ask(material: Material, holds: dict[int, set[str]], need: set[str], budget: int, **more: Any) -> Run:
    """A run in which every call needs the same."""
    material.holds = {seq: frozenset(found) for seq, found in holds.items()}
    material.needs = [frozenset(need)] * len(material.points)
    return run(Oracle, material, keepTokens=budget, **more)


def kept(made: Run) -> list[int | None]:
    """The messages in the last window."""
    return [item.message_index for item in made.log.window(len(made.calls) - 1)]


def test_what_is_needed_stays_and_the_newest_fill_the_rest() -> None:
    made = ask(told(*"uauauaua"), {0: {"x"}, 3: {"y"}}, {"x", "y"}, 4)
    assert kept(made) == [0, 3, 5, 6]
    assert not made.calls[-1].is_over


def test_one_message_that_satisfies_more_is_chosen_before_two() -> None:
    made = ask(told(*"uauauaua"), {0: {"x"}, 1: {"y"}, 2: {"x", "y"}}, {"x", "y"}, 2)
    assert kept(made) == [2, 6]


def test_a_cheaper_one_is_chosen_for_the_same_need() -> None:
    material = session(
        [("user", "x " * 40), ("assistant", "x"), ("user", "z"), ("assistant", "z"), ("user", "q"), ("assistant", "a")]
    )
    assert kept(ask(material, {0: {"x"}, 1: {"x"}}, {"x"}, 3))[0] == 1


def test_a_gain_is_counted_again_once_something_is_satisfied() -> None:
    # 1 holds two needs; 2 holds the same two and 3 another: after 1, 3 is worth more than 2.
    made = ask(told(*"uauauaua"), {1: {"x", "y"}, 2: {"x", "y"}, 3: {"z"}}, {"x", "y", "z"}, 3)
    assert kept(made) == [2, 3, 6] or kept(made) == [1, 3, 6]


def test_a_call_and_its_results_stay_together() -> None:
    made = ask(told(*"uattuaua"), {3: {"x"}}, {"x"}, 4)
    assert kept(made) == [1, 2, 3, 6]


def test_what_does_not_fit_is_left_out_and_the_next_tried() -> None:
    material = session(
        [
            ("user", "x y " * 30),
            ("assistant", "y"),
            ("user", "q"),
            ("assistant", "a"),
            ("user", "q"),
            ("assistant", "a"),
        ]
    )
    assert kept(ask(material, {0: {"x", "y"}, 1: {"y"}}, {"x", "y"}, 2)) == [1, 4]


def test_the_newest_message_stays_even_alone_too_large() -> None:
    material = session([("user", "a"), ("assistant", "b"), ("user", "long " * 50), ("assistant", "c")])
    made = ask(material, {0: {"x"}}, {"x"}, 10)
    assert kept(made) == [2]
    assert made.calls[-1].is_over


def test_everything_stays_while_it_fits_or_no_budget_is_known() -> None:
    assert kept(ask(told(*"uaua"), {}, set(), 100)) == [0, 1, 2]
    assert kept(ask(told(*"uaua"), {}, set(), 0)) == [0, 1, 2]


def test_without_needs_the_tail_is_left_and_that_is_said() -> None:
    made = run(Oracle, told(*"uauauaua"), keepTokens=3)
    assert kept(made) == [4, 5, 6]
    assert made.calls[-1].mode == "no needs given: the tail alone"
    short = told(*"uauauaua")
    short.needs, short.holds = [], {}
    assert kept(run(Oracle, short, keepTokens=3)) == [4, 5, 6]


@pytest.mark.parametrize("talk", [[], [("tool", "r")] * 6, [("assistant", "a"), ("tool", "r")] * 6, [("user", "q")]])
def test_bad_input_ends(talk: list[tuple[Role, str]]) -> None:
    material = session(talk)
    made = run(Oracle, material, window=3, keepTokens="x", other=1)
    assert len(made.calls) == len(material.points)
    assert len([note for note in made.notes if "keepTokens" in note]) >= 1


def test_no_window_is_over_its_budget_while_one_could_fit() -> None:
    material = told(*"uauattuauauauata")
    holds = {seq: {f"i{seq % 5}", f"j{seq % 3}"} for seq in range(16)}
    for budget in range(3, 12):
        made = ask(material, holds, {"i1", "i4", "j2"}, budget)
        assert not any(call.is_over for call in made.calls)
        for call in made.calls:
            window = [item.message_index or 0 for item in made.log.window(call.index)]
            assert window == sorted(set(window))


def test_the_baselines_come_first_in_the_registry() -> None:
    assert [engine.spec.id for engine in engines()][:4] == ["keep-all", "keep-nothing", "keep-tail", "oracle"]
    assert named("oracle") is Oracle
    assert {"recorded", "pi", "openclaw", "claude-code", "codex"} <= {engine.spec.id for engine in engines()}
