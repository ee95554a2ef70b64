from __future__ import annotations

import pytest

from contextviz.analysis.composition import compositions
from contextviz.analysis.strip import StripTable, reduce, strip
from tests.analysis.building import Builder, words


def _strip(builder: Builder, agent: str | None = None) -> StripTable:
    read = builder.transcript
    return strip(compositions(read), read.calls, read.compactions, agent=agent, window=200_000, threshold=167_000)


def test_the_strip_of_the_main_chain_leaves_out_sub_agents_and_summarisers_but_keeps_call_numbers(
    builder: Builder,
) -> None:
    user = builder.item("user", "text", words(10))
    builder.call([user], 110, cache_read=100)
    builder.call([user], 60, agent="sub")
    builder.call([user], 500, purpose="summary", snapshot_basis="partial")
    builder.call([user, user], 120, window=400_000)
    builder.compact(0, 3, tokens_before=110, tokens_after=None, trigger="auto")
    builder.compact(1, None, agent="sub")
    table = _strip(builder)
    assert table.calls == [1, 4]
    assert table.categories["system"] == [100, 100]
    assert table.categories["tools"] == [None, None]
    assert table.categories["user"] == [10, 20]
    assert table.reported == [110, 120]
    assert table.residual == [0, 0]
    assert table.window == [200_000, 400_000]
    assert table.cache_read == [100, None]
    (mark,) = table.compactions
    assert (mark.number, mark.before_call, mark.after_call, mark.tokens_before, mark.tokens_after, mark.trigger) == (
        1, 1, 4, 110, None, "auto",
    )  # fmt: skip
    assert _strip(builder, "sub").calls == [2]


def _long(builder: Builder, length: int) -> StripTable:
    item = builder.item("user", "text", "one")
    for number in range(length):
        builder.call([item], 1000 + (number * 37) % 101)
    return _strip(builder)


def test_reducing_keeps_the_ends_the_extremes_and_the_calls_beside_compactions(builder: Builder) -> None:
    builder.compact(333, 334)
    builder.transcript.calls.clear()
    table = _long(builder, 900)
    table.reported[500] = 99_999
    table.reported[501] = 1
    small = reduce(table, 50)
    assert len(small.calls) <= 50
    assert small.calls == sorted(set(small.calls))
    assert {1, 334, 335, 501, 502, 900} <= set(small.calls)
    assert small.reduced_from == 900
    assert small.reported[small.calls.index(501)] == 99_999
    assert small.compactions == table.compactions


def test_a_strip_that_fits_is_left_alone_and_more_compactions_than_points_still_fit(builder: Builder) -> None:
    table = _long(builder, 40)
    assert reduce(table, 40) is table
    for number in range(39):
        builder.compact(number, number + 1)
    assert len(reduce(_strip(builder), 10).calls) <= 10
    with pytest.raises(ValueError, match="at least 4 points"):
        reduce(table, 3)


def test_an_empty_session_has_an_empty_strip(builder: Builder) -> None:
    assert reduce(_strip(builder)).calls == []
