"""Comparing runs of one session: their windows item by item, and their series over the calls."""

from __future__ import annotations

from contextviz.analysis.lab.align import (
    MOST_WINDOWS,
    Aligned,
    AlignedItem,
    Cell,
    Mark,
    align,
    identity,
    near_differences,
    without_long_stretches,
)
from contextviz.analysis.lab.series import MOST_POINTS, MOST_TICKS, places, reduced

__all__ = [
    "MOST_POINTS", "MOST_TICKS", "MOST_WINDOWS", "Aligned", "AlignedItem", "Cell", "Mark", "align", "identity",
    "near_differences", "places", "reduced", "without_long_stretches",
]  # fmt: skip
