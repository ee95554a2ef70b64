from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contextviz.store.packing import pack, unpack


@given(st.lists(st.integers(min_value=0, max_value=2**32 - 1)))
def test_positions_come_back_in_their_order(positions: list[int]) -> None:
    assert unpack(pack(positions)) == positions


def test_neighbours_cost_eight_bytes_together() -> None:
    assert len(pack(range(5, 5000))) == 8
