"""The summary graph as shapes: lanes per depth, bars as wide as what they cover, the window as one lit band.

Horizontal places are percentages, so the drawing follows the page's width without a script.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from contextviz.analysis.summary_graph import GraphNode, SummaryGraph
from contextviz.charts.words import counted, ends, tokens
from contextviz.web.pages.graph.outline import GraphReading

LANE = 68
TOP = 20
BAR = 28
MESSAGES = 28
AXIS = 24
MOST_DRAWN = 240  # at about 300 bytes each, with its line, the page stays below 150 KB
LABEL_PIXELS = 70
PIXELS, PHONE_PIXELS = 7.8, 2.9  # of a percent, where the page is 1,280 wide, and on a phone
CHARACTER = 7.3  # pixels of one in a label
THIN = 0.35
TICKS = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """One summary."""

    # The store's own id
    id: str
    # Opens it in the pane
    url: str
    # Left edge and width in percent, top in pixels
    left: float
    width: float
    top: int
    # Its id, shortened, where the bar has room: on a page of 1,280 pixels, and on a phone
    label: str
    narrow: str
    # What readers and the pointer are told
    title: str
    # Classes: lit, selected, found
    marks: str
    # Right edge in percent, for the corner of a finding; None without one
    corner: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """A link from a summary to what it was made from."""

    # Ends, percent and pixels
    x1: float
    y1: int
    x2: float
    y2: int
    # Whether it belongs to the selected node
    is_selected: bool


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the lit band, or a bar of the message lane."""

    # Percent
    left: float
    width: float
    # Pixels
    top: int
    height: int
    # A category's key for a message that is in the window, else ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """The label of a depth."""

    # "depth 2"
    name: str
    # "1 node"
    says: str
    # Pixels
    top: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A number under the message lane."""

    # Percent
    left: float
    # The message's number
    text: str
    # start, middle or end: how the text stands to its place
    anchor: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The whole picture."""

    # Pixels
    height: int
    # Labels at the left
    lanes: list[Lane]
    # The lit band, in order
    band: list[Box]
    # Links
    lines: list[Line]
    # Summaries
    bars: list[Bar]
    # Messages
    messages: list[Box]
    # Numbers under the messages, and the height they stand at
    ticks: list[Tick]
    tick_top: int
    # One sentence
    summary: str
    # How many summaries are not drawn
    left_out: int


def draw(reading: GraphReading, selected: str) -> Drawing:
    """Lay the graph out; `selected` is a node's id or ""."""
    found = reading.graph
    spans = _spans(reading)
    nodes = _chosen(found)
    drawn = {node.id: node for node in nodes}
    floor = _floor(found)
    bars = [_bar(node, spans[node.id], _top(found, node.y), node.id == selected) for node in nodes]
    return Drawing(
        floor + MESSAGES + AXIS,
        _lanes(found, nodes, floor),
        _band(found, spans, floor),
        _lines(found, drawn, spans, selected),
        bars,
        [
            Box(
                round(bucket.start * 100, 3),
                round(max(100 / max(len(reading.buckets), 1) - 0.12, 0.1), 3),
                floor + MESSAGES - round(3 + bucket.height * (MESSAGES - 4)),
                round(3 + bucket.height * (MESSAGES - 4)),
                bucket.category if bucket.is_lit else "",
            )
            for bucket in reading.buckets
        ],
        _ticks(found.message_count),
        floor + MESSAGES + 17,
        _sentence(found),
        len(found.nodes) - len(nodes),
    )


def _spans(reading: GraphReading) -> dict[str, tuple[float, float]]:
    """Left edge and width of each node, in percent. A rolling summary stands over the messages that its own
    compaction folded: it covers what those before it cover as well, and would hide them."""
    found = reading.graph
    ends = {node.id: node.x for node in found.nodes}
    spans = {}
    for node in found.nodes:
        if node.kind == "rolling":
            start = max((ends.get(name, 0.0) for name in node.made_from), default=node.x - node.width)
            spans[node.id] = (max(0.0, start) * 100, max((node.x - start) * 100, THIN))
        else:
            spans[node.id] = (max(0.0, node.x - node.width / 2) * 100, max(node.width * 100, THIN))
    return spans


def _chosen(found: SummaryGraph) -> list[GraphNode]:
    """The nodes that are drawn: those in the window first, then the deepest folds, then the newest."""
    if len(found.nodes) <= MOST_DRAWN:
        return found.nodes
    best = sorted(found.nodes, key=lambda node: (not node.in_context, -node.y, -node.x))[:MOST_DRAWN]
    kept = {node.id for node in best}
    return [node for node in found.nodes if node.id in kept]


def _floor(found: SummaryGraph) -> int:
    return TOP + (found.max_depth + 1) * LANE


def _top(found: SummaryGraph, depth: int) -> int:
    return TOP + (found.max_depth - depth) * LANE


def _bar(node: GraphNode, span: tuple[float, float], top: int, is_selected: bool) -> Bar:
    left, width = span
    marks = " ".join(
        name
        for name, holds in (("lit", node.in_context), ("selected", is_selected), ("found", bool(node.findings)))
        if holds
    )
    covered = counted(node.covers, "message") if node.covers or node.kind != "rolling" else "what it does not say"
    stands = f"{node.kind}, depth {node.depth}, {tokens(node.tokens)} tokens for {covered}"
    words = [f"{node.id}: {stands}", "in the window now" if node.in_context else "", *node.findings[:3]]
    return Bar(
        node.id, "?" + urlencode({"node": node.id}) + "#node", round(left, 3), round(width, 3), top,
        _label(node.id, width * PIXELS), _label(node.id, width * PHONE_PIXELS),
        "; ".join(word for word in words if word), marks,
        round(left + width, 3) if node.findings else None,
    )  # fmt: skip


def _label(node_id: str, pixels: float) -> str:
    return short(node_id, int((pixels - 16) / CHARACTER)) if pixels >= LABEL_PIXELS else ""


def short(node_id: str, room: int = 16) -> str:
    """A node's id in `room` characters: both ends tell it apart; in little room its end alone, as many begin alike."""
    return ends(node_id, room)


def _lines(
    found: SummaryGraph, drawn: dict[str, GraphNode], spans: dict[str, tuple[float, float]], selected: str
) -> list[Line]:
    lines = []
    for source, consumer in found.edges:
        if source not in drawn or consumer not in drawn:
            continue
        below, above = drawn[source], drawn[consumer]
        left, width = spans[source]
        chosen = selected in (source, consumer)
        if below.y == above.y:
            # A rolling summary takes in the one before it, beside it on the same lane.
            place = _top(found, below.y) + BAR // 2
            lines.append(Line(round(left + width, 3), place, round(spans[consumer][0], 3), place, chosen))
            continue
        first, size = spans[consumer]
        middle = left + width / 2
        inside = min(max(middle, first), first + size)
        foot = _top(found, above.y) + BAR
        lines.append(Line(round(middle, 3), _top(found, below.y), round(inside, 3), foot, chosen))
    return lines


def _band(found: SummaryGraph, spans: dict[str, tuple[float, float]], floor: int) -> list[Box]:
    """The window in order: a box round each summary and each run of messages, and one down each step between."""
    boxes: list[Box] = []
    for item in found.band:
        if item.kind == "summary" and item.id in spans and item.depth is not None:
            left, width = spans[item.id]
            box = Box(round(left, 3), round(width, 3), _top(found, item.depth), BAR)
        else:
            box = Box(round((item.x - item.width / 2) * 100, 3), round(item.width * 100, 3), floor, MESSAGES)
        last = boxes[-1] if boxes else None
        if last is not None and last.top == box.top and 0 <= box.left - (last.left + last.width) < 0.2:
            boxes[-1] = Box(last.left, round(box.left + box.width - last.left, 3), box.top, box.height)
        else:
            boxes.append(box)
    return [part for box, after in zip(boxes, [*boxes[1:], None], strict=True) for part in _with_step(box, after)]


def _with_step(box: Box, after: Box | None) -> list[Box]:
    if after is None or after.top <= box.top:
        return [box]
    right = box.left + box.width
    left, width = min(right, after.left), abs(after.left - right)
    return [box, Box(round(left, 3), max(round(width, 3), 0.01), box.top, after.top - box.top + after.height)]


def _lanes(found: SummaryGraph, nodes: list[GraphNode], floor: int) -> list[Lane]:
    lanes = []
    for depth in range(found.max_depth, -1, -1):
        here = sum(node.y == depth for node in nodes)
        is_rolling = any(node.kind == "rolling" for node in nodes)
        says = counted(here, "node") if depth or is_rolling else counted(here, "leaf", "leaves")
        lanes.append(Lane("summaries" if is_rolling else f"depth {depth}", says, _top(found, depth)))
    return [*lanes, Lane("messages", f"{found.message_count:,}", floor)]


def _ticks(count: int) -> list[Tick]:
    if not count:
        return []
    numbers = sorted({1, count, *(round(count * at / TICKS) for at in range(1, TICKS))} - {0})
    last = len(numbers) - 1
    return [
        Tick(
            round((number - 0.5) / count * 100, 2),
            f"message {number:,}" if at == 0 else f"{number:,}",
            "start" if at == 0 else "end" if at == last else "middle",
        )
        for at, number in enumerate(numbers)
    ]


def _sentence(found: SummaryGraph) -> str:
    lit = sum(node.in_context for node in found.nodes)
    return (
        f"{counted(len(found.nodes), 'summary', 'summaries')} to depth {found.max_depth} over "
        f"{counted(found.message_count, 'message')}; {lit:,} in the window now."
    )
