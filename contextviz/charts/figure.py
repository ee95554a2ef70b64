"""The base of every figure: plain dictionaries, numbers as typed arrays, colours as names of CSS variables.

A figure is {"data", "layout"}; `layout["meta"]` holds its sentence, the URL parameter or links of its points.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from contextviz.charts import palette

Figure = dict[str, Any]
MAX_POINTS = 2_000
MAX_NODES = 500
TICK = {"size": 11, "color": palette.INK_3}


def array(values: Sequence[float | None]) -> dict[str, str]:
    """Numbers as plotly's typed array. None becomes NaN, which plotly leaves out; whole numbers stay exact."""
    gaps = any(value is None for value in values)
    numbers = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    largest = float(np.nanmax(np.abs(numbers))) if len(numbers) and not np.isnan(numbers).all() else 0.0
    whole = not gaps and bool(np.all(numbers == np.floor(numbers)))
    if whole and largest < 2**31:
        kind = "i4"
    else:
        kind = "f4" if largest < 2**24 and (gaps and _whole_but_gaps(numbers)) else "f8"
    return {"dtype": kind, "bdata": base64.b64encode(numbers.astype(f"<{kind}").tobytes()).decode("ascii")}


def _whole_but_gaps(numbers: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    known = numbers[~np.isnan(numbers)]
    return bool(np.all(known == np.floor(known)))


def axis(**options: Any) -> dict[str, Any]:
    """An axis without line, grid and zero line; `options` add to it."""
    base: dict[str, Any] = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "fixedrange": True,
        "ticks": "",
        "tickangle": 0,
        "tickfont": dict(TICK),
        "automargin": False,
        "ticklabelstandoff": 4,
    }
    return base | options


def value_axis(**options: Any) -> dict[str, Any]:
    """A vertical axis of values: at most four horizontal grid lines, the line at 0 drawn."""
    return axis(
        **{
            "showgrid": True,
            "gridcolor": palette.GRID,
            "gridwidth": 1,
            "zeroline": True,
            "zerolinecolor": palette.RULE_2,
            "zerolinewidth": 1,
            "nticks": 4,
        }
        | options
    )


def layout(summary: str, margin: tuple[int, int, int, int], **options: Any) -> dict[str, Any]:
    """The layout of a figure: transparent, no title, no legend. `margin` is top, right, bottom, left in pixels."""
    top, right, bottom, left = margin
    meta = {"summary": summary} | options.pop("meta", {})
    base: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 11, "color": palette.INK_2},
        "margin": {"t": top, "r": right, "b": bottom, "l": left, "pad": 0},
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": "var(--raised)",
            "bordercolor": palette.RULE_2,
            "font": {"size": 11, "color": palette.INK},
        },
        "dragmode": False,
        "meta": meta,
    }
    return base | options


def label(text: str, **options: Any) -> dict[str, Any]:
    """A direct label (an annotation without an arrow)."""
    base: dict[str, Any] = {"text": text, "showarrow": False, "font": {"size": 11, "color": palette.INK_3}}
    return base | options


def nice_step(span: float, wanted: int) -> float:
    """A step of 1, 2, 2.5 or 5 times a power of ten that cuts `span` into about `wanted` parts."""
    if span <= 0 or wanted < 1:
        return 1.0
    rough = span / wanted
    power = 10 ** math.floor(math.log10(rough))
    return float(next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= rough))


def stepped(values: Sequence[float | None]) -> list[float | None]:
    """The values with the last one again: the end of its step, one call further."""
    return [*values, values[-1]] if values else []
