"""Walks over a summary graph: right depths, what lies below a summary, cycles. Cycles never hang a walk."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.compaction import SummaryNode, SummaryStore


@dataclass(slots=True)
class Links:
    """A store's summaries by id, with their right depths and the cycles among them."""

    nodes: dict[str, SummaryNode]
    depths: dict[str, int] = field(default_factory=dict)
    cycles: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, store: SummaryStore) -> Links:
        """Build from a store; a summary id that occurs twice counts once, the first."""
        nodes: dict[str, SummaryNode] = {}
        for node in store.nodes:
            nodes.setdefault(node.id, node)
        links = cls(nodes)
        links._measure()
        return links

    def _measure(self) -> None:
        """Depths bottom up without recursion; a source that is still being measured closes a cycle."""
        for root in self.nodes:
            path: list[str] = []
            on_path: dict[str, int] = {}
            todo = [(root, False)]
            while todo:
                name, is_done = todo.pop()
                if is_done:
                    self.depths[name] = self._depth(self.nodes[name])
                    path.pop()
                    del on_path[name]
                elif name in on_path:
                    self.cycles.append(path[on_path[name] :])
                elif name in self.nodes and name not in self.depths:
                    on_path[name] = len(path)
                    path.append(name)
                    todo.append((name, True))
                    todo.extend((source, False) for source in reversed(self.nodes[name].made_from))

    def _depth(self, node: SummaryNode) -> int:
        if node.kind != "condensed":
            return 0
        return 1 + max((self.depths.get(source, 0) for source in node.made_from), default=0)

    def summaries_below(self, name: str) -> list[str]:
        """`name` and every summary it was made from, at any distance, each once, in order (depth first)."""
        seen: dict[str, None] = {}
        todo = [name]
        while todo:
            current = todo.pop()
            if current in seen or current not in self.nodes:
                continue
            seen[current] = None
            todo.extend(reversed(self.nodes[current].made_from))
        return list(seen)

    def messages_below(self, name: str) -> list[str]:
        """Every message `name` stands for, each once, in the order of its sources (sources before its own)."""
        found: dict[str, None] = {}
        seen: set[str] = set()
        todo = [(name, False)]
        while todo:
            current, is_done = todo.pop()
            node = self.nodes.get(current)
            if node is None:
                continue
            if is_done:
                found.update(dict.fromkeys(node.covers))
            elif current not in seen:
                seen.add(current)
                todo.append((current, True))
                todo.extend((source, False) for source in reversed(node.made_from))
        return list(found)

    def counts_below(self) -> dict[str, int]:
        """How many messages each summary stands for. Linear where no summary and no message has two users, as in
        every sound store; a graph that shares is counted exactly, summary by summary."""
        if self.cycles or self._shares():
            return {name: len(self.messages_below(name)) for name in self.nodes}
        counts: dict[str, int] = {}
        for root in self.nodes:
            todo = [(root, False)]
            while todo:
                name, is_done = todo.pop()
                if name in counts or name not in self.nodes:
                    continue
                node = self.nodes[name]
                if is_done:
                    below = sum(counts.get(source, 0) for source in set(node.made_from))
                    counts[name] = below + len(set(node.covers))
                else:
                    todo.append((name, True))
                    todo.extend((source, False) for source in node.made_from)
        return counts

    def _shares(self) -> bool:
        sources = [source for node in self.nodes.values() for source in set(node.made_from)]
        messages = [message for node in self.nodes.values() for message in set(node.covers)]
        return len(sources) != len(set(sources)) or len(messages) != len(set(messages))
