"""Instants: every way a transcript writes a time, to UTC."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeVar

Item = TypeVar("Item")

_ISO = re.compile(r"^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?$", re.IGNORECASE)
_DIGITS = re.compile(r"^\d{10,19}$")
_USUAL = len("2026-03-02T09:00:00.000Z")  # what clients write; read without the pattern, five times as fast
EARLIEST = datetime.min.replace(tzinfo=UTC)  # stands for no time where times are compared
FUTURE_LIMIT = timedelta(days=1)
# No agent ran before. Programs write 0, or -1, where they know no time, and that is 1970 or 1969.
FIRST_LIKELY = datetime(1990, 1, 1, tzinfo=UTC)
_FIRST_YEAR, _LAST_YEAR = 2, 9998  # around an instant there is room to count; year 1 is also how programs write "unset"


def instant(value: object) -> datetime | None:
    """The UTC instant `value` stands for, or None where it cannot be read.

    ISO text with `Z`, an offset or nothing (naive is UTC: SQLite's own times are), 1 to 9 fraction digits;
    epoch numbers, or digits as text, in seconds, milliseconds, microseconds or nanoseconds by their size. The years
    1 and 9999 are none.
    """
    found = _instant(value)
    return found if found is not None and _FIRST_YEAR <= found.year <= _LAST_YEAR else None


def _instant(value: object) -> datetime | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str):
        return None
    if len(value) == _USUAL and value[4] + value[7] + value[10] + value[19] + value[23] == "--T.Z":
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    text = value.strip()
    if _DIGITS.match(text):
        return _from_epoch(float(text))
    found = _ISO.match(text)
    return _from_iso(found) if found else None


def _from_iso(found: re.Match[str]) -> datetime | None:
    date, clock, fraction, zone = found.groups()
    micro = (fraction or "0")[:6].ljust(6, "0")
    offset = "+00:00" if zone in (None, "Z", "z") else zone
    if len(offset) == 5:
        offset = offset[:3] + ":" + offset[3:]
    try:
        return datetime.fromisoformat(f"{date}T{clock}.{micro}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_epoch(number: int | float) -> datetime | None:
    for limit, divisor in ((1e11, 1), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)):
        if abs(number) < limit:
            try:
                return datetime.fromtimestamp(number / divisor, UTC)
            except (ValueError, OverflowError, OSError):
                return None
    return None


def iso(at: datetime | None) -> str | None:
    """`at` as UTC ISO text with milliseconds and `Z`, or None."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_suspicious(at: datetime, *, now: datetime) -> bool:
    """Whether a time lies so far ahead of `now`, or so far back, that it must not set the scale of an axis."""
    return at > now + FUTURE_LIMIT or at < FIRST_LIKELY


def oddity(at: datetime, *, now: datetime) -> str | None:
    """In words, where a suspicious time lies: "in the future", or "before 1990"; None for one that can be."""
    if at < FIRST_LIKELY:
        return f"before {FIRST_LIKELY.year}"
    return "in the future" if is_suspicious(at, now=now) else None


def by_time(
    streams: Iterable[Iterable[Item]], at: Callable[[Item], datetime | None], *, now: datetime
) -> Iterator[Item]:
    """The items of all streams, the earliest first, read as they are needed. Each stream's own order stays: an item
    counts at the latest time (`at`) up to it, and times that are suspicious or missing say nothing."""

    def timed(stream: Iterable[Item]) -> Iterator[tuple[datetime, Item]]:
        latest = EARLIEST
        for item in stream:
            found = at(item)
            if found is not None and not is_suspicious(found, now=now):
                latest = max(latest, found)
            yield latest, item

    return (item for _, item in heapq.merge(*map(timed, streams), key=lambda one: one[0]))
