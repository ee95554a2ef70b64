"""The summary graph of a session, with the pane of one node."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.analysis.summary_graph import GraphNode, SummaryGraph
from contextviz.charts.words import counted
from contextviz.events.masking import holds_secrets
from contextviz.events.problem import ReadProblem
from contextviz.store.values import JobRow, SessionRow
from contextviz.web.pages.compaction.boundary import StripFacts
from contextviz.web.pages.graph.drawing import Drawing, draw
from contextviz.web.pages.graph.lens import Lens
from contextviz.web.pages.graph.outline import GraphReading
from contextviz.web.pages.held import open_text, title_of
from contextviz.web.pages.tabs import Tab, session_tabs

TEXT_CHARS = 6_000
MOST_TEXT_CHARS = 400_000
TWIN_ROWS = 100
MOST_FINDINGS = 50


@dataclass(frozen=True, slots=True)
class NodeLink:
    """Another node."""

    # The store's own id
    id: str
    # Opens it
    url: str


@dataclass(frozen=True, slots=True)
class NodePane:
    """The selected node."""

    # The store's own id
    id: str
    # "leaf, depth 0"
    says: str
    # Whether it is in the window now
    is_lit: bool
    # Its text and whether that is cut; None where it is not held.
    text: str | None
    is_cut: bool
    # The whole text
    whole_url: str
    # Messages it stands for, at any distance; None where its text says nothing of them
    covers: int | None
    # Its own tokens, and those of the messages it stands for; None where not known
    tokens: int | None
    stands_for: int | None
    # Messages' tokens ÷ its own
    ratio: float | None
    # What it was folded into and what it was made from
    consumers: list[NodeLink]
    made_from: list[NodeLink]
    # When it was made and what it covers in time; None where the store does not say
    created_at: datetime | None
    earliest_at: datetime | None
    latest_at: datetime | None
    # Who wrote it, None where the store does not say
    model: str | None
    # The depth the store wrote where it differs, else None
    stored_depth: int | None
    # What is wrong with it
    findings: list[str]
    # Where the expand form goes
    expand_url: str
    # Where its masked values are asked for, "" where none is masked
    unmask_url: str
    # Whether its text is one of a store or of the session's own compaction
    is_rolling: bool


@dataclass(frozen=True, slots=True)
class WindowPart:
    """A line of the window as it is now."""

    # The category's key
    category: str
    # "2 nodes at depth 1"
    says: str
    # Tokens by the store's own count, None where one is not known
    tokens: int | None


@dataclass(frozen=True, slots=True)
class TwinRow:
    """A node as a table row."""

    # The store's own id
    id: str
    # Opens it
    url: str
    # leaf, condensed, rolling
    kind: str
    # Its right depth
    depth: int
    # Messages it stands for, None where its text says nothing of them
    covers: int | None
    # Stored tokens
    tokens: int | None
    # Whether it is in the window now
    is_lit: bool
    # Ids of what it was made from
    made_from: str
    # What is wrong with it
    findings: str


@dataclass(frozen=True, slots=True)
class GraphPage:
    """The page."""

    # The session
    row: SessionRow
    # The session's name
    title: str
    # The session's tabs
    tabs: list[Tab]
    # The strip above, None for a session without calls
    strip: StripFacts | None
    # The engine that folded, "rolling" for the session's own compactions; "" where there is no graph
    engine: str
    # The picture, None where there is no graph
    drawing: Drawing | None
    # The selected node
    node: NodePane | None
    # Said where the query names a node that is not there
    missing_node: str
    # The window now, by depth, and its tokens
    window: list[WindowPart]
    window_tokens: int | None
    # Integrity
    findings: list[ReadProblem]
    more_findings: int
    # Nodes and messages that were checked, "" where the session is too long to check on a page
    checked: str
    # One page of the table twin, the number of nodes, and neighbouring pages
    twin: list[TwinRow]
    twin_total: int
    twin_first: int
    twin_previous: str
    twin_next: str
    # Whether the table twin is open
    is_twin_open: bool
    # The expand job that the query names, and what it found
    job: JobRow | None
    lens: Lens | None
    # Asks for the job again
    job_url: str


def graph_page(
    row: SessionRow,
    reading: GraphReading | None,
    *,
    node_id: str = "",
    whole_text: bool = False,
    twin_page: int = 0,
    job: JobRow | None = None,
    lens: Lens | None = None,
) -> GraphPage:
    """The page; `node_id` selects a node, `twin_page` opens the table at a page, `job` is its expand job."""
    found = reading.graph if reading is not None else None
    node = found.node(node_id) if found is not None and node_id else None
    rows, first, previous, after = _twin(found, max(twin_page, 1))
    window = _window(found) if found is not None else []
    tokens = [part.tokens for part in window]
    findings = found.findings if found is not None else []
    return GraphPage(
        row=row,
        title=title_of(row),
        tabs=session_tabs(row, "graph"),
        strip=_strip(row),
        engine=(found.engine if reading and reading.source == "store" else "rolling") if found is not None else "",
        drawing=draw(reading, node_id) if reading is not None and reading.graph.nodes else None,
        node=_pane(row, reading, node, whole=whole_text) if reading is not None and node is not None else None,
        missing_node=node_id[:80] if node_id and node is None else "",
        window=window,
        window_tokens=sum(one or 0 for one in tokens) if tokens and None not in tokens else None,
        findings=findings[:MOST_FINDINGS],
        more_findings=max(0, len(findings) - MOST_FINDINGS),
        checked=_checked(found) if reading is not None and reading.is_checked and found is not None else "",
        twin=rows,
        twin_total=len(found.nodes) if found is not None else 0,
        twin_first=first,
        twin_previous=previous,
        twin_next=after,
        is_twin_open=twin_page > 0,
        job=job,
        lens=lens,
        job_url=f"{reverse('graph', args=[row.id])}?{urlencode({'node': node_id, 'job': str(job.id)})}" if job else "",
    )


def _strip(row: SessionRow) -> StripFacts | None:
    if not row.call_count:
        return None
    text = f"call {row.call_count} of {row.call_count}"
    return StripFacts(
        reverse("strip_figure", args=[row.id]), row.call_count, None, row.call_count, text, [],
        f"Window tokens over {row.call_count:,} calls.",
    )  # fmt: skip


def _link(node_id: str) -> NodeLink:
    return NodeLink(node_id, "?" + urlencode({"node": node_id}) + "#node")


def _covers(node: GraphNode) -> int | None:
    """What a summary stands for. One that was recognised in a message mostly does not say."""
    return None if node.kind == "rolling" and not node.covers else node.covers


def _pane(row: SessionRow, reading: GraphReading, node: GraphNode, *, whole: bool) -> NodePane:
    text, is_cut = open_text(node.text, chars=MOST_TEXT_CHARS if whole else TEXT_CHARS)
    covered = [reading.tokens.get(name) for name in reading.graph.covered_messages(node.id)]
    stands_for = sum(one or 0 for one in covered) if covered and None not in covered else None
    return NodePane(
        node.id, f"{node.kind}, depth {node.depth}", node.in_context, text, is_cut,
        "?" + urlencode({"node": node.id, "text": "all"}) + "#node",
        _covers(node), node.tokens, stands_for,
        stands_for / node.tokens if stands_for and node.tokens else None,
        [_link(name) for name in node.consumers[:20]], [_link(name) for name in node.made_from[:60]],
        node.created_at, node.earliest_at, node.latest_at, node.model,
        node.stored_depth if node.stored_depth not in (None, node.depth) else None,
        list(node.findings), reverse("graph_expand", args=[row.id, node.id]),
        _unmask_url(row.id, node) if text and holds_secrets(text) else "", node.kind == "rolling",
    )  # fmt: skip


def _unmask_url(session_id: int, node: GraphNode) -> str:
    # A rolling summary is in no store; as a text it has its hash.
    if node.kind == "rolling":
        return reverse("unmask_original", args=[node.text.sha256])
    return reverse("unmask_summary", args=[session_id, node.id])


def _window(found: SummaryGraph) -> list[WindowPart]:
    by_depth: dict[int, list[int | None]] = {}
    messages: list[int | None] = []
    for item in found.band:
        (by_depth.setdefault(item.depth, []) if item.depth is not None else messages).append(item.tokens)
    parts = [
        WindowPart("summary", counted(len(tokens), "summary", "summaries") + _at(found, depth), _sum(tokens))
        for depth, tokens in sorted(by_depth.items(), reverse=True)
    ]
    if messages:
        parts.append(WindowPart("result", f"{counted(len(messages), 'message')}, verbatim", _sum(messages)))
    return parts


def _at(found: SummaryGraph, depth: int) -> str:
    return "" if found.engine == "rolling" else f" at depth {depth}"


def _sum(tokens: list[int | None]) -> int | None:
    return None if None in tokens else sum(one or 0 for one in tokens)


def _checked(found: SummaryGraph) -> str:
    return f"{counted(len(found.nodes), 'summary', 'summaries')}, {counted(found.message_count, 'message')} checked"


def _twin(found: SummaryGraph | None, page: int) -> tuple[list[TwinRow], int, str, str]:
    nodes = found.nodes if found is not None else []
    pages = max(1, -(-len(nodes) // TWIN_ROWS))
    number = min(page, pages)
    start = (number - 1) * TWIN_ROWS
    rows = [
        TwinRow(
            node.id, _link(node.id).url, node.kind, node.depth, _covers(node), node.tokens, node.in_context,
            ", ".join(node.made_from[:8]) + (f" and {len(node.made_from) - 8} more" if len(node.made_from) > 8 else ""),
            "; ".join(node.findings[:3]),
        )
        for node in nodes[start : start + TWIN_ROWS]
    ]  # fmt: skip
    return (
        rows,
        start + 1 if rows else 0,
        f"?table={number - 1}#table" if number > 1 else "",
        f"?table={number + 1}#table" if number < pages else "",
    )
