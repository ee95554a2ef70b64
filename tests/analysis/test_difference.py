from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.analysis.composition import CATEGORIES
from contextviz.analysis.difference import difference
from tests.analysis.building import Builder, words


def test_each_item_is_kept_moved_gone_or_new_and_the_prefix_ends_at_the_first_that_differs(builder: Builder) -> None:
    system, a, b, c, d, new = (
        builder.item("system" if name == "s" else "user", "system" if name == "s" else "text", words(size, name))
        for name, size in (("s", 100), ("a", 1), ("b", 2), ("c", 3), ("d", 4), ("n", 50))
    )
    found = difference([system, a, b, c, d], [system, new, d, b, c], baseline=1000, cache_read=1090)
    assert [(change.kind, change.tokens, change.a, change.b) for change in found.changes] == [
        ("kept", 100, 0, 0),
        ("new", 50, None, 1),
        ("moved", 4, 4, 2),
        ("kept", 2, 2, 3),
        ("kept", 3, 3, 4),
        ("gone", 1, 1, None),
    ]
    assert (found.prefix_items, found.prefix_tokens) == (1, 100)
    assert (found.predicted_cache_tokens, found.reported_cache_tokens) == (1100, 1090)
    assert (found.break_a, found.break_b) == (a, new)
    assert (found.delta("user"), found.delta("system")) == (59 - 10, 0)


def test_a_window_that_only_grew_shares_its_whole_length_as_prefix(builder: Builder) -> None:
    items = [builder.item("user", "text", words(3, str(at))) for at in range(4)]
    found = difference(items[:3], items)
    assert (found.prefix_items, found.break_a, found.break_b) == (3, None, items[3])
    assert [change.kind for change in found.changes] == ["kept"] * 3 + ["new"]


def test_the_same_text_twice_is_two_items(builder: Builder) -> None:
    item = builder.item("user", "text", "again")
    assert [change.kind for change in difference([item], [item, item]).changes] == ["kept", "new"]
    assert [change.kind for change in difference([item, item], [item]).changes] == ["kept", "gone"]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=25), st.lists(st.integers(0, 9), max_size=25), st.floats(0.5, 2.5))
def test_both_windows_add_up_from_the_changes(first: list[int], second: list[int], scale: float) -> None:
    builder = Builder()
    pool = [builder.item("user", "text", words(size + 1, str(size))) for size in range(10)]
    a, b = [pool[number] for number in first], [pool[number] for number in second]
    found = difference(a, b, scale=scale)
    assert sorted(change.a for change in found.changes if change.a is not None) == list(range(len(a)))
    assert sorted(change.b for change in found.changes if change.b is not None) == list(range(len(b)))
    assert sum(found.b_tokens) == sum(change.tokens for change in found.of("kept", "moved", "new"))
    assert sum(found.a_tokens) == sum(change.a_tokens for change in found.of("kept", "moved", "gone"))
    for window, sums in ((a, found.a_tokens), (b, found.b_tokens)):
        assert sum(sums) == round(sum(item.text.estimated_tokens for item in window) * scale)
    kept = [change.a for change in found.of("kept")]
    assert kept == sorted(kept, key=lambda place: -1 if place is None else place)
    assert len(found.a_tokens) == len(CATEGORIES)


def test_a_cache_is_never_predicted_to_serve_more_than_a_prompt(builder: Builder) -> None:
    items = [builder.item("user", "text", words(300, "w"))]
    assert difference(items, items, baseline=200, most_cached=400).predicted_cache_tokens == 400
    assert difference(items, items, baseline=50, most_cached=400).predicted_cache_tokens == 350
