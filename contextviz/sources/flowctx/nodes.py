"""flowctx's summary nodes of one session as a summary store (engines.md 3.5, 3.6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextviz.events.compaction import ContextRef, SummaryNode, SummaryStore
from contextviz.events.problem import ReadProblem
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.sources.plain.load import NotReadable, loads
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

ENGINE = "flowctx"


@dataclass(slots=True)
class NodeReading:
    """A session's store with what is wrong in it. `turns` are the turns that each node covers."""

    store: SummaryStore
    problems: list[ReadProblem] = field(default_factory=list)
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)


def read_nodes(session: str, value: str, file: str, pool: TextPool) -> NodeReading:
    """Read the JSON value of one session. A node that no other was made from is in the context, oldest turns first."""
    reading = NodeReading(SummaryStore(ENGINE, file, [session]))
    try:
        parsed, _ = loads(value.encode("utf-8", errors="replace"))
    except NotReadable:
        text = f"the summary nodes of {session[:80]} are not JSON"
        reading.problems.append(ReadProblem("malformed_line", text, "error", file, None, session[:200]))
        return reading
    if not isinstance(parsed, list):
        text = f"the summary nodes of {session[:80]} are not a list"
        reading.problems.append(ReadProblem("malformed_line", text, "error", file, None, session[:200]))
    nodes: dict[str, SummaryNode] = {}
    for number, item in enumerate(as_list(parsed), start=1):
        node = _node(as_dict(item), number, session, reading, pool)
        if node is not None and node.id in nodes:
            text = f"the node {node.id[:80]} of {session[:80]} is there twice; the later one counts"
            reading.problems.append(ReadProblem("duplicate_id", text, "warning", file, None, node.id))
        if node is not None:
            nodes[node.id] = node
    reading.store.nodes = list(nodes.values())
    _link(nodes, reading)
    return reading


def _node(value: dict[str, Any], number: int, session: str, reading: NodeReading, pool: TextPool) -> SummaryNode | None:
    name = as_id(value.get("id"))
    if name is None:
        text = f"entry {number} of the summary nodes of {session[:80]} has no id and is not shown"
        reading.problems.append(ReadProblem("malformed_entry", text, "warning", reading.store.file, None, None, number))
        return None
    depth = as_int(value.get("depth"))
    sources = [child for child in as_list(value.get("childIds")) if isinstance(child, str)]
    first, last = as_int(value.get("coverStartTurn")), as_int(value.get("coverEndTurn"))
    if first is not None and last is not None:
        reading.turns[name] = (first, last)
    return SummaryNode(
        name, "condensed" if sources or depth else "leaf", depth or 0, depth, as_int(value.get("estTokens")),
        pool.put(as_text(value.get("content")) or ""), made_from=sources, model=as_text(value.get("model")),
        created_at=instant(value.get("createdAtMs")), conversation=session,
    )  # fmt: skip


def _link(nodes: dict[str, SummaryNode], reading: NodeReading) -> None:
    for node in nodes.values():
        for child in node.made_from:
            if child in nodes and child != node.id:
                nodes[child].consumers.append(node.id)
    late = 2**62
    active = [node for node in nodes.values() if not node.consumers]
    active.sort(key=lambda node: reading.turns.get(node.id, (late, late)))
    for node in active:
        node.in_context = True
        reading.store.context.append(ContextRef("summary", node.id))
    covered = [turns for name, turns in reading.turns.items() if name in nodes]
    reading.store.facts["first_turn"] = min((first for first, _ in covered), default=None)
    reading.store.facts["last_turn"] = max((last for _, last in covered), default=None)
