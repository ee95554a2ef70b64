"""A run's series over the calls, reduced to what a screen can show without losing a peak or a boundary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MOST_POINTS = 1_400  # more than a screen is wide
MOST_TICKS = 2_000


def reduced(values: Sequence[int | None], keep: Iterable[int], points: int = MOST_POINTS) -> list[int]:
    """The rows of `values` to draw, in order, at most `points`: the ends, those in `keep`, and the lowest and highest
    known value of each stretch. Only where `keep` alone is more than `points` is it thinned out, evenly.

    Raises ValueError for fewer than four points.
    """
    if points < 4:
        raise ValueError(f"A series needs at least 4 points, not {points}.")
    count = len(values)
    if count <= points:
        return list(range(count))
    fixed = places([row for row in keep if 0 < row < count - 1], points - 2)
    buckets = (points - 2 - len(fixed)) // 2
    rows = {0, count - 1, *fixed}
    for bucket in range(buckets):
        stretch = range(bucket * count // buckets, (bucket + 1) * count // buckets)
        known = [row for row in stretch if values[row] is not None]
        if known:
            rows.add(min(known, key=lambda row: values[row] or 0))
            rows.add(max(known, key=lambda row: values[row] or 0))
    return sorted(rows)


def places(found: Iterable[int], most: int = MOST_TICKS) -> list[int]:
    """Distinct places in order; where there are more than `most`, an even choice of them."""
    distinct = sorted(set(found))
    if len(distinct) <= most:
        return distinct
    step = len(distinct) / most
    return [distinct[int(number * step)] for number in range(most)]
