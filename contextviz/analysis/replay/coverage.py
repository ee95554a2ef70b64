"""Is what left the window accounted for: each dropped message under exactly one summary (metrics.md section 6)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from contextviz.analysis.summary_links import Links
from contextviz.events.compaction import SummaryStore
from contextviz.events.run import Run

MOST_SHOWN = 20


@dataclass(slots=True)
class Coverage:
    """The messages that boundaries dropped, by how many ways lead to them from the summaries that still stand.

    `gaps` have none, `overlaps` several: the first MOST_SHOWN seqs of each, with `gap_count` and `overlap_count` for
    all. `is_told` is False where summaries were made and nothing says of which messages. `depth` is the deepest
    summary's, `fan_in` the largest number of messages and summaries one was made from.
    """

    dropped: int = 0
    once: int = 0
    gap_count: int = 0
    overlap_count: int = 0
    gaps: list[int] = field(default_factory=list)
    overlaps: list[int] = field(default_factory=list)
    cycles: list[list[str]] = field(default_factory=list)
    depth: int | None = None
    fan_in: int | None = None
    is_told: bool = True

    @property
    def share(self) -> float | None:
        """Covered exactly once ÷ dropped; None where no boundary dropped anything, or where it cannot be told."""
        return self.once / self.dropped if self.dropped and self.is_told else None


def coverage(run: Run) -> Coverage:
    """What stands for the dropped messages at the end of a run.

    Summaries that were replaced without being folded into another stand for nothing; what lies on a cycle is covered
    by nothing, since no way to it ends.
    """
    links = Links.of(SummaryStore(run.engine, "", nodes=run.nodes))
    covered: Counter[str] = Counter()
    for name, number in _ways(links).items():
        for message in dict.fromkeys(links.nodes[name].covers):
            covered[message] += number
    dropped = sorted({seq for boundary in run.boundaries for seq in boundary.dropped})
    gaps = [seq for seq in dropped if not covered[str(seq)]]
    overlaps = [seq for seq in dropped if covered[str(seq)] > 1]
    made = Coverage(
        len(dropped), len(dropped) - len(gaps) - len(overlaps), len(gaps), len(overlaps), gaps[:MOST_SHOWN],
        overlaps[:MOST_SHOWN], links.cycles,
    )  # fmt: skip
    summaries = [one for one in run.boundaries if one.compaction.kind == "summary" or one.compaction.summary]
    made.is_told = bool(links.nodes) or not summaries
    if links.nodes:
        made.depth = max(node.depth for node in links.nodes.values())
        made.fan_in = max(len(node.made_from) + len(node.covers) for node in links.nodes.values())
    return made


def _ways(links: Links) -> Counter[str]:
    """How many ways lead to each summary from those that stand; no summary on a cycle has any."""
    cyclic = {name for cycle in links.cycles for name in cycle}
    ways = Counter({name: 1 for name, node in links.nodes.items() if node.in_context and name not in cyclic})
    for name in _from_above(links, cyclic):
        for source in links.nodes[name].made_from:
            if source in links.nodes and source not in cyclic:
                ways[source] += ways[name]
    return ways


def _from_above(links: Links, cyclic: set[str]) -> list[str]:
    """Summaries in an order in which each comes before everything that it was made from."""
    order: list[str] = []
    done: set[str] = set(cyclic)
    for root in links.nodes:
        todo = [(root, False)]
        while todo:
            name, is_left = todo.pop()
            if is_left:
                order.append(name)
            elif name not in done and name in links.nodes:
                done.add(name)
                todo.append((name, True))
                todo.extend((source, False) for source in links.nodes[name].made_from)
    return order[::-1]
