"""The first and the last moment that a time can be are kept as they are."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contextviz.store.rows.session import _instant, _micros


@pytest.mark.parametrize(
    "at",
    [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2026, 6, 18, 8, 0, 0, 1, tzinfo=UTC),
    ],
)
def test_an_entrys_time_comes_back_to_the_microsecond(at: datetime) -> None:
    assert _instant(_micros(at)) == at
