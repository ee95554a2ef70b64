from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.analysis.compaction import boundary
from contextviz.analysis.composition.calibration import Calibration
from tests.analysis.building import Builder, words


def _session(builder: Builder) -> None:
    user = builder.say("user", ("text", "Fix src/cart.py with seed=4711 now"))
    first = builder.item("user", "text", "Fix src/cart.py with seed=4711 now", message_index=user.index)
    builder.call([first], 106, answer="I looked at 9f3c1e7 in src/cart.py")
    answer = builder.item(
        "assistant",
        "text",
        "I looked at 9f3c1e7 in src/cart.py",
        message_index=builder.transcript.calls[0].message_index,
    )
    builder.call([first, answer], 112, answer="done")
    summary = builder.item("user", "summary", "We fixed src/cart.py")
    builder.call([first, summary], 111)
    later = json.dumps({"name": "Bash", "arguments": {"command": "git show 9f3c1e7"}})
    message = builder.say("assistant", ("tool_call", later), call_index=2)
    builder.transcript.calls[2].message_index = message.index
    builder.compact(
        1, 2, tokens_before=120, tokens_after=30, trigger="auto", duration_seconds=4.5, summary=summary.text
    )


def test_a_boundary_tells_what_left_what_stayed_what_came_and_adds_up(builder: Builder) -> None:
    _session(builder)
    view = boundary(builder.transcript, builder.transcript.compactions[0], builder.pool)
    assert [change.item.kind for change in view.kept] == ["text"]
    assert [change.item.role for change in view.dropped] == ["assistant"]
    assert [change.item.kind for change in view.new] == ["summary"]
    assert [(group.fate, group.category, group.items, group.tokens) for group in view.groups] == [
        ("kept", "user", 1, 5),
        ("dropped", "assistant", 1, 6),
        ("new", "summary", 1, 3),
    ]
    sums = view.accounting
    assert sums is not None
    assert (sums.before, sums.dropped, sums.new, sums.after, sums.residual, sums.basis) == (
        112,
        6,
        3,
        111,
        2,
        "reported",
    )
    facts = view.facts
    assert (facts.before_call, facts.after_call, facts.trigger, facts.duration_seconds) == (2, 3, "auto", 4.5)
    assert (facts.client_before_tokens, facts.client_after_tokens, facts.summary_tokens) == (120, 30, 3)
    assert (facts.prompt_before, facts.prompt_after) == ((112, "reported"), (111, "reported"))


def test_the_ledger_names_what_is_in_neither_and_where_it_is_used_afterwards(builder: Builder) -> None:
    _session(builder)
    found = boundary(builder.transcript, builder.transcript.compactions[0], builder.pool).ledger
    assert found is not None
    rows = {row.canonical: row for row in found.rows}
    assert (rows["src/cart.py"].state, rows["9f3c1e7"].state) == ("kept", "lost")
    assert rows["9f3c1e7"].first_call == 1
    assert rows["9f3c1e7"].later == [(3, "arguments")]
    assert rows["9f3c1e7"].is_missed(3, within=5)


def test_without_a_call_after_nothing_is_claimed_about_what_stayed(builder: Builder) -> None:
    builder.call([builder.item("user", "text", "one two")])
    view = boundary(builder.transcript, builder.compact(0, None), builder.pool)
    assert (view.difference, view.accounting, view.ledger, view.dropped) == (None, None, None, [])
    assert view.notes == ["No call follows this compaction, so what stayed cannot be told."]
    assert (view.facts.prompt_before, view.facts.prompt_after) == ((2, "estimated"), (None, "unknown"))


def test_estimates_are_scaled_and_one_missing_report_makes_both_sides_estimates(builder: Builder) -> None:
    builder.call([builder.item("user", "text", words(10, "a"))], 500)
    builder.call([builder.item("user", "summary", words(4, "s"))])
    calibration = Calibration(scale=1.5, baseline=100)
    view = boundary(builder.transcript, builder.compact(0, 1), builder.pool, calibration=calibration)
    sums = view.accounting
    assert sums is not None
    assert (sums.before, sums.dropped, sums.new, sums.after, sums.residual, sums.basis) == (
        15,
        15,
        6,
        6,
        0,
        "estimated",
    )
    assert view.facts.prompt_after == (106, "estimated")


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 8), max_size=12),
    st.lists(st.integers(0, 8), max_size=12),
    st.one_of(st.none(), st.integers(0, 999)),
    st.one_of(st.none(), st.integers(0, 999)),
    st.floats(0.5, 2.5),
)
def test_before_less_dropped_plus_new_plus_residual_is_after(
    first: list[int], second: list[int], before: int | None, after: int | None, scale: float
) -> None:
    builder = Builder()
    pool = [builder.item("user", "text", words(size, str(size))) for size in range(9)]
    builder.call([pool[number] for number in first], before)
    builder.call([pool[number] for number in second], after)
    view = boundary(builder.transcript, builder.compact(0, 1), builder.pool, calibration=Calibration(scale))
    sums = view.accounting
    assert sums is not None
    assert sums.before - sums.dropped + sums.new + sums.residual == sums.after
    assert sum(group.tokens for group in view.groups if group.fate == "dropped") == sums.dropped
