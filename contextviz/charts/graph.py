"""The summary graph from above: a bar a node, as wide as what it covers, a lane per depth, the window lit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.figure import MAX_NODES, Figure, array, axis, label, layout
from contextviz.charts.topics import plain

LANE = 68  # pixels between depths
MARGIN = (16, 20, 28, 96)
_BAR = 0.42
_PIXELS = 480  # of the lanes on a page of 1,280; where there are fewer, names that do not fit are left out
_CHARACTER, _SIDES = 7.0, 10  # pixels of a name's letter, and beside a name
_LEAST_NAME = 6  # letters: less of a name does not tell it apart


class Node(Protocol):
    """A summary. `start` and `end` are on the x axis (calls, or message numbers) and None when unknown."""

    @property
    def id(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def start(self) -> float | None: ...
    @property
    def end(self) -> float | None: ...
    @property
    def tokens(self) -> int | None: ...
    @property
    def made_from(self) -> Sequence[str]: ...
    @property
    def in_window(self) -> bool: ...
    @property
    def finding(self) -> bool: ...
    @property
    def url(self) -> str: ...


class GraphTable(Protocol):
    """The nodes of a summary store, the word for its x axis ("call" or "message"), and the axis' ends.

    `span` is that of the strip above, so that a compaction stands on one vertical; None is the nodes' own.
    """

    @property
    def nodes(self) -> Sequence[Node]: ...
    @property
    def unit(self) -> str: ...
    @property
    def span(self) -> tuple[float, float] | None: ...


def height(table: GraphTable) -> int:
    """The figure's height in pixels."""
    return LANE * (max((node.depth for node in table.nodes), default=0) + 1) + MARGIN[0] + MARGIN[2]


def chosen(table: GraphTable) -> list[Node]:
    """The nodes that are drawn, at most 500: those with a place, the lit and the deepest folded first."""
    placed = [node for node in table.nodes if node.start is not None and node.end is not None]
    if len(placed) <= MAX_NODES:
        return placed
    best = sorted(placed, key=lambda node: (not node.in_window, -node.depth, -(node.end or 0)))[:MAX_NODES]
    kept = {id(node) for node in best}
    return [node for node in placed if id(node) in kept]


def figure(table: GraphTable) -> Figure:
    """The graph as bars in lanes, with edges; a click on a bar follows its link."""
    nodes = chosen(table)
    depths = max((node.depth for node in nodes), default=0)
    starts = [node.start or 0 for node in nodes]
    ends = [node.end or 0 for node in nodes]
    first, last = table.span or (min(starts, default=0), max(ends, default=1))
    span = max(last - first, 1)
    data = [trace for trace in (_lit(nodes, span), _edges(nodes), _bars(nodes, span), _findings(nodes)) if trace]
    unit = table.unit
    return {
        "data": data,
        "layout": layout(
            summary(table),
            MARGIN,
            xaxis=axis(range=[first, last], nticks=8, tickprefix=f"{unit} ", showtickprefix="first"),
            yaxis=axis(range=[-0.6, depths + 0.6], showticklabels=False),
            barmode="overlay",
            annotations=_depth_labels(nodes),
            hovermode="closest",
            # A name in too little room would be shrunk until nobody can read it.
            uniformtext={"minsize": 10, "mode": "hide"},
            meta={"links": [node.url for node in nodes]},
        ),
    }


def summary(table: GraphTable) -> str:
    """One sentence: nodes, depth, how many are in the window, and what is not drawn."""
    if not table.nodes:
        return "There are no summaries."
    lit = sum(node.in_window for node in table.nodes)
    depth = max(node.depth for node in table.nodes)
    text = f"{words.counted(len(table.nodes), 'summary node')} to depth {depth}; {lit:,} in the window now"
    drawn = len(chosen(table))
    return text + (f"; {drawn:,} drawn" if drawn < len(table.nodes) else "") + "."


def _bars(nodes: Sequence[Node], span: float) -> dict[str, Any]:
    if not nodes:
        return {}
    rooms = [int((((node.end or 0) - (node.start or 0)) / span * _PIXELS - _SIDES) / _CHARACTER) for node in nodes]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Summary",
        "base": array([node.start for node in nodes]),
        "x": array([max((node.end or 0) - (node.start or 0), span * 0.002) for node in nodes]),
        "y": array([node.depth for node in nodes]),
        "width": _BAR,
        "marker": {
            "color": [palette.ORANGE if node.in_window else palette.SURFACE for node in nodes],
            "line": {"color": [palette.ORANGE if n.in_window else palette.RULE_2 for n in nodes], "width": 1},
            "cornerradius": 2,
        },
        "text": [
            plain(words.ends(node.id, min(room, 24))) if room >= _LEAST_NAME else ""
            for node, room in zip(nodes, rooms, strict=True)
        ],
        "textposition": "inside",
        "insidetextanchor": "start",
        "textfont": {"size": 11, "color": ["var(--on-orange)" if node.in_window else palette.INK_3 for node in nodes]},
        "customdata": [node.url for node in nodes],
        "hovertext": [f"{plain(node.id)}, depth {node.depth}, {words.tokens(node.tokens)} tokens" for node in nodes],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _lit(nodes: Sequence[Node], span: float) -> dict[str, Any]:
    lit = [node for node in nodes if node.in_window]
    if not lit:
        return {}
    pad = span * 0.004
    starts = [(node.start or 0) - pad for node in lit]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Window",
        "base": array(starts),
        "x": array([(node.end or 0) + pad - start for node, start in zip(lit, starts, strict=True)]),
        "y": array([node.depth for node in lit]),
        "width": _BAR * 1.5,
        "marker": {"color": palette.ORANGE_WASH, "line": {"width": 0}},
        "hoverinfo": "skip",
    }


def _edges(nodes: Sequence[Node]) -> dict[str, Any]:
    known = {node.id: node for node in nodes}
    x: list[float | None] = []
    y: list[float | None] = []
    for node in nodes:
        for child in (known[name] for name in node.made_from if name in known):
            if child.depth == node.depth:
                continue  # they stand side by side: a line would cross the bars
            middle = ((child.start or 0) + (child.end or 0)) / 2
            inside = min(max(middle, node.start or 0), node.end or 0)
            x += [middle, inside, None]
            y += [child.depth + _BAR / 2, node.depth - _BAR / 2, None]
    if not x:
        return {}
    line = {"width": 1, "color": palette.RULE_2}
    return {"type": "scatter", "mode": "lines", "name": "Made from", "x": array(x), "y": array(y), "line": line} | {
        "hoverinfo": "skip"
    }


def _findings(nodes: Sequence[Node]) -> dict[str, Any]:
    found = [node for node in nodes if node.finding]
    if not found:
        return {}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "Finding",
        "x": array([node.end for node in found]),
        "y": array([node.depth + _BAR / 2 for node in found]),
        "marker": {"symbol": "triangle-ne", "size": 8, "color": palette.STALE},
        "hovertext": [f"{plain(node.id)}: a finding" for node in found],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _depth_labels(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    found = []
    for depth in sorted({node.depth for node in nodes}):
        count = sum(node.depth == depth for node in nodes)
        text = (
            f"<b>depth {depth}</b><br>{words.counted(count, 'node' if depth else 'leaf', None if depth else 'leaves')}"
        )
        place = {"x": 0, "xref": "paper", "xanchor": "left", "xshift": -80, "y": depth, "align": "left"}
        found.append(label(text, **place))
    return found
