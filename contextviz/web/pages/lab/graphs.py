"""The summaries that each run made, as graphs over the messages, and the text of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from contextviz.charts import graph as graph_chart
from contextviz.charts import words
from contextviz.charts.figure import Figure
from contextviz.charts.tables import DrawnGraph, DrawnNode
from contextviz.events.compaction import SummaryNode
from contextviz.store.queries import runs
from contextviz.store.queries.runs import RunRow
from contextviz.store.values import NotFound
from contextviz.web.pages.held import READER, open_text
from contextviz.web.pages.lab.columns import Column, run_key
from contextviz.web.pages.lab.place import LabPlace
from contextviz.web.pages.session.shown import Shown, shown

TWIN_NODES = 30
MOST_NODES = 2_000
LINE_CHARS = 160
SUMMARY_CHARS = 20_000
SUMMARY_BYTES = 60_000
TALLEST = 360


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A summary in the table under a graph."""

    id: str
    url: str
    depth: int
    tokens: int | None
    in_context: bool
    line: str


@dataclass(frozen=True, slots=True)
class RunGraph:
    """One run's graph: the address of its figure ("" where it has none), its height, a sentence, its newest nodes."""

    column: Column
    src: str
    height: int
    summary: str
    rows: tuple[NodeRow, ...]
    more: int
    # Where the recorded session's own graph is
    url: str


@dataclass(frozen=True, slots=True)
class NodeShown:
    """One summary with its text: `given` says that it is the text with the wrapper that the model was given."""

    column: Column
    id: str
    facts: str
    text: Shown
    close_url: str


def run_graphs(place: LabPlace, columns: Sequence[Column]) -> list[RunGraph]:
    """A graph for each run that is compared; two queries and two for the texts of each."""
    return [_recorded(place, column) if column.run is None else _graph(place, column, column.run) for column in columns]


def _recorded(place: LabPlace, column: Column) -> RunGraph:
    url = reverse("graph", args=[place.session_id])
    return RunGraph(column, "", 0, "The recorded session's summaries have a page of their own.", (), 0, url)


def _graph(place: LabPlace, column: Column, run: RunRow) -> RunGraph:
    found = runs.nodes(run, 0, MOST_NODES)
    if not found:
        return RunGraph(column, "", 0, "This run made no summary.", (), 0, "")
    table = drawn(run, found, lambda name: "")  # its links are the figure's own
    newest = found[-TWIN_NODES:][::-1]
    lines = READER.beginnings([node.text for node in newest if node.text.size], chars=LINE_CHARS)
    rows = tuple(
        NodeRow(
            node.id, place.url(anchor="node", view="graphs", node=(column.slot, node.id)), node.depth, node.tokens,
            bool(node.in_context), " ".join(one.text.split()) if (one := lines.get(node.text.digest)) else "",
        )
        for node in newest
    )  # fmt: skip
    src = f"{reverse('lab_graph', args=[place.session_id])}?runs={','.join(place.runs)}&slot={column.slot}"
    height = min(graph_chart.height(table), TALLEST)
    summary = graph_chart.summary(table)
    if run.node_count > len(found):
        summary += f" The first {words.tokens(len(found))} of {words.tokens(run.node_count)} are read."
    return RunGraph(column, src, height, summary, rows, max(run.node_count - len(newest), 0), "")


def graph_figure(place: LabPlace, run: RunRow) -> Figure:
    """One run's graph as a figure; a click on a summary opens it in the Lab."""
    slot = next((number for number, key in enumerate(place.runs, start=1) if key == run_key(run)), 1)
    found = runs.nodes(run, 0, MOST_NODES)
    return graph_chart.figure(
        drawn(run, found, lambda name: place.url(anchor="node", view="graphs", slot=None, node=(slot, name)))
    )


def drawn(run: RunRow, nodes: Sequence[SummaryNode], url_of) -> DrawnGraph:  # type: ignore[no-untyped-def]
    """The nodes on the numbers of the replay's messages; a parent lies over all that its sources cover.

    A summary that takes in the one before it on its own depth is drawn over what it added: it would hide the other.
    """
    last: dict[int, tuple[int, int]] = {}
    spans: dict[str, tuple[int, int]] = {}
    made = []
    for node in nodes:  # in the order they were made: sources come before what is made of them
        places = [int(seq) + 1 for seq in node.covers if seq.isdecimal()]
        below = [spans[name] for name in node.made_from if name in spans]
        starts = [min(places)] if places else []
        starts += [start for start, _ in below]
        ends = [max(places) + 1] if places else []
        ends += [end for _, end in below]
        span = (min(starts), max(ends)) if starts else None
        if span:
            spans[node.id] = span
            before = last.get(node.depth)
            last[node.depth] = span
            if before and span[0] <= before[0] and before[1] < span[1]:
                span = (before[1], span[1])
        made.append(
            DrawnNode(
                node.id, node.depth, span[0] if span else None, span[1] if span else None, node.tokens,
                tuple(node.made_from), bool(node.in_context), False, url_of(node.id),
            )
        )  # fmt: skip
    return DrawnGraph(made, "message", (1, run.message_count + 1))


def node_shown(place: LabPlace, columns: Sequence[Column]) -> NodeShown | None:
    """The summary that the address names, None where it names none; raises NotFound where it is not there."""
    if place.node is None:
        return None
    slot, name = place.node
    column = next((one for one in columns if one.slot == slot), None)
    if column is None or column.run is None:
        raise NotFound(f"The address names summary {name[:40]} of run {slot}, and no replay is compared in that place.")
    try:
        node = runs.get_node(column.run, name)
    except NotFound:
        raise NotFound(f"{column.sign} {column.name} has no summary {name[:40]}.") from None
    ref = node.given or node.text
    text, _ = open_text(ref, chars=SUMMARY_CHARS)
    facts = [
        f"depth {node.depth}", f"{words.tokens(node.tokens)} tokens as the engine counts",
        f"of {words.counted(len(node.covers), 'message')}" if node.covers else "",
        f"of {words.counted(len(node.made_from), 'summary', 'summaries')}" if node.made_from else "",
        "in the window at the end" if node.in_context else "replaced later",
    ]  # fmt: skip
    body = shown(text or "", chars=ref.chars, limit=SUMMARY_CHARS, most_bytes=SUMMARY_BYTES)
    return NodeShown(column, node.id, " · ".join(part for part in facts if part), body, place.url(node=None))
