"""Rows by column: any number of them, with holes, beyond what a column takes, and beside the one who makes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.db import transaction

from contextviz.store.columns import ROWS_A_STATEMENT, _counts, insert, insert_new, inserting_beside
from contextviz.store.models import PriceRecord, WindowRecord

AT = datetime(2026, 3, 1, 12, 30, 15, 250, tzinfo=UTC)
PRICE = ("pattern", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "updated_at")
WINDOW = ("pattern", "tokens", "updated_at")


@pytest.mark.parametrize("rows", [0, 1, 3, ROWS_A_STATEMENT, ROWS_A_STATEMENT + 1, 2 * ROWS_A_STATEMENT + 77])
def test_any_number_of_rows_is_written_as_it_was_given(db: None, rows: int) -> None:
    given = [(f"m{at:04}", 1.5 * at, 2.0, at / 2 if at % 3 else None, None, 4.0, AT) for at in range(rows)]

    assert insert(PriceRecord, PRICE, iter(given)) == rows

    kept = PriceRecord.objects.order_by("id").values_list(*PRICE)
    assert list(kept) == given


def test_rows_that_are_left_over_need_few_kinds_of_statements() -> None:
    parts = {rows: list(_counts(rows, 256)) for rows in range(600)}

    assert all(sum(found) == rows for rows, found in parts.items())
    assert {count for found in parts.values() for count in found} == {1, 2, 4, 8, 16, 32, 64, 128, 256}


def test_numbers_beyond_64_bits_are_the_largest_that_fit(db: None) -> None:
    insert(WindowRecord, WINDOW, [("small", -(2**80), AT), ("plain", 7, AT), ("large", 2**80, AT)])

    kept = WindowRecord.objects.order_by("id").values_list("tokens", flat=True)
    assert list(kept) == [-(2**63 - 1), 7, 2**63 - 1]


def test_texts_are_cleaned_and_bounded_only_where_they_need_it(db: None) -> None:
    odd = ["plain", "a\x00b", "half \ud800", "é" * 119, "x" * 130]
    insert(WindowRecord, WINDOW, [(text, 1, AT) for text in odd])

    first, nul, half, accents, long = WindowRecord.objects.order_by("id").values_list("pattern", flat=True)
    assert (first, nul, half, accents) == ("plain", "a\ufffdb", "half \ufffd", "é" * 119)
    assert (len(long), long[:107], long[107]) == (120, "x" * 107, "…")


def test_a_time_of_another_zone_is_the_same_moment(db: None) -> None:
    there = AT.astimezone(timezone(timedelta(hours=2)))
    insert(WindowRecord, WINDOW, [("here", 1, AT), ("there", 1, there)])

    assert set(WindowRecord.objects.values_list("updated_at", flat=True)) == {AT}


def test_rows_that_are_there_already_are_left_alone(db: None) -> None:
    insert(WindowRecord, WINDOW, [("a", 1, AT)])
    insert_new(WindowRecord, WINDOW, [("a", 2, AT), ("b", 3, AT)])

    assert dict(WindowRecord.objects.values_list("pattern", "tokens")) == {"a": 1, "b": 3}


def test_rows_written_beside_are_all_there_at_the_end_and_in_order(db: None) -> None:
    given = [(f"m{at:05}", at, AT) for at in range(20_000)]

    with inserting_beside():
        for start in range(0, len(given), 1000):
            insert(WindowRecord, WINDOW, given[start : start + 1000])

    assert list(WindowRecord.objects.order_by("id").values_list(*WINDOW)) == given


def refused() -> None:
    with transaction.atomic(), inserting_beside():
        insert(WindowRecord, WINDOW, [("a", 1, AT), ("b", 1, AT)])
        insert(WindowRecord, WINDOW, [("a", 2, AT)])


def test_an_error_beside_is_the_writers_own_and_nothing_stays(db: None) -> None:
    with pytest.raises(Exception, match=r"(?i)unique"):
        refused()

    assert not WindowRecord.objects.exists()
