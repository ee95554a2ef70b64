"""The context strip: stacked window tokens over the calls, with window, threshold, compactions and cache band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextviz.charts import palette, words
from contextviz.charts.figure import Figure, array, axis, layout, stepped, value_axis
from contextviz.charts.strip_axis import Mark, StripTable, compaction_labels, edges, place, threshold, ticks, values

MARGIN = (16, 92, 15, 48)  # the session page's; the graph and the chart under the strip share its left and right
_BAND = (0.0, 0.075)  # the cache band, of the height
_AREA = (0.15, 1.0)


def figure(table: StripTable) -> Figure:
    """The strip of `table` (reduced by the analysis to 1,400 rows at most). An empty table gives an empty plot."""
    if not table.calls:
        empty = layout("No model call is known.", MARGIN, xaxis=axis(visible=False), yaxis=axis(visible=False))
        return {"data": [], "layout": empty}
    totals = _totals(table)
    window = max((value for value in table.window if value is not None), default=None)
    top = max([value for value in totals if value is not None] + [window or 0, table.threshold or 0, 1]) * 1.03
    first, last = table.calls[0], table.calls[-1] + 1
    x = array([*table.calls, last])
    data = [_unknown(x, totals, top), *_areas(table, x), _residual(table, x)]
    if window is not None:
        data.append(_window(table, x))
    cache = _cache(table, x)
    data += [cache, *_lines(table.compactions, top)]
    labels, taken = compaction_labels(table.compactions, first, last)
    marks = ticks(first, last, taken)
    shapes = [threshold(table.threshold)] if table.threshold else []
    return {
        "data": [trace for trace in data if trace],
        "layout": layout(
            summary(table),
            MARGIN,
            xaxis=axis(
                range=[first, last],
                # Without a cache band there is no such axis, and the call numbers would stand beside the "0 k".
                **({"anchor": "y2"} if cache else {"anchor": "free", "position": 0}),
                ticklabelstandoff=-1,
                tickvals=[call for call, _ in marks],
                ticktext=[text for _, text in marks],
            ),
            yaxis=value_axis(range=[0, top], domain=list(_AREA), **values(window, top)),
            yaxis2=axis(range=[0, 1], domain=list(_BAND), showticklabels=False),
            shapes=shapes,
            annotations=labels + edges(table, window, top),
            hovermode=False,
            meta={
                "param": "b",
                "first": first,
                "last": last - 1,
                "compactions": _places(table.compactions),
            },
        ),
    }


def _places(marks: Sequence[Mark]) -> list[list[int | None]]:
    # Pairs of call and number, in the order of the calls; what is no summary (a trim) has no number.
    found = [(call, mark.number if mark.kind == "summary" else None) for mark in marks if (call := place(mark))]
    return [list(pair) for pair in sorted(found, key=lambda pair: pair[0])]


def summary(table: StripTable) -> str:
    """One sentence: calls, the last window, the largest, and the compactions."""
    if not table.calls:
        return "No model call is known."
    totals = _totals(table)
    known = [value for value in totals if value is not None]
    parts = [f"Window tokens over calls {table.calls[0]:,} to {table.calls[-1]:,}"]
    if known:
        parts.append(f"largest {words.compact(max(known))}, last {words.compact(totals[-1])}")
    else:
        parts.append("sizes not reported")
    window = max((value for value in table.window if value is not None), default=None)
    parts.append("window not reported" if window is None else f"window {words.compact(window)}")
    parts.append(words.counted(len(table.compactions), "compaction"))
    return "; ".join(parts) + "."


def _totals(table: StripTable) -> Sequence[int | None]:
    if None not in table.reported:
        return table.reported  # of tens of thousands of calls, as providers report them: nothing to add up
    return [_total(table, row) if one is None else one for row, one in enumerate(table.reported)]


def _total(table: StripTable, row: int) -> int | None:
    known = [value for column in table.categories.values() if (value := column[row]) is not None]
    return sum(known) if known else None


def _areas(table: StripTable, x: dict[str, str]) -> list[dict[str, Any]]:
    traces = []
    for key, column in table.categories.items():
        found = palette.category(str(key))
        if not any(column):
            continue
        trace: dict[str, Any] = _area(found.name, x, stepped(list(column)), found.colour) | {"meta": found.key}
        if found.shape == "hatch":
            pattern = {"shape": "/", "fgcolor": found.colour, "bgcolor": palette.SURFACE, "size": 4, "solidity": 0.5}
            trace |= {"fillpattern": pattern}
        traces.append(trace)
    return traces


def _area(name: str, x: dict[str, str], numbers: Sequence[float | None], colour: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": array(numbers),
        "stackgroup": "window",
        "line": {"width": 0, "shape": "hv", "color": colour},
        "fillcolor": colour,
        "hoverinfo": "skip",
    }


def _residual(table: StripTable, x: dict[str, str]) -> dict[str, Any]:
    # Only a positive residual has room in a stack; a negative one stands in the inspector's table, signed.
    above = [max(value, 0) if value is not None else None for value in table.residual]
    if not any(above):
        return {}
    return _area("Residual", x, stepped(above), palette.RULE_2) | {"meta": "residual"}


def _unknown(x: dict[str, str], totals: Sequence[int | None], top: float) -> dict[str, Any]:
    if None not in totals:
        return {}
    band = stepped([top if value is None else None for value in totals])
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Size unknown",
        "meta": "unknown",
        "x": x,
        "y": array(band),
        "line": {"width": 0, "shape": "hv", "color": palette.INSET},
        "fill": "tozeroy",
        "fillcolor": palette.INSET,
        "hoverinfo": "skip",
    }


def _window(table: StripTable, x: dict[str, str]) -> dict[str, Any]:
    line = {"width": 1, "shape": "hv", "color": palette.INK}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Window",
        "meta": "limit",
        "x": x,
        "y": array(stepped(list(table.window))),
        "line": line,
        "hoverinfo": "skip",
    }


def _cache(table: StripTable, x: dict[str, str]) -> dict[str, Any]:
    shares: list[float | None] = [
        None if read is None or not total else min(read / total, 1.0)
        for read, total in zip(table.cache_read, table.reported, strict=True)
    ]
    if all(share is None for share in shares):
        return {}
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Read from cache",
        "meta": "cache",
        "x": x,
        "y": array(stepped(shares)),
        "yaxis": "y2",
        "line": {"width": 0, "shape": "hv", "color": palette.RULE_2},
        "fill": "tozeroy",
        "fillcolor": "var(--ctl)",
        "hoverinfo": "skip",
    }


def _lines(marks: Sequence[Mark], top: float) -> list[dict[str, Any]]:
    # One trace of separate strokes for all of a kind: a shape each would be slow from some hundreds on.
    traces = []
    for name, dash, chosen in (
        ("Compaction", "solid", [mark for mark in marks if mark.kind == "summary"]),
        ("Trim", "dot", [mark for mark in marks if mark.kind != "summary"]),
    ):
        places = [call for mark in chosen if (call := place(mark)) is not None]
        if places:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "meta": "compaction",
                    "x": array([value for call in places for value in (call, call, None)]),
                    "y": array([value for _ in places for value in (-top, top * 2, None)]),
                    "line": {"width": 1.5, "color": palette.ORANGE, "dash": dash},
                    "cliponaxis": False,
                    "hoverinfo": "skip",
                }
            )
    return traces
