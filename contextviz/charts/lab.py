"""Window fill over the calls, a lane a run: one axis for all, boundaries in orange under each lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, array, axis, label, layout, nice_step, stepped, value_axis
from contextviz.charts.strip_axis import far_above, scale, ticks
from contextviz.charts.topics import plain

LANE = 84  # pixels a run: its name, its area, its boundaries
MARGIN = (2, 58, 18, 48)
SIGNS = ("●", "■", "▲", "◆")
_AREA = (0.14, 0.78)  # of a lane's height; the boundaries stand below, the name above


class NamedSeries(Protocol):
    """What a sentence says of a run: its largest window (None is unknown), and how many boundaries it has."""

    @property
    def name(self) -> str: ...
    @property
    def peak(self) -> int | None: ...
    @property
    def boundary_count(self) -> int: ...


class LaneSeries(NamedSeries, Protocol):
    """One run. Columns of equal length, one entry a call that is drawn (at most 2,000, None is unknown).

    `boundaries` are the calls right after one, `boundary_count` how many there are in all.
    """

    @property
    def tokens(self) -> Sequence[int | None]: ...
    @property
    def calls(self) -> Sequence[int]: ...
    @property
    def boundaries(self) -> Sequence[int]: ...
    @property
    def window(self) -> int | None: ...
    @property
    def threshold(self) -> int | None: ...


def height(lanes: int) -> int:
    """The figure's height in pixels."""
    return LANE * max(lanes, 1) + MARGIN[0] + MARGIN[2]


def fill(lanes: Sequence[LaneSeries]) -> Figure:
    """A lane a run, the first on top, all on one axis of calls and one scale of tokens.

    `layout["meta"]` says where the lanes are, for what a script lays over them: `area` in shares of a lane's height.
    """
    drawn = [lane for lane in lanes if lane.calls]
    if not drawn:
        empty = layout("No window is known yet.", MARGIN, xaxis=axis(visible=False), yaxis=axis(visible=False))
        return {"data": [], "layout": empty}
    first = min(lane.calls[0] for lane in drawn)
    last = max(lane.calls[-1] for lane in drawn) + 1
    used = max([value for lane in drawn for value in lane.tokens if value is not None] or [1])
    top = scale(used, [limit for lane in drawn for limit in (lane.window, lane.threshold)])
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    labels: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for number, lane in enumerate(lanes):
        upper, name = 1 - number / len(lanes), f"y{2 * number + 1}" if number else "y"
        low = upper - 1 / len(lanes)
        domain = [low + share / len(lanes) for share in _AREA]
        axes[name.replace("y", "yaxis")] = value_axis(range=[0, top], domain=domain, **_values(lane, top))
        ticks_axis = f"y{2 * number + 2}"
        below = [low + 0.03 / len(lanes), domain[0]]
        axes[ticks_axis.replace("y", "yaxis")] = axis(range=[0, 1], domain=below, showticklabels=False)
        x = array([*lane.calls, min(lane.calls[-1] + 1, last)]) if lane.calls else array([])
        data += _area(lane, x, name, number)
        data += _boundaries(lane.boundaries, ticks_axis, number)
        shapes += _limits(lane, name, top)
        labels += _labels(lane, number, upper, domain, top)
    marks = ticks(first, last, [])
    xaxis = axis(
        range=[first, last], anchor="free", position=0, tickvals=[call for call, _ in marks],
        ticktext=[text for _, text in marks], ticklabelstandoff=0,
    )  # fmt: skip
    meta = {"param": "call", "first": first, "last": last - 1, "lanes": len(lanes), "top": top, "area": _AREA}
    found = layout(
        summary(lanes), MARGIN, xaxis=xaxis, shapes=shapes, annotations=labels, hovermode=False, meta=meta, **axes
    )
    return {"data": data, "layout": found}


def summary(lanes: Sequence[NamedSeries]) -> str:
    """One sentence: each run with its largest window and its boundaries."""
    parts = []
    for lane in lanes:
        size = "sizes not known" if lane.peak is None else f"largest {words.compact(lane.peak)} tokens"
        parts.append(f"{lane.name}: {size}, {words.counted(lane.boundary_count, 'boundary', 'boundaries')}")
    return "Window tokens over the calls. " + "; ".join(parts) + "." if parts else "No run is chosen."


def _values(lane: LaneSeries, top: float) -> dict[str, Any]:
    limit = lane.window if lane.window and lane.window <= top else nice_step(top, 2)
    return {"tickvals": [0, limit], "ticktext": ["0", words.axis_ticks([_round(limit)])[0]], "showgrid": False}


def _round(value: float) -> float:
    power: int = 10 ** max(len(str(int(value))) - 3, 0)
    return round(value / power) * power


def _area(lane: LaneSeries, x: dict[str, str], yaxis: str, number: int) -> list[dict[str, Any]]:
    if not lane.calls:
        return []
    line = {"width": 1, "shape": "hv", "color": palette.INK_2}
    return [
        {
            "type": "scatter", "mode": "lines", "name": plain(lane.name), "meta": "total", "x": x,
            "y": array(stepped(list(lane.tokens))), "yaxis": yaxis, "line": line, "fill": "tozeroy",
            "fillcolor": palette.RULE, "hoverinfo": "skip", "customdata": number,
        }
    ]  # fmt: skip


def _boundaries(calls: Sequence[int], yaxis: str, number: int) -> list[dict[str, Any]]:
    # One mark a boundary: a stroke of three points each would be thrice the points.
    if not calls:
        return []
    line = {"width": 1.5, "color": palette.ORANGE}
    return [
        {
            "type": "scatter", "mode": "markers", "name": "Boundary", "meta": "boundary",
            "x": array(list(calls)), "y": array([0.5] * len(calls)), "yaxis": yaxis,
            "marker": {"symbol": "line-ns-open", "size": 7, "color": palette.ORANGE, "line": line},
            "cliponaxis": False, "hoverinfo": "skip", "customdata": number,
        }
    ]  # fmt: skip


def _limits(lane: LaneSeries, yaxis: str, top: float) -> list[dict[str, Any]]:
    found = []
    for value, name, line in (
        (lane.window, "window", {"width": 1, "color": palette.INK}),
        (lane.threshold, "threshold", {"width": 1, "color": palette.INK_2, "dash": "4px,3px"}),
    ):
        if value and value <= top:
            span = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": yaxis, "y0": value, "y1": value}
            found.append(span | {"line": line, "name": name})
    return found


def _labels(lane: LaneSeries, number: int, upper: float, domain: list[float], top: float) -> list[dict[str, Any]]:
    boundaries = words.counted(lane.boundary_count, "boundary", "boundaries")
    above = far_above(top, window=lane.window, threshold=lane.threshold)
    text = f"<b>{SIGNS[number]} {plain(lane.name)}</b>  {boundaries}{f', {above}' if above else ''}"
    found = [
        label(
            text, x=0, xref="paper", xanchor="left", y=upper, yref="paper", yanchor="top", align="left", name="lane",
            font={"size": 11, "color": palette.INK_2},
        )
    ]  # fmt: skip
    last = next((value for value in reversed(lane.tokens) if value is not None), None)
    if last is not None:
        at = domain[0] + (domain[1] - domain[0]) * min(last / top, 0.9)
        found.append(
            label(
                words.compact(last), x=1, xref="paper", xanchor="left", xshift=6, y=at, yref="paper", yanchor="middle",
                name="edge",
            )
        )  # fmt: skip
    return found
