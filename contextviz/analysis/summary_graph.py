"""How a session's history was folded: the summary graph with its layout, and what each summary stands for.

A summary graph is already layered and its leaves are in the order of the transcript, so the layout is linear:
a leaf lies over the messages it covers, a parent over the mean of its sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextviz.analysis.recognised import add_recognised
from contextviz.analysis.summary_integrity import Integrity, integrity
from contextviz.analysis.summary_links import Links
from contextviz.events.compaction import Compaction, ContextRef, NodeKind, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.message import Message
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.text import TextRef, digest_of

__all__ = [
    "BandItem",
    "Child",
    "GraphNode",
    "Integrity",
    "SummaryGraph",
    "covered_messages",
    "graph",
    "graph_of",
    "integrity",
    "rolling_store",
]

NOTHING = TextRef(digest_of(""), 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Child:
    """What lies directly under a summary: a summary it was made from, or a message it covers."""

    kind: Literal["summary", "message"]
    id: str


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One summary in the picture. `x` (its middle) and `width` are shares of the session's messages, 0 to 1; `y` is
    its right depth, 0 at the messages. `covers` counts the messages it stands for at any distance."""

    id: str
    kind: NodeKind
    depth: int
    stored_depth: int | None
    x: float
    y: int
    width: float
    covers: int
    tokens: int | None
    in_context: bool
    model: str | None
    earliest_at: datetime | None
    latest_at: datetime | None
    created_at: datetime | None
    made_from: tuple[str, ...]
    consumers: tuple[str, ...]
    text: TextRef
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BandItem:
    """One item of the current context, in order; `x` and `width` as in GraphNode, `depth` None for a message."""

    kind: Literal["message", "summary"]
    id: str
    x: float
    width: float
    depth: int | None
    tokens: int | None


@dataclass(slots=True)
class SummaryGraph:
    """The picture: nodes in the order they were made, `edges` as (source, consumer), the lit band, findings."""

    engine: str
    nodes: list[GraphNode]
    edges: list[tuple[str, str]]
    band: list[BandItem]
    findings: list[ReadProblem]
    max_depth: int
    message_count: int
    _links: Links = field(repr=False, default_factory=lambda: Links({}))

    def node(self, node_id: str) -> GraphNode | None:
        """The node of that id, or None."""
        return next((node for node in self.nodes if node.id == node_id), None)

    def expand(self, node_id: str) -> list[Child]:
        """What lies directly under a summary, in order: the summaries it was made from, then the messages it
        covers itself. Empty for an unknown id. A leaf's children are messages, so every node opens to messages."""
        node = self._links.nodes.get(node_id)
        if node is None:
            return []
        return [Child("summary", name) for name in node.made_from] + [Child("message", name) for name in node.covers]

    def covered_messages(self, node_id: str) -> list[str]:
        """Ids of all messages a summary stands for, at any distance, in order, each once."""
        return self._links.messages_below(node_id)


def covered_messages(store: SummaryStore, node_id: str) -> list[str]:
    """Ids of all messages that a summary of `store` stands for, at any distance, in order, each once."""
    return Links.of(store).messages_below(node_id)


def graph_of(transcript: Transcript) -> SummaryGraph:
    """A session's graph: of its store where it has one, else of its compactions (engines.md 8.2, kind rolling)."""
    return graph(transcript.store if transcript.store is not None else rolling_store(transcript))


def graph(store: SummaryStore) -> SummaryGraph:
    """Lay out a store's summaries, linear in nodes, links and covered messages; cycles and lost links do no harm."""
    links = Links.of(store)
    checked = integrity(store)
    place = {message.id: at for at, message in enumerate(store.messages)}
    spans = _spans(store, links, place)
    by_node: dict[str, list[str]] = {}
    for finding in checked.findings:
        if finding.entry is not None:
            by_node.setdefault(finding.entry, []).append(finding.message)
    for name in checked.overlapping_summaries:
        by_node.setdefault(name, []).append("a summary in the context covers it too")
    count = max(len(store.messages), 1)
    nodes = [
        _node(node, links.depths[node.id], spans[node.id], count, checked.covers[node.id], by_node.get(node.id, []))
        for node in links.nodes.values()
    ]
    edges = [(name, node.id) for node in links.nodes.values() for name in node.made_from if name in links.nodes]
    band = _band(store, nodes, place, count)
    deepest = max(links.depths.values(), default=0)
    return SummaryGraph(store.engine, nodes, edges, band, checked.findings, deepest, len(store.messages), links)


def _spans(store: SummaryStore, links: Links, place: dict[str, int]) -> dict[str, tuple[float, int]]:
    """Middle (in messages) and number of messages of each node: leaves by what they cover, parents by the mean of
    their sources. A node with neither stands where a message is it, else behind the one made before it."""
    spans: dict[str, tuple[float, int]] = {}
    told = {message.text.digest: at for at, message in enumerate(store.messages) if message.text.chars}
    behind = 0.0
    for node in sorted(links.nodes.values(), key=lambda one: links.depths[one.id]):
        own = [place[name] for name in node.covers if name in place]
        below = [spans[name] for name in node.made_from if name in spans]
        size = len(own) + sum(span[1] for span in below)
        if own and node.kind != "rolling":
            middle = (min(own) + max(own) + 1) / 2
        elif own:
            middle = float(max(own) + 1)
        elif below:
            middle = sum(span[0] for span in below) / len(below)
        elif node.text.digest in told:
            middle = told[node.text.digest] + 0.5
        else:
            middle = min(behind + 1.0, float(max(len(store.messages), 1)))
        behind = middle
        spans[node.id] = (middle, size)
    return spans


def _node(
    node: SummaryNode, depth: int, span: tuple[float, int], count: int, covers: int, findings: Sequence[str]
) -> GraphNode:
    return GraphNode(
        node.id, node.kind, depth, node.stored_depth, min(span[0] / count, 1.0), depth, min(span[1] / count, 1.0),
        covers, node.tokens, node.in_context, node.model, node.earliest_at, node.latest_at, node.created_at,
        tuple(node.made_from), tuple(node.consumers), node.text, tuple(findings),
    )  # fmt: skip


def _band(store: SummaryStore, nodes: Sequence[GraphNode], place: dict[str, int], count: int) -> list[BandItem]:
    known = {node.id: node for node in nodes}
    tokens = {message.id: message.tokens for message in store.messages}
    band: list[BandItem] = []
    for item in store.context:
        node = known.get(item.id) if item.kind == "summary" else None
        if node is not None:
            band.append(BandItem("summary", item.id, node.x, node.width, node.depth, node.tokens))
        elif item.kind == "message" and item.id in place:
            middle = (place[item.id] + 0.5) / count
            band.append(BandItem("message", item.id, middle, 1 / count, None, tokens.get(item.id)))
    return band


def rolling_store(transcript: Transcript) -> SummaryStore:
    """The rolling graph of a session without a store: each summary is made from the one before it and the messages
    that its compaction dropped. Only the main agent's active path counts; a reset starts the chain anew. Summaries that
    an engine left in the messages stand beside them."""
    messages = [one for one in transcript.messages if one.agent is None and one.on_active_path and one.id is not None]
    store = SummaryStore("rolling", transcript.files[0] if transcript.files else "", [transcript.session.id])
    store.messages = [
        StoreMessage(
            one.id or "", transcript.session.id, one.index, one.native_role,
            one.blocks[0].text if one.blocks else NOTHING,
            sum(block.text.estimated_tokens for block in one.blocks), one.at,
        )
        for one in messages
    ]  # fmt: skip
    folded: set[str] = set()
    latest: SummaryNode | None = None
    for compaction in transcript.compactions:
        if compaction.agent is not None or not compaction.on_active_path:
            continue
        dropped = _dropped(compaction, transcript, folded)
        folded.update(dropped)
        if compaction.kind == "reset":
            latest = None
        elif compaction.summary is not None:
            latest = _rolling(compaction, latest, dropped)
            store.nodes.append(latest)
    if latest is not None:
        latest.in_context = True
        store.context.append(ContextRef("summary", latest.id))
    rest = [ContextRef("message", one.id) for one in store.messages if one.id not in folded]
    store.context.extend(rest)
    add_recognised(store, transcript)
    return store


def _rolling(compaction: Compaction, latest: SummaryNode | None, dropped: list[str]) -> SummaryNode:
    name = compaction.id or f"compaction-{compaction.number}"
    node = SummaryNode(
        name, "rolling", 0, None, compaction.summary.estimated_tokens if compaction.summary else None,
        compaction.summary or NOTHING, [latest.id] if latest is not None else [], covers=dropped,
        created_at=compaction.at,
    )  # fmt: skip
    if latest is not None:
        latest.consumers.append(name)
    return node


def _stands_before(compaction: Compaction, transcript: Transcript) -> int:
    """The index of the first message that came after a compaction: by what the reader says, else by line, else by
    time (rows of a store have no lines), else the answer of the first call after it."""
    if compaction.message_index is not None:
        return compaction.message_index
    later = next((one.index for one in transcript.messages if _is_later(one, compaction)), None)
    if later is not None:
        return later
    index = transcript.calls[compaction.after_call].message_index if compaction.after_call is not None else None
    return index if index is not None else len(transcript.messages)


def _is_later(message: Message, compaction: Compaction) -> bool:
    if compaction.line is not None:
        return message.file == compaction.file and message.line is not None and message.line > compaction.line
    return compaction.at is not None and message.at is not None and message.at > compaction.at


def _dropped(compaction: Compaction, transcript: Transcript, folded: set[str]) -> list[str]:
    """The messages that stood before a compaction and were not kept by it, nor folded by an earlier one."""
    end = _stands_before(compaction, transcript)
    kept = set(compaction.kept) | set(compaction.context_items)
    dropped: list[str] = []
    for message in transcript.messages[:end]:
        if message.id is None or message.agent is not None or not message.on_active_path:
            continue
        if message.id == compaction.first_kept and not compaction.kept:
            break
        if message.id not in folded and kept.isdisjoint((message.id, *message.entry_ids)):
            dropped.append(message.id)
    return dropped
