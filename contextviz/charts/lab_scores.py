"""The Pareto plot: need recall from far back against the mean window, with intervals and with what handles add."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, array, axis, label, layout, nice_step, value_axis
from contextviz.charts.topics import plain

MARGIN = (14, 20, 36, 48)
_RANGE = (-0.06, 1.26)  # of the shares: room for the signs at 0 and 1, and for names over those at 1
_LEFT = 0.03  # what stands left of size 0, so that a sign there is whole
# The plot as narrow as on a phone (322 by 200 pixels), in shares of it: a letter, a line, a pixel of its height, from a
# sign to its name, and half a sign across and up.
_CHARACTER, _GAP, _SIGN = 6.2 / 322, 8 / 322, 6 / 322
_PIXEL = (_RANGE[1] - _RANGE[0]) / 200
_LINE, _SIGN_HIGH = 15 * _PIXEL, 5.6 * _PIXEL
_NEAR = 16  # pixels up or down: what stands further from its sign has a line to it
SYMBOLS = ("circle", "square", "triangle-up", "diamond")


class ParetoPoint(Protocol):
    """One run. `mean_window` in tokens, the others are shares from 0 to 1; None is unknown. `low` and `high` are the
    ends of the interval of `recall`, `reach` is with what a handle in the window gives back, `count` how many needs
    both rest on."""

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
    @property
    def count(self) -> int | None: ...


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
    data = [_controls(controls)] if controls else []
    data += [trace for place, point in shown for trace in _run(point, place)]
    signs = [(one.mean_window or 0, one.recall or 0) for one in [*(point for _, point in shown), *controls]]
    signs += [place for _, point in shown for place in _along(point)]
    named = _names([point for _, point in shown], controls, most, signs)
    return {
        "data": data,
        "layout": layout(
            sentence,
            MARGIN,
            xaxis=axis(
                range=[-_LEFT * most, most],
                tickvals=[step * count for count in range(int(most / step) + 1)],
                ticktext=words.axis_ticks([step * count for count in range(int(most / step) + 1)]),
                title={"text": "mean window, tok", "font": {"size": 11, "color": palette.INK_3}, "standoff": 4},
            ),
            yaxis=value_axis(
                range=list(_RANGE),
                tickvals=[0, 0.25, 0.5, 0.75, 1],
                ticktext=[words.percent(share, 0) for share in (0, 0.25, 0.5, 0.75, 1)],
            ),
            # A name without room is in its sign's hover label and in the table.
            annotations=[note for note in named if note is not None],
            hovermode="closest",
        ),
    }


def _names(
    points: Sequence[ParetoPoint], controls: Sequence[ParetoBound], most: float, signs: Sequence[tuple[float, float]]
) -> list[dict[str, Any] | None]:
    """The names of runs and then of controls, placed one after the other in the order that leaves them nearest to
    their signs; a name that found no room is None."""
    best: tuple[float, list[dict[str, Any] | None]] | None = None
    for order in permutations(range(len(points))):
        labels = _Labels(most, signs)
        placed = {at: _name(labels, points[at]) for at in order}
        named = [placed[at] for at in range(len(points))] + [_control_name(labels, one) for one in controls]
        far = sum(map(_distance, named))
        if best is None or far < best[0]:
            best = (far, named)
        if far <= len(named) * _NEAR / 2 or len(points) > len(SYMBOLS):
            break
    return best[1] if best else []


def _distance(note: dict[str, Any] | None) -> float:
    """How many pixels a name stands up or down from its sign; what has no room counts more than any that has."""
    return 1_000 if note is None else float(abs(note.get("ay", note.get("yshift", 0))))


def summary(points: Sequence[ParetoPoint]) -> str:
    """One sentence: each run's mean window and far recall, and which are not drawn."""
    parts = [
        f"{one.name} {words.percent(one.recall)}{_of_needs(one)} at {words.compact(one.mean_window)} tokens"
        for one in points
        if _is_placed(one)
    ]
    missing = [one.name for one in points if not _is_placed(one)]
    text = f"Far need recall against the mean window: {'; '.join(parts)}." if parts else ""
    if missing:
        text += f" Not known for {', '.join(missing)}."
    return text.strip() or "No run is chosen."


def _of_needs(point: ParetoPoint) -> str:
    return "" if point.count is None else f" of {words.counted(point.count, 'need')}"


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
    said = f"{plain(point.name)}: {words.percent(y)}{_of_needs(point)} at {words.compact(x)} tok"
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


# Up and down from a sign in pixels, the nearest first.
_SHIFTS = (0, *(sign * step for step in range(8, 185, 8) for sign in (-1, 1)))
Box = tuple[float, float, float, float]  # left, right, low and high in shares of the plot


class _Labels:
    """Places names beside their signs, inside the plot, so that they cover neither each other nor another sign."""

    def __init__(self, most: float, taken: Sequence[tuple[float, float]]) -> None:
        self._most = most
        self._signs = [(self._across(x), y) for x, y in taken]
        self._taken: list[Box] = []

    def _across(self, x: float) -> float:
        """Where a size stands, as a share of the plot's width."""
        return (x / self._most + _LEFT) / (1 + _LEFT)

    def beside(self, text: str, longest: int, x: float, y: float, **options: Any) -> dict[str, Any] | None:
        """A label of `longest` characters in a line at the sign at (x, y); None where no place is left for it."""
        lines = 1 + text.count("<br>")
        wide, high = longest * _CHARACTER, lines * _LINE
        at = self._across(x)
        for shift in _SHIFTS:
            middle = min(max(y + shift * _PIXEL, _RANGE[0] + high / 2), _RANGE[1] - high / 2)
            for side, left in (("left", at + _GAP), ("right", at - _GAP - wide)):
                # On a wider screen the same label begins nearer to its sign.
                box = (min(left, at), max(left + wide, at), middle - high / 2, middle + high / 2)
                if left < 0 or left + wide > 1 or any(_overlaps(box, other) for other in self._others(at)):
                    continue
                self._taken.append(box)
                shifted = round((middle - y) / _PIXEL)
                return label(text, x=x, y=y, yanchor="middle", align=side, **_away(side, shifted), **options)
        return None

    def _others(self, at: float) -> list[Box]:
        """What a label at `at` has to keep clear of: other names, and signs but those right above and below its own."""
        signs = [(x - _SIGN, x + _SIGN, y - _SIGN_HIGH, y + _SIGN_HIGH) for x, y in self._signs if abs(x - at) > 1e-9]
        return [*self._taken, *signs]


def _away(side: str, shifted: int) -> dict[str, Any]:
    """How a label stands at its sign: beside it, or further up or down at the end of a thin line to it."""
    across, anchor = (8, "left") if side == "left" else (-8, "right")
    if abs(shifted) <= _NEAR:
        return {"xanchor": anchor, "xshift": across, "yshift": shifted}
    line = {"arrowhead": 0, "arrowwidth": 0.75, "arrowcolor": palette.INK_3, "standoff": 6}
    return {"xanchor": anchor, "showarrow": True, "ax": across, "ay": -shifted, **line}


def _along(point: ParetoPoint) -> list[tuple[float, float]]:
    """Places on a run's whiskers and on the line to its reach, close enough that no name fits between them."""
    known = [one for one in (point.low, point.high, point.reach) if one is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    steps = int((high - low) / 0.06) + 1
    return [(point.mean_window or 0, low + (high - low) * step / steps) for step in range(steps + 1)] if known else []


def _overlaps(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _name(labels: _Labels, point: ParetoPoint) -> dict[str, Any] | None:
    value = words.percent(point.recall)
    if point.low is not None and point.high is not None:
        half = (point.high - point.low) / 2 * 100
        value += f" ± {half:.1f}" if half >= 0.05 else ""
    text = f"<b>{plain(point.name, 22)}</b><br>{value}"
    longest = max(min(len(point.name), 22), len(value))
    return labels.beside(text, longest, point.mean_window or 0, point.recall or 0, name="run")


def _controls(bounds: Sequence[ParetoBound]) -> dict[str, Any]:
    # Wider than a run's sign and drawn first: the ends of a cross are seen round a sign at the same place.
    marker = {"symbol": "x-thin-open", "size": 13, "color": palette.INK_3, "line": {"width": 1.25}}
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


def _control_name(labels: _Labels, bound: ParetoBound) -> dict[str, Any] | None:
    value = words.percent(bound.recall)
    text = f"{plain(bound.name, 22)}<br>{value}"
    longest = max(min(len(bound.name), 22), len(value))
    return labels.beside(text, longest, bound.mean_window or 0, bound.recall or 0, name="control")
