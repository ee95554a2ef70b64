"""Windows side by side, item by item, and series that are reduced without losing what they show."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace

import pytest

from contextviz.analysis.lab import align, near_differences, places, reduced, without_long_stretches
from contextviz.events.snapshot import ContextItem, ItemState
from contextviz.events.text import TextRef


def item(message: int | None, text: str, *, state: ItemState = "verbatim", call: str | None = None) -> ContextItem:
    ref = TextRef(hashlib.sha256(text.encode()).digest(), len(text), len(text), len(text))
    kind = "summary" if state == "summary" else "text"
    return ContextItem("user", kind, ref, message_index=message, state=state, tool_call_id=call)  # type: ignore[arg-type]


def words(*windows: list[ContextItem]) -> list[tuple[str, ...]]:
    return [tuple(cell.mark for cell in row.cells) for row in align(windows).rows]


def test_equal_windows_have_no_difference() -> None:
    window = [item(index, f"m{index}") for index in range(5)]

    found = align([window, list(window), list(window)])

    assert found.differences == 0
    assert found.counts == tuple({"kept": 5, "changed": 0, "only": 0, "missing": 0, "beside": 0} for _ in range(3))


def test_a_tail_a_summary_and_a_cut_item_are_told_apart() -> None:
    whole = [item(0, "a"), item(1, "b"), item(2, "c"), item(3, "d")]
    tail = whole[2:]
    folded = [item(None, "of a and b", state="summary"), item(2, "c…", state="truncated"), item(3, "d")]

    found = align([tail, whole, folded])

    by_text = {row.item.text.digest: tuple(cell.mark for cell in row.cells) for row in found.rows}
    assert by_text[whole[0].text.digest] == ("missing", "only", "missing")
    assert by_text[whole[2].text.digest] == ("kept", "kept", "changed")
    assert by_text[whole[3].text.digest] == ("kept", "kept", "kept")
    assert by_text[folded[0].text.digest] == ("missing", "missing", "only")
    assert found.differences == 4


def test_counts_are_the_items_of_each_window() -> None:
    windows = [
        [item(0, "a"), item(0, "a"), item(1, "b")],  # one message with two pieces of one kind
        [item(1, "b"), item(2, "c")],
    ]

    found = align(windows)

    for window, counts in zip(windows, found.counts, strict=True):
        assert counts["kept"] + counts["changed"] + counts["only"] == len(window)
        assert sum(counts.values()) == len(found.rows) == 4


def test_rows_stand_in_the_order_of_each_window() -> None:
    first = [item(0, "a"), item(4, "e")]
    second = [item(0, "a"), item(1, "b"), item(2, "c"), item(4, "e")]
    third = [item(None, "note"), item(2, "c"), item(4, "e"), item(5, "f")]

    rows = align([first, second, third]).rows

    for number, window in enumerate((first, second, third)):
        there = [row.cells[number].place for row in rows if row.cells[number].place is not None]
        assert there == list(range(len(window)))


def test_what_has_no_message_is_known_by_its_text() -> None:
    assert words([item(None, "one", state="summary")], [item(None, "two", state="summary")]) == [
        ("missing", "only"), ("only", "missing"),
    ]  # fmt: skip
    assert words([item(None, "one", state="summary")], [item(None, "one", state="summary")]) == [("kept", "kept")]


def test_items_in_another_order_are_each_listed_once() -> None:
    found = align([[item(0, "a"), item(1, "b")], [item(1, "b"), item(0, "a")]])

    assert len(found.rows) == 2
    assert found.differences == 0


def test_what_every_request_holds_beside_the_list_is_neither_missing_nor_a_difference() -> None:
    prompt = replace(item(None, "you are an agent"), role="system", kind="system")
    said, own = item(0, "a"), item(None, "note", state="injected")

    found = align([[prompt, said, own], [said]], [False, True])

    assert [tuple(cell.mark for cell in row.cells) for row in found.rows] == [
        ("kept", "beside"), ("kept", "kept"), ("only", "missing"),
    ]  # fmt: skip
    assert found.differences == 1
    assert found.counts[1] == {"kept": 1, "changed": 0, "only": 0, "missing": 1, "beside": 1}
    assert align([[prompt], [said]]).differences == 2  # where nothing says that it is held, it is missing


@pytest.mark.parametrize("count", [0, 5])
def test_only_one_to_four_windows_are_compared(count: int) -> None:
    with pytest.raises(ValueError):
        align([[]] * count)


def test_empty_windows_have_no_rows() -> None:
    assert align([[], []]).rows == ()


def test_rows_near_differences_are_chosen_once_and_in_order() -> None:
    same = [item(index, f"m{index}") for index in range(30)]
    rows = align([same, [one for one in same if one.message_index not in (5, 7, 20)]]).rows

    assert near_differences(rows, beside=2) == [3, 4, 5, 6, 7, 8, 9, 18, 19, 20, 21, 22]
    assert near_differences(rows, beside=0) == [5, 7, 20]
    assert near_differences(align([same, same]).rows, beside=3) == []


def test_long_stretches_that_differ_alike_are_shown_by_their_ends() -> None:
    whole = [item(index, f"m{index}") for index in range(40)]
    rows = align([whole, whole[30:]]).rows
    chosen = near_differences(rows, beside=1)

    assert without_long_stretches(rows, chosen, most=6) == [0, 1, 2, 27, 28, 29, 30]
    assert without_long_stretches(rows, [], most=6) == []
    assert without_long_stretches(rows, chosen, most=100) == chosen


# ---- series ----------------------------------------------------------------------------------------------------------
def test_a_short_series_is_kept_whole() -> None:
    assert reduced([1, None, 3], []) == [0, 1, 2]


def test_a_long_series_keeps_peaks_ends_and_what_is_told() -> None:
    values: list[int | None] = [100] * 30_000
    values[12_345] = 900
    values[23_456] = 1
    values[7] = None

    rows = reduced(values, [5_000, 5_001], 400)

    assert len(rows) <= 400
    assert rows == sorted(set(rows))
    assert {0, 29_999, 12_345, 23_456, 5_000, 5_001} <= set(rows)


def test_more_to_keep_than_points_is_thinned_out_evenly() -> None:
    rows = reduced([1] * 10_000, range(10_000), 100)

    assert len(rows) <= 100
    assert max(b - a for a, b in itertools.pairwise(rows)) < 300


def test_a_series_of_nothing_known_keeps_its_ends() -> None:
    assert reduced([None] * 5_000, [], 100) == [0, 4_999]
    assert reduced([], []) == []


def test_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 4"):
        reduced([1, 2], [], 3)


def test_places_are_distinct_and_bounded() -> None:
    assert places([3, 1, 3]) == [1, 3]
    assert len(places(range(30_000), 2_000)) == 2_000
