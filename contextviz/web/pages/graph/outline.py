"""What is read of a graph; and the graph of a long session from its compactions alone.

Rebuilding every fold of a session of 60,000 messages takes seconds, which an expand job may take and a page may not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contextviz.analysis.recognised import node_of, recognised_summaries
from contextviz.analysis.summary_graph import BandItem, GraphNode, SummaryGraph
from contextviz.events.compaction import Compaction
from contextviz.store.queries import calls, engine_events, messages

MOST_BUCKETS = 240
MOST_RECOGNISED = 500


@dataclass(frozen=True, slots=True)
class Bucket:
    """Neighbouring messages of the lane, drawn as one bar."""

    # Where it begins, a share of the session's messages from 0 to 1
    start: float
    # Its tokens' share of the largest bucket's, 0 to 1
    height: float
    # The category of its largest message, for the colour
    category: str
    # Whether one of its messages is in the window now
    is_lit: bool


@dataclass(frozen=True, slots=True)
class GraphReading:
    """The graph, its message lane, and tokens by message."""

    # Nodes, edges, the lit band, findings
    graph: SummaryGraph
    # The message lane
    buckets: list[Bucket]
    # "store" where an engine wrote it, "rolling" where it follows from the session's own compactions
    source: str
    # Message tokens by id: for what a node stands for
    tokens: dict[str, int | None]
    # Whether messages were read one by one; if not, nothing is said of their soundness
    is_checked: bool


def outline(session_id: int, message_count: int) -> GraphReading:
    """The rolling graph by the places of the compactions, messages not read: a summary stands for what is before the
    first message that its compaction kept. Node ids are those of analysis.summary_graph; summaries that an engine left
    in messages stand beside them. Four queries at most."""
    own = [one for one in calls.compactions(session_id, with_lists=False) if one.agent is None and one.on_active_path]
    kept = messages.indexes_of_entries(session_id, [one.first_kept for one in own if one.first_kept])
    count = max(message_count, 1)
    nodes: list[GraphNode] = []
    edges: list[tuple[str, str]] = []
    end, begin = 0, 0
    before: str | None = None
    for one in own:
        end = max(end, _end(one, kept, end))
        if one.kind == "reset":
            before, begin = None, end
        elif one.summary is not None:
            node = _node(one, end, begin, count, before)
            if before is not None:
                edges.append((before, node.id))
            nodes.append(node)
            before = node.id
    latest = nodes[-1] if nodes and nodes[-1].id == before else None
    band = [BandItem("message", "", (at + 0.5) / count, 1 / count, None, None) for at in range(end, count)]
    if latest is not None:
        nodes[-1] = replace(latest, in_context=True)
        band.insert(0, BandItem("summary", latest.id, latest.x, latest.width, 0, latest.tokens))
    nodes.extend(_recognised(session_id, {node.text.digest for node in nodes}, end, count))
    found = SummaryGraph("rolling", nodes, edges, band, [], 0, message_count)
    return GraphReading(found, _flat(end / count), "rolling", {}, is_checked=False)


def _end(one: Compaction, kept: dict[str, int], fallback: int) -> int:
    if one.first_kept in kept and one.first_kept is not None:
        return kept[one.first_kept]
    return one.message_index if one.message_index is not None else fallback


def _node(one: Compaction, end: int, begin: int, count: int, before: str | None) -> GraphNode:
    assert one.summary is not None
    covers = end - begin
    return GraphNode(
        one.id or f"compaction-{one.number}", "rolling", 0, None, end / count, 0, covers / count, covers,
        one.summary.estimated_tokens, False, None, None, None, one.at, () if before is None else (before,), (),
        one.summary,
    )  # fmt: skip


def _recognised(session_id: int, known: set[bytes], end: int, count: int) -> list[GraphNode]:
    """The summaries in messages, each where its message is; what they stand for is not gone into here."""
    events = engine_events.artefacts(session_id, type="summary.created", limit=MOST_RECOGNISED)
    wanted = [int(event.data["message"] or 0) for event in events]
    found = recognised_summaries(events, messages.messages_at(session_id, wanted) if wanted else {})
    names = {str(one.event.data["id"]) for one in found}
    made = [(node_of(one, names), one.message.index) for one in found]
    return [
        GraphNode(
            node.id, "rolling", 0, None, (index + 0.5) / count, 0, 0.0, 0, node.tokens, index >= end, None, None, None,
            node.created_at, (), (), node.text,
        )
        for node, index in made if node.text.digest not in known
    ]  # fmt: skip


def _flat(lit_from: float) -> list[Bucket]:
    """A lane of even bars: how large each message is was not read."""
    return [Bucket(at / MOST_BUCKETS, 0.4, "system", at / MOST_BUCKETS >= lit_from) for at in range(MOST_BUCKETS)]
