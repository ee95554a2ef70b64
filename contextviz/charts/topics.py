"""Swim-lanes of a conversation map: a lane per topic, switches, spawned agents and compactions on one clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from contextviz.charts import palette, words
from contextviz.charts.clock import Clock, clock
from contextviz.charts.figure import MAX_POINTS, Figure, array, axis, label, layout

LANE = 84  # pixels; the names beside the chart have the same height
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_LEAST = 0.02  # of a topic's bar, as a share of the lanes' width
_BESIDE = 0.08  # where a rest's length and a sign would touch on a phone, as a share of the lanes' width
_HIGH, _THIN = 0.12, 0.36  # where in its lane a bar and a spawned agent stand


class Lane(Protocol):
    """A topic: its name, its own colour if the map gives one, and when it was worked on."""

    @property
    def name(self) -> str: ...
    @property
    def colour(self) -> str | None: ...
    @property
    def spans(self) -> Sequence[tuple[datetime, datetime]]: ...


class Switch(Protocol):
    """A change of topic; lanes are positions, None where it began without one."""

    @property
    def at(self) -> datetime: ...
    @property
    def from_lane(self) -> int | None: ...
    @property
    def to_lane(self) -> int: ...


class Spawn(Protocol):
    """A sub-agent: when it started, when it ended (None is unknown), in which lane, and whether it failed."""

    @property
    def at(self) -> datetime: ...
    @property
    def until(self) -> datetime | None: ...
    @property
    def lane(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def failed(self) -> bool: ...


class CompactionAt(Protocol):
    """A compaction on the clock."""

    @property
    def at(self) -> datetime: ...
    @property
    def number(self) -> int: ...


class TopicTable(Protocol):
    """What the lanes show; moments that are unknown are left out by whoever builds the table, and counted there.

    `activity` are stretches in which something is recorded; a long rest between them is folded.
    """

    @property
    def lanes(self) -> Sequence[Lane]: ...
    @property
    def switches(self) -> Sequence[Switch]: ...
    @property
    def spawns(self) -> Sequence[Spawn]: ...
    @property
    def compactions(self) -> Sequence[CompactionAt]: ...
    @property
    def activity(self) -> Sequence[tuple[datetime, datetime]]: ...


def lane_colour(lane: Lane, position: int) -> str:
    """The lane's own colour when it is a plain hex colour, else one of the palette's."""
    return lane.colour if lane.colour and _HEX.fullmatch(lane.colour) else palette.lane(position)


def height(table: TopicTable) -> int:
    """The figure's height in pixels: lanes of 84, room for the compactions above and the clock below."""
    return LANE * max(len(table.lanes), 1) + 28 + 24


def figure(table: TopicTable) -> Figure:
    """The swim-lanes, at most 2,000 marks of a kind (the sentence says when there were more)."""
    found = clock([*table.activity, *_ends(table)])
    base = {"yaxis": axis(range=[len(table.lanes), 0], showticklabels=False)}
    if found is None:
        return {"data": [], "layout": layout(summary(table), (28, 20, 24, 8), xaxis=axis(visible=False), **base)}
    ticks = found.ticks()
    shapes = [*_gap_shapes(found), *_rules(len(table.lanes)), *_compaction_shapes(table, found)]
    return {
        "data": [trace for trace in (_bars(table, found), _spawns(table, found), _switches(table, found)) if trace],
        "layout": layout(
            summary(table),
            (28, 20, 24, 8),
            xaxis=axis(range=[-0.004, 1.004], tickvals=[x for x, _ in ticks], ticktext=[text for _, text in ticks]),
            barmode="overlay",
            shapes=shapes,
            annotations=[
                *_gap_labels(found, [found.x(mark.at) for mark in table.compactions]),
                *_compaction_labels(table, found),
                *_spawn_labels(table, found),
            ],
            hovermode="closest",
            **base,
        ),
    }


def summary(table: TopicTable) -> str:
    """One sentence: lanes, switches, sub-agents, compactions."""
    parts = [
        words.counted(len(table.lanes), "topic"),
        words.counted(len(table.switches), "switch", "switches"),
        words.counted(len(table.spawns), "sub-agent"),
        words.counted(len(table.compactions), "compaction"),
    ]
    most = max(len(table.switches), len(table.spawns), sum(len(lane.spans) for lane in table.lanes))
    note = f"; the first {MAX_POINTS:,} of each kind are drawn" if most > MAX_POINTS else ""
    return ", ".join(parts) + ", on the wall clock in UTC" + note + "."


def _ends(table: TopicTable) -> list[tuple[datetime, datetime]]:
    # So that no bar begins before the axis or ends after it.
    return [(at, at) for lane in table.lanes for span in lane.spans for at in span]


def _bars(table: TopicTable, on: Clock) -> dict[str, Any]:
    spans = [(p, lane, span) for p, lane in enumerate(table.lanes) for span in lane.spans][:MAX_POINTS]
    if not spans:
        return {}
    widths = [max(on.x(span[1]) - on.x(span[0]), _LEAST) for _, _, span in spans]
    # A topic of one moment at the end of the clock stands before the end, not half behind it.
    starts = [min(on.x(span[0]), 1 - width) for width, (_, _, span) in zip(widths, spans, strict=True)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Topic",
        "base": array(starts),
        "x": array(widths),
        "y": array([p + _HIGH + 0.11 for p, _, _ in spans]),
        "width": 0.22,
        "marker": {"color": [lane_colour(lane, p) for p, lane, _ in spans], "cornerradius": 2},
        "text": [_span_text(lane.name, span) for _, lane, span in spans],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
    }


def _span_text(name: str, span: tuple[datetime, datetime]) -> str:
    return f"{plain(name)}, {span[0]:%H:%M} to {span[1]:%H:%M}"


def plain(text: str, limit: int = 40) -> str:
    """A name as plotly shows it literally: plotly reads some HTML in labels, so < and & are escaped."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _spawns(table: TopicTable, on: Clock) -> dict[str, Any]:
    spawns = list(table.spawns)[:MAX_POINTS]
    if not spawns:
        return {}
    starts = [on.x(spawn.at) for spawn in spawns]
    ends = [x + 0.02 if s.until is None else max(on.x(s.until), x + 0.012) for x, s in zip(starts, spawns, strict=True)]
    edge = {"color": [palette.LOST if spawn.failed else palette.INK_2 for spawn in spawns], "width": 1.2}
    return {
        "type": "bar",
        "orientation": "h",
        "name": "Sub-agent",
        "base": array(starts),
        "x": array([end - start for start, end in zip(starts, ends, strict=True)]),
        "y": array([spawn.lane + _THIN + 0.18 for spawn in spawns]),
        "width": 0.16,
        "marker": {"color": palette.SURFACE, "line": edge, "cornerradius": 2},
        "text": [plain(s.name) + (", failed" if s.failed else "") + f", {s.at:%H:%M}" for s in spawns],
        "textposition": "none",
        "hovertemplate": "Sub-agent %{text}<extra></extra>",
    }


def _switches(table: TopicTable, on: Clock) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    symbols: list[str] = []
    for switch in list(table.switches)[:MAX_POINTS]:
        if switch.from_lane is None or switch.from_lane == switch.to_lane:
            continue
        at = on.x(switch.at)
        down = switch.to_lane > switch.from_lane
        x += [at, at, None]
        y += [switch.from_lane + _HIGH + 0.22, switch.to_lane + (_HIGH if down else _HIGH + 0.24), None]
        symbols += ["circle-open", "triangle-down" if down else "triangle-up", "circle"]
    if not x:
        return {}
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "Switch",
        "x": array(x),
        "y": array(y),
        "line": {"width": 1, "color": palette.INK},
        "marker": {"size": 6, "symbol": symbols, "color": palette.INK},
        "hoverinfo": "skip",
    }


def _gap_shapes(on: Clock) -> list[dict[str, Any]]:
    line = {"width": 0}
    return [
        {"type": "rect", "layer": "below", "yref": "paper", "y0": 0, "y1": 1, "x0": gap.x0, "x1": gap.x1}
        | {"fillcolor": palette.INSET, "line": line}
        for gap in on.gaps
    ]


def _gap_labels(on: Clock, signs: Sequence[float]) -> list[dict[str, Any]]:
    """How long each gap is, above it; at the foot beside it where a compaction's sign stands above, with which it would
    read as one; and its mark on the axis."""
    found: list[dict[str, Any]] = []
    last = -1.0
    for gap in on.gaps:
        middle = (gap.x0 + gap.x1) / 2
        if middle - last > 0.06:
            last = middle
            if any(abs(x - middle) < _BESIDE for x in signs):
                # Before the gap, where the end of the clock cannot cut it; after one at the very beginning.
                x, side, anchor = (gap.x1, 1, "left") if gap.x0 < _BESIDE else (gap.x0, -1, "right")
                place = {"x": x, "xanchor": anchor, "xshift": 4 * side, "y": 0, "yshift": 2}
            else:
                place = {"x": middle, "y": 1, "yshift": 3}
            found.append(label(gap.text, yref="paper", yanchor="bottom", bgcolor=palette.SURFACE, **place))
        found.append(
            label("//", x=middle, y=0, yref="paper", yanchor="middle", font={"size": 11, "color": palette.INK})
        )
    return found


def _rules(lanes: int) -> list[dict[str, Any]]:
    line = {"width": 1, "color": palette.RULE}
    return [
        {"type": "line", "layer": "below", "xref": "paper", "x0": 0, "x1": 1, "y0": edge, "y1": edge, "line": line}
        for edge in range(lanes + 1)
    ]


def _compaction_shapes(table: TopicTable, on: Clock) -> list[dict[str, Any]]:
    line = {"width": 1.5, "color": palette.ORANGE}
    places = [on.x(mark.at) for mark in list(table.compactions)[:200]]
    return [{"type": "line", "yref": "paper", "y0": 0, "y1": 1.02, "x0": x, "x1": x, "line": line} for x in places]


def _compaction_labels(table: TopicTable, on: Clock) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    last = -1.0
    for mark in table.compactions:
        x = on.x(mark.at)
        if x - last < 0.025:
            continue
        last = x
        font = {"size": 11, "color": palette.ORANGE_INK}
        text = f"<b>⟳{mark.number}</b>"
        found.append(label(text, x=x, y=1, yref="paper", yanchor="bottom", yshift=3, font=font))
    return found


def _spawn_labels(table: TopicTable, on: Clock) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    last: dict[int, float] = {}
    for spawn in list(table.spawns)[:200]:
        x = on.x(spawn.at)
        if x - last.get(spawn.lane, -1.0) < 0.08:
            continue
        last[spawn.lane] = x
        font = {"size": 11, "color": palette.LOST if spawn.failed else palette.INK_2}
        # On a ground of its own: a switch's line goes by behind it.
        place = {"x": x, "y": spawn.lane + _THIN + 0.28, "xanchor": "left", "yanchor": "top"}
        found.append(label(plain(spawn.name, 16), font=font, bgcolor=palette.SURFACE, **place))
    return found
