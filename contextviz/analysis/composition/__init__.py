"""Window tokens by category: what counts where, how estimates become tokens, and what each call's window held."""

from __future__ import annotations

from contextviz.analysis.composition.calibration import Calibration, Sample, calibrate
from contextviz.analysis.composition.categories import (
    CATEGORIES,
    IMAGE_TOKENS,
    POSITION,
    Category,
    category_of,
    item_tokens,
)
from contextviz.analysis.composition.compose import (
    Basis,
    Composition,
    Measures,
    WindowSums,
    calibrations,
    category_sums,
    compose,
    compositions,
    measure,
    reported_prompt,
    window_sums,
)
from contextviz.analysis.composition.shares import Shares, scaled, shares_of

__all__ = [
    "CATEGORIES",
    "IMAGE_TOKENS",
    "POSITION",
    "Basis",
    "Calibration",
    "Category",
    "Composition",
    "Measures",
    "Sample",
    "Shares",
    "WindowSums",
    "calibrate",
    "calibrations",
    "category_of",
    "category_sums",
    "compose",
    "compositions",
    "item_tokens",
    "measure",
    "reported_prompt",
    "scaled",
    "shares_of",
    "window_sums",
]
