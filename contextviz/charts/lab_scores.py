"""The Pareto plot: need recall from far back against the mean window, with intervals and with what handles add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, array, axis, label, layout, nice_step, value_axis
from contextviz.charts.topics import plain

MARGIN = (14, 20, 36, 48)
# About what a letter and a line take of the plot, and a pixel of its height.
_CHARACTER, _LINE, _PIXEL = 0.0145, 0.08, 1 / 180
_MARGIN = 0.06  # what the margin beside the plot takes of a name
SYMBOLS = ("circle", "square", "triangle-up", "diamond")


class ParetoPoint(Protocol):
    """One run. `mean_window` in tokens, the others are shares from 0 to 1; None is unknown. `low` and `high` are the
    ends of the interval of `recall`, `reach` is with what a handle in the window gives back."""

    @property
    def name(self) -> str: ...
    @property
    def mean_window(self) -> float | None: ...
    @property
    def recall(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def reach(self) -> float | None: ...


class ParetoBound(Protocol):
    """A control beside the runs (keep the tail, the oracle, …): a point that is no choice."""

    @property
    def name(self) -> str: ...
    @property
    def mean_window(self) -> float | None: ...
    @property
    def recall(self) -> float | None: ...


def pareto(points: Sequence[ParetoPoint], bounds: Sequence[ParetoBound] = ()) -> Figure:
    """Runs as filled signs with whiskers, their reach as a hollow one above; controls as small grey crosses."""
    shown = [(place, point) for place, point in enumerate(points) if _is_placed(point)]
    sentence = summary(points)
    if not shown:
        return {"data": [], "layout": layout(sentence, MARGIN, xaxis=axis(visible=False), yaxis=axis(visible=False))}
    controls = [bound for bound in bounds if _is_placed(bound)]
    most = max(one.mean_window or 0 for one in [*(point for _, point in shown), *controls]) * 1.25 or 1
    step = nice_step(most, 4)
    data = [trace for place, point in shown for trace in _run(point, place)]
    if controls:
        data.append(_controls(controls))
    signs = [(one.mean_window or 0, one.recall or 0) for one in [*(point for _, point in shown), *controls]]
    signs += [place for _, point in shown for place in _along(point)]
    labels = _Labels(most, signs)
    notes = [_name(labels, point) for _, point in shown] + [_control_name(labels, bound) for bound in controls]
    return {
        "data": data,
        "layout": layout(
            sentence,
            MARGIN,
            xaxis=axis(
                range=[0, most],
                tickvals=[step * count for count in range(int(most / step) + 1)],
                ticktext=[words.thousands(step * count) for count in range(int(most / step) + 1)],
                title={"text": "mean window, tok", "font": {"size": 11, "color": palette.INK_3}, "standoff": 4},
            ),
            yaxis=value_axis(
                range=[-0.04, 1.08],
                tickvals=[0, 0.25, 0.5, 0.75, 1],
                ticktext=[words.percent(share, 0) for share in (0, 0.25, 0.5, 0.75, 1)],
            ),
            annotations=notes,
            hovermode="closest",
        ),
    }


def summary(points: Sequence[ParetoPoint]) -> str:
    """One sentence: each run's mean window and far recall, and which are not drawn."""
    parts = [
        f"{one.name} {words.percent(one.recall)} at {words.compact(one.mean_window)} tokens"
        for one in points
        if _is_placed(one)
    ]
    missing = [one.name for one in points if not _is_placed(one)]
    text = f"Far need recall against the mean window: {'; '.join(parts)}." if parts else ""
    if missing:
        text += f" Not known for {', '.join(missing)}."
    return text.strip() or "No run is chosen."


def _is_placed(one: ParetoPoint | ParetoBound) -> bool:
    return one.mean_window is not None and one.recall is not None


def _run(point: ParetoPoint, place: int) -> list[dict[str, Any]]:
    x, y = point.mean_window or 0, point.recall or 0
    symbol = SYMBOLS[place % len(SYMBOLS)]
    above = max((point.high or y) - y, 0) if point.high is not None else 0
    below = max(y - (point.low or 0), 0) if point.low is not None else 0
    error = {
        "type": "data", "symmetric": False, "array": array([above]), "arrayminus": array([below]),
        "color": palette.INK, "thickness": 1, "width": 4,
    }  # fmt: skip
    said = f"{plain(point.name)}: {words.percent(y)} at {words.compact(x)} tok"
    if point.low is not None and point.high is not None:
        said += f", between {words.percent(point.low)} and {words.percent(point.high)}"
    base: dict[str, Any] = {
        "type": "scatter",
        "name": plain(point.name),
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
    found = []
    if point.reach is not None and point.reach > y:
        found.append(
            {
                "type": "scatter", "mode": "lines", "x": array([x, x]), "y": array([y, point.reach]), "meta": "reach",
                "line": {"width": 1, "dash": "dot", "color": palette.INK_2}, "hoverinfo": "skip",
            }
        )  # fmt: skip
        reach = {"symbol": f"{symbol}-open", "size": 9, "color": palette.INK, "line": {"width": 1.25}}
        hover = f"{plain(point.name)}: {words.percent(point.reach)} with what handles give back"
        found.append(
            base | {"mode": "markers", "x": array([x]), "y": array([point.reach]), "marker": reach, "hovertext": hover}
        )
    marker = {"symbol": symbol, "size": 10, "color": palette.INK}
    found.append(
        base
        | {"mode": "markers", "x": array([x]), "y": array([y]), "marker": marker, "error_y": error, "hovertext": said}
    )
    return found


# Sides and shifts in pixels, the nearest first.
_PLACES = tuple(
    (side, shift) for shift in (0, -14, 14, -30, 30, -46, 46, -62, 62, -78, 78) for side in ("left", "right")
)


class _Labels:
    """Places names beside their signs so that they cover neither each other nor another sign."""

    def __init__(self, most: float, taken: Sequence[tuple[float, float]]) -> None:
        self._most = most
        # Left, right, low and high of what is taken, in shares of the plot.
        self._taken = [(x / most - 0.015, x / most + 0.015, y - 0.03, y + 0.03) for x, y in taken]

    def beside(self, text: str, longest: int, x: float, y: float, **options: Any) -> dict[str, Any]:
        """A label of `longest` characters in a line at the sign at (x, y)."""
        lines = 1 + text.count("<br>")
        wide, high = longest * _CHARACTER + 0.02, lines * _LINE
        best: tuple[float, tuple[float, float, float, float], str, int] | None = None
        for side, shift in _PLACES:
            left = x / self._most if side == "left" else x / self._most - wide
            middle = min(max(y + shift * _PIXEL, high / 2 - 0.04), 1.06 - high / 2)
            box = (left, left + wide, middle - high / 2, middle + high / 2)
            outside = max(0.0, -box[0]) + max(0.0, box[1] - 1.0 - _MARGIN)
            cost = 4 * outside + sum(_overlap(box, other) for other in self._taken)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, box, side, round((middle - y) / _PIXEL))
        if best is None:
            return {}
        self._taken.append(best[1])
        away = {"xanchor": "left", "xshift": 8} if best[2] == "left" else {"xanchor": "right", "xshift": -8}
        return label(text, x=x, y=y, yanchor="middle", yshift=best[3], align=best[2], **away, **options)


def _along(point: ParetoPoint) -> list[tuple[float, float]]:
    """Places on a run's whiskers and on the line to its reach, close enough that no name fits between them."""
    known = [one for one in (point.low, point.high, point.reach) if one is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    steps = int((high - low) / 0.06) + 1
    return [(point.mean_window or 0, low + (high - low) * step / steps) for step in range(steps + 1)] if known else []


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    wide = min(one[1], other[1]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[2], other[2])
    return wide * high * 100 if wide > 0 and high > 0 else 0.0


def _name(labels: _Labels, point: ParetoPoint) -> dict[str, Any]:
    value = words.percent(point.recall)
    if point.low is not None and point.high is not None:
        value += f" ± {(point.high - point.low) / 2 * 100:.1f}"
    text = f"<b>{plain(point.name, 22)}</b><br>{value}"
    longest = max(min(len(point.name), 22), len(value))
    return labels.beside(text, longest, point.mean_window or 0, point.recall or 0, name="run")


def _controls(bounds: Sequence[ParetoBound]) -> dict[str, Any]:
    marker = {"symbol": "x-thin-open", "size": 7, "color": palette.INK_3, "line": {"width": 1.25}}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Controls",
        "meta": "control",
        "x": array([one.mean_window for one in bounds]),
        "y": array([one.recall for one in bounds]),
        "marker": marker,
        "hovertext": [
            f"{plain(one.name)}: {words.percent(one.recall)} at {words.compact(one.mean_window)} tok" for one in bounds
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _control_name(labels: _Labels, bound: ParetoBound) -> dict[str, Any]:
    text = plain(bound.name, 22)
    return labels.beside(text, min(len(bound.name), 22), bound.mean_window or 0, bound.recall or 0, name="control")
