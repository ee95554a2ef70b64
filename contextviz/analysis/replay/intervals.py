"""Bootstrap intervals of pooled shares, over calls, the same at every run."""

from __future__ import annotations

import numpy as np

RESAMPLES = 1_000
SEED = 20_260_101
LEVEL = 0.95
Interval = tuple[float, float]


def intervals(found: np.ndarray, needed: np.ndarray) -> list[Interval | None]:
    """For each column the interval (95 %) of Σ found ÷ Σ needed when rows (calls) are drawn with repetition.

    Both are (rows, columns). None where fewer than two rows need anything in that column.
    """
    rows, columns = needed.shape
    if rows < 2:
        return [None] * columns
    draws = np.random.default_rng(SEED)
    sums = np.empty((RESAMPLES, 2 * columns))
    both = np.hstack([found, needed]).astype(float)
    for number in range(RESAMPLES):
        sums[number] = np.bincount(draws.integers(rows, size=rows), minlength=rows) @ both
    made: list[Interval | None] = []
    for column in range(columns):
        below = sums[:, columns + column]
        drawn = sums[below > 0, column] / below[below > 0]
        if np.count_nonzero(needed[:, column]) < 2:
            made.append(None)
            continue
        low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        made.append((float(low), float(high)))
    return made
