"""The context strip: stacked window tokens over the calls, with window, threshold, compactions and cache band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contextviz.charts import palette, words
from contextviz.charts.composition import Laid, laid
from contextviz.charts.figure import Figure, array, axis, layout, stepped, value_axis
from contextviz.charts.strip_axis import (
    CallAxis,
    Mark,
    StripTable,
    compaction_labels,
    edges,
    far_above,
    far_label,
    place,
    scale,
    threshold,
    values,
)

MARGIN = (16, 92, 15, 48)  # the session page's; the graph and the chart under the strip share its left and right
_BAND = (0.0, 0.075)  # the cache band, of the height
_AREA = (0.15, 1.0)


def figure(table: StripTable) -> Figure:
    """The strip of `table` (reduced by the analysis to 1,400 rows at most). An empty table gives an empty plot.

    Of each call the stack ends at the reported prompt: Σ of the traces of a stack group but those that begin with
    "over" in `meta` is what was reported (the parts, where nothing was). By how much the parts come to more is hatched
    over it, behind a line of the reports.
    """
    if not table.calls:
        empty = layout("No model call is known.", MARGIN, xaxis=axis(visible=False), yaxis=axis(visible=False))
        return {"data": [], "layout": empty}
    totals = _totals(table)
    rows = stacks(table)
    window = max((value for value in table.window if value is not None), default=None)
    used = max([value for value in totals if value is not None] or [1])
    top = scale(used, [*set(table.window), table.threshold])
    # What hangs over a report is drawn whole: it is what the scale must not hide.
    top = max([top, *(row.top * 1.03 for row in rows)])
    on = CallAxis(table)
    x = array([*on.x, on.last])
    data = [_unknown(x, totals, top), *_areas(table, rows, x), _residual(rows, x), *_beyond(table, rows, x)]
    if any(value is not None and value <= top for value in table.window):
        data.append(_window(table, x))
    cache = _cache(table, x)
    data += [cache, *_lines(table.compactions, on, top)]
    labels, taken = compaction_labels(table.compactions, on)
    marks = on.ticks(taken)
    shapes = [threshold(table.threshold)] if table.threshold and table.threshold <= top else []
    above = far_above(top, window=window, threshold=table.threshold)
    own = {} if on.own is None else {"calls": array(on.own), "even": on.is_even}
    return {
        "data": [trace for trace in data if trace],
        "layout": layout(
            summary(table),
            MARGIN,
            xaxis=axis(
                range=[on.first, on.last],
                # Without a cache band there is no such axis, and the call numbers would stand beside the "0 k".
                **({"anchor": "y2"} if cache else {"anchor": "free", "position": 0}),
                ticklabelstandoff=-1,
                tickvals=[call for call, _ in marks],
                ticktext=[text for _, text in marks],
            ),
            yaxis=value_axis(range=[0, top], domain=list(_AREA), **values(window, top)),
            yaxis2=axis(range=[0, 1], domain=list(_BAND), showticklabels=False),
            shapes=shapes,
            annotations=labels + far_label(above) + edges(table, window, top),
            hovermode=False,
            meta={
                "param": "b",
                "first": table.calls[0],
                "last": table.calls[-1],
                "compactions": _places(table.compactions),
            }
            | own,
        ),
    }


def _places(marks: Sequence[Mark]) -> list[list[int | None]]:
    # Pairs of call and number, in the order of the calls; what is no summary (a trim) has no number.
    found = [(call, mark.number if mark.kind == "summary" else None) for mark in marks if (call := place(mark))]
    return [list(pair) for pair in sorted(found, key=lambda pair: pair[0])]


def summary(table: StripTable) -> str:
    """One sentence: calls, the last window, the largest, the compactions, and by how much parts come to more than was
    reported."""
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
    over = over_words(table)
    return "; ".join(parts + ([over] if over else [])) + "."


def over_words(table: StripTable) -> str:
    """How far parts come to more than was reported, over all calls; "" where they nowhere do."""
    over = [(value, call) for value, call in zip(table.residual, table.calls, strict=True) if value and value < 0]
    if not over:
        return ""
    most, call = min(over)
    where = f"at {words.counted(len(over), 'call')}" if len(over) > 1 else f"at call {call:,}"
    end = f"by up to {words.tokens(-most)} (call {call:,})" if len(over) > 1 else f"by {words.tokens(-most)}"
    return f"{where} the parts come to more than was reported, {end}"


def stacks(table: StripTable) -> list[Laid]:
    """The parts of each call against its reported prompt."""
    columns = list(table.categories.values())
    rows = zip(*columns, strict=True) if columns else [()] * len(table.calls)
    return [laid(parts, reported) for parts, reported in zip(rows, table.reported, strict=True)]


def _totals(table: StripTable) -> Sequence[int | None]:
    if None not in table.reported:
        return table.reported  # of tens of thousands of calls, as providers report them: nothing to add up
    return [_total(table, row) if one is None else one for row, one in enumerate(table.reported)]


def _total(table: StripTable, row: int) -> int | None:
    known = [value for column in table.categories.values() if (value := column[row]) is not None]
    return sum(known) if known else None


def _areas(table: StripTable, rows: Sequence[Laid], x: dict[str, str]) -> list[dict[str, Any]]:
    traces = []
    for at, (key, parts) in enumerate(table.categories.items()):
        found = palette.category(str(key))
        if not any(parts):
            continue
        column = [row.within[at] for row in rows]
        trace: dict[str, Any] = _area(found.name, x, stepped(column), found.colour) | {"meta": found.key}
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


def _residual(rows: Sequence[Laid], x: dict[str, str]) -> dict[str, Any]:
    # What the report has above the parts; a negative residual is what hangs over it.
    above = [row.rest for row in rows]
    if not any(above):
        return {}
    return _area("Residual", x, stepped(above), palette.RULE_2) | {"meta": "residual"}


def _beyond(table: StripTable, rows: Sequence[Laid], x: dict[str, str]) -> list[dict[str, Any]]:
    """What hangs over the reports, hatched in the colour of its category, and the line of the reports before it."""
    if not any(row.over for row in rows):
        return []
    traces = []
    for at, key in enumerate(table.categories):
        column = [row.beyond[at] for row in rows]
        if any(column):
            found = palette.category(str(key))
            pattern = {"shape": "\\", "fgcolor": found.colour, "bgcolor": palette.SURFACE, "size": 4, "solidity": 0.35}
            trace = _area(f"{found.name}, over the report", x, stepped(column), found.colour)
            traces.append(trace | {"meta": f"over-{found.key}", "fillpattern": pattern})
    line = {"width": 1, "shape": "hv", "color": palette.INK}
    report = {"type": "scatter", "mode": "lines", "name": "Reported", "meta": "report", "x": x, "line": line}
    return [*traces, report | {"y": array(stepped(list(table.reported))), "hoverinfo": "skip"}]


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


def _lines(marks: Sequence[Mark], on: CallAxis, top: float) -> list[dict[str, Any]]:
    # One trace of separate strokes for all of a kind: a shape each would be slow from some hundreds on.
    traces = []
    for name, dash, chosen in (
        ("Compaction", "solid", [mark for mark in marks if mark.kind == "summary"]),
        ("Trim", "dot", [mark for mark in marks if mark.kind != "summary"]),
    ):
        places = [on.at(call) for mark in chosen if (call := place(mark)) is not None]
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
