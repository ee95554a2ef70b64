"""The budget page's charts over calls: composition, headroom, and the share of each prompt that kept its prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from contextviz.charts import palette, strip, words
from contextviz.charts.figure import Figure, array, axis, label, layout, stepped, value_axis
from contextviz.charts.strip_axis import StripTable, place

Mode = Literal["tokens", "share", "headroom"]
MODES: tuple[Mode, ...] = ("tokens", "share", "headroom")
SIDES = (92, 48)  # right and left of every chart over calls here, the strip's own


class PrefixColumns(Protocol):
    """Share of each prompt that its stable prefix made up, for the calls kept; None is unknown."""

    @property
    def calls(self) -> Sequence[int]: ...
    @property
    def share(self) -> Sequence[float | None]: ...
    @property
    def broken(self) -> Sequence[bool]: ...
    @property
    def is_billed(self) -> bool: ...
    @property
    def count(self) -> int: ...


def composition(table: StripTable, mode: Mode = "tokens") -> Figure:
    """The strip's stack as a chart: tokens, shares of each window, or the room that was left (reduced before)."""
    if mode == "headroom":
        return headroom(table)
    figure = strip.figure(table)
    if not figure["data"]:
        return figure
    found = figure["layout"]
    figure["data"] = [trace for trace in figure["data"] if trace.get("yaxis") != "y2"]
    over = strip.over_words(table)
    far = [one for one in found["annotations"] if one.get("name") == "far"]
    found["margin"] = {"t": 32 if over and far else 16, "r": SIDES[0], "b": 20, "l": SIDES[1], "pad": 0}
    found["yaxis"] |= {"domain": [0, 1]}
    found["xaxis"] |= {"anchor": "y", "ticklabelstandoff": 4}
    found.pop("yaxis2", None)
    found["annotations"] = [
        one | ({"yshift": -4} if one.get("name") == "compaction" else {})
        for one in found["annotations"]
        if one.get("yref") != "y2"
    ] + _over_label(table, 14 if far else -2)
    found["meta"] = {"summary": found["meta"]["summary"]}
    return _shares(figure, table) if mode == "share" else figure


def _over_label(table: StripTable, shift: int) -> list[dict[str, Any]]:
    """The legend of what is hatched, with its largest number, over the areas at the right."""
    most = min((value for value in table.residual if value is not None), default=0)
    if most >= 0:
        return []
    place = {"x": 1, "xref": "paper", "xanchor": "right", "y": 1, "yref": "paper", "yanchor": "bottom", "yshift": shift}
    return [label(f"▨ parts up to {words.tokens(-most)} over the report", **place, name="over")]


def _shares(figure: Figure, table: StripTable) -> Figure:
    """The stack in shares of each reported prompt: what hangs over it stands above 100 %."""
    rows = strip.stacks(table)
    wholes = [row.top - row.over for row in rows]
    columns = {str(key): at for at, key in enumerate(table.categories)}
    kept = []
    for trace in figure["data"]:
        if trace.get("stackgroup"):
            key = trace["meta"]
            at = columns.get(key.removeprefix("over-"))
            sizes: list[int | None] = [row.rest for row in rows]
            if at is not None:
                sizes = [row.beyond[at] if key.startswith("over-") else row.within[at] for row in rows]
            shares = [_share(size, whole) for size, whole in zip(sizes, wholes, strict=True)]
            kept.append(trace | {"y": array(stepped(shares))})
        elif trace.get("meta") == "report":
            kept.append(trace | {"y": array([None if one is None else 100 for one in stepped(list(table.reported))])})
        elif trace.get("meta") == "compaction":
            kept.append(trace)
    top = max([100.0, *(_share(row.top, whole) or 0 for row, whole in zip(rows, wholes, strict=True))])
    found = figure["layout"]
    found["yaxis"] |= {"range": [0, top], "tickvals": [0, 50, 100], "ticktext": ["0 %", "50 %", "100 %"]}
    found["shapes"] = []
    found["annotations"] = [one for one in found["annotations"] if one.get("name") not in ("edge", "far")]
    found["meta"]["summary"] = f"Shares of each window by category. {found['meta']['summary']}"
    return {"data": kept, "layout": found}


def _share(size: int | None, whole: int) -> float | None:
    """A part in percent; two digits behind the point are finer than a pixel."""
    return None if size is None or not whole else round(size / whole * 100, 2)


def headroom(table: StripTable) -> Figure:
    """Tokens left to the threshold (else to the window) at each call; below 0 the limit was passed."""
    rooms = [_room(table, row) for row in range(len(table.calls))]
    known = [room for room in rooms if room is not None]
    if not known:
        empty = layout("The window is not known, so neither is the room left in it.", (16, *SIDES[:1], 20, SIDES[1]))
        return {"data": [], "layout": empty | {"xaxis": axis(visible=False), "yaxis": axis(visible=False)}}
    frame = composition(table)
    top, low = max(known) * 1.05, min(*known, 0) * 1.05
    x = array([*table.calls, table.calls[-1] + 1])
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": "Headroom",
        "x": x,
        "y": array(stepped(list(rooms))),
        "line": {"width": 1.25, "shape": "hv", "color": palette.INK},
        "fill": "tozeroy",
        "fillcolor": palette.INSET,
        "hovertemplate": "call %{x}: %{y:,.0f} tok left<extra></extra>",
    }
    strokes = [trace for trace in frame["data"] if trace.get("meta") == "compaction"]
    found = frame["layout"]
    marks = _thirds(top)
    found["yaxis"] = value_axis(range=[low, top], tickvals=marks, ticktext=words.axis_ticks(marks))
    found["shapes"] = []
    found["annotations"] = [one for one in found["annotations"] if one.get("name") not in ("edge", "far", "over")]
    found["hovermode"] = "closest"
    limit = "the threshold" if table.threshold is not None else "the window"
    found["meta"] = found["meta"] | {
        "summary": f"Tokens left up to {limit}: least {words.compact(min(known))}, last {words.compact(rooms[-1])}."
    }
    return {"data": [line, *strokes], "layout": found}


def _room(table: StripTable, row: int) -> int | None:
    limit = table.window[row] if table.threshold is None else table.threshold
    reported = table.reported[row]
    if reported is None:
        parts = [value for column in table.categories.values() if (value := column[row]) is not None]
        reported = sum(parts) if parts else None
    return None if limit is None or reported is None else limit - reported


def _thirds(top: float) -> list[float]:
    power = 10 ** max(len(str(int(top))) - 2, 0)
    step = max(round(top / 3 / power) * power, 1)
    return [step * count for count in range(4) if step * count <= top]


def prefix(columns: PrefixColumns, table: StripTable, url_of: Callable[[int], str]) -> Figure:
    """Bars of the stable prefix share by call; breaks in ink, with their calls under the axis. A click follows
    `url_of(call)`."""
    first = table.calls[0] if table.calls else 1
    last = table.calls[-1] + 1 if table.calls else 2
    sentence = prefix_summary(columns)
    margin = (6, SIDES[0], 18, SIDES[1])
    if not columns.calls:
        return {"data": [], "layout": layout(sentence, margin, xaxis=axis(visible=False), yaxis=axis(visible=False))}
    width = max((last - first) / len(columns.calls) * 0.8, 0.8)
    bars = _bars(columns, False, width, palette.RULE_2, url_of)
    # A break is drawn wide enough to be seen among thousands of calls.
    breaks = _bars(columns, True, max(width, (last - first) / 180), palette.INK, url_of)
    folded = {at for mark in table.compactions if mark.kind == "summary" and (at := place(mark)) is not None}
    return {
        "data": [bars, breaks],
        "layout": layout(
            sentence,
            margin,
            barmode="overlay",
            xaxis=axis(range=[first, last], showticklabels=False),
            yaxis=value_axis(range=[0, 1], tickvals=[0, 1], ticktext=["0 %", "100 %"]),
            annotations=_labels(columns, folded, first, last),
            hovermode="closest",
        ),
    }


def prefix_summary(columns: PrefixColumns) -> str:
    """One sentence: how many breaks, the lowest share, and whether it is billed or predicted."""
    known = [share for share in columns.share if share is not None]
    if not known:
        return "How far prompts shared their prefix is not known."
    basis = "read from the cache" if columns.is_billed else "predicted to be shared"
    return (
        f"Share of each prompt {basis}: lowest {words.percent(min(known))}, "
        f"with {words.counted(columns.count, 'prefix break')}."
    )


def _bars(
    columns: PrefixColumns, broken: bool, width: float, colour: str, url_of: Callable[[int], str]
) -> dict[str, Any]:
    rows = [(c, s) for c, s, b in zip(columns.calls, columns.share, columns.broken, strict=True) if b is broken]
    return {
        "type": "bar",
        "name": "Prefix break" if broken else "Prefix kept",
        "x": array([call + 0.5 for call, _ in rows]),
        "y": array([share for _, share in rows]),
        "customdata": [url_of(call) for call, _ in rows],
        "text": [f"{call:,}" for call, _ in rows],
        "textposition": "none",
        "width": width,
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": "call %{text}: %{y:.1%} kept<extra></extra>",
    }


def _labels(columns: PrefixColumns, folded: set[int], first: int, last: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    taken: list[int] = []
    near = 0.05 * (last - first)
    calls = [call for call, broken in zip(columns.calls, columns.broken, strict=True) if broken]
    for call in calls:
        if any(abs(call - other) < near for other in taken):
            continue
        taken.append(call)
        colour = palette.ORANGE_INK if call in folded else palette.INK_2
        font = {"size": 11, "color": colour}
        found.append(label(f"{call:,}", x=call + 0.5, y=0, yref="paper", yanchor="top", yshift=-1, font=font))
    return found
