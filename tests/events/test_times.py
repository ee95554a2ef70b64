"""Instants that cannot be true."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contextviz.events.times import instant, is_suspicious, oddity

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize("value", [-1, 0, -86_400_000, "1970-01-01T00:00:00Z", "1989-12-31T23:59:59Z"])
def test_what_programs_write_for_no_time_lies_before_1990(value: object) -> None:
    at = instant(value)

    assert at is not None
    assert oddity(at, now=NOW) == "before 1990"
    assert is_suspicious(at, now=NOW)


def test_a_day_ahead_is_a_clock_and_more_is_the_future() -> None:
    assert oddity(NOW + timedelta(hours=23), now=NOW) is None
    assert oddity(NOW + timedelta(hours=25), now=NOW) == "in the future"
    assert oddity(datetime(1990, 1, 1, tzinfo=UTC), now=NOW) is None
