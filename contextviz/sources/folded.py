"""A host's window as a summary store folded it: folded messages out, the summaries that stand for them in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from contextviz.events.compaction import Compaction, SummaryStore
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem, ItemTable

ROLE_WORDS = {"toolResult": "tool"}
MAX_DEPTH = 64


@dataclass(slots=True)
class Anchors:
    """Which store row is which host message. `stored` maps host message indexes to store messages."""

    entries: dict[str, str] = field(default_factory=dict)
    stored: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, host: Transcript, store: SummaryStore) -> Anchors:
        """By the entry id that the store wrote, else by role and text in the order of both."""
        anchors = cls()
        by_entry: dict[str, int] = {}
        by_text: dict[tuple[str, bytes], list[int]] = {}
        for message in host.messages:
            if message.agent is None:
                for entry in (message.id, *message.entry_ids):
                    if entry is not None:
                        by_entry.setdefault(entry, message.index)
                for key in {(message.role, block.text.digest) for block in message.blocks if block.text.chars}:
                    by_text.setdefault(key, []).append(message.index)
        cursor = -1
        for row in store.messages:
            index = by_entry.get(row.transcript_entry or "")
            if index is None:
                places = by_text.get((ROLE_WORDS.get(row.role, row.role), row.text.digest), [])
                index = next((place for place in places if place > cursor), None)
            if index is None:
                continue
            cursor = max(cursor, index)
            anchors.stored.setdefault(index, row.id)
            entry = host.messages[index].id
            if entry is not None:
                anchors.entries[row.id] = entry
        return anchors

    def entry(self, item: str) -> str:
        """A store's context item in the host's words (`summary …` stays as it is)."""
        return self.entries.get(item, item)


class FoldedWindow:
    """The window of one agent, moved from call to call.

    The host's window mostly grows at its end, so only what is new in it is looked at; a fold looks at all again.
    """

    def __init__(self, table: ItemTable, store: SummaryStore, anchors: Anchors):
        self._table = table
        self._nodes = {node.id: node for node in store.nodes}
        self._leaf = {message: node.id for node in store.nodes for message in node.covers}
        self._stored = anchors.stored
        self._engine = store.engine
        self._order: list[str] = []
        self._places: dict[str, int] = {}
        self._frontier = -1
        self._source: list[int] = []
        self._shown: list[int] = []
        self._lengths: list[tuple[int, int]] = []
        self._emitted = 0
        self._calls: set[str] = set()

    def fold(self, compaction: Compaction) -> None:
        """Take the window after `compaction` (in the store's own ids) as what is folded from now on."""
        self._order = compaction.context_items
        self._places = {item: place for place, item in enumerate(self._order)}
        self._frontier = max(
            (index for index, row in self._stored.items() if self._place_of(row) is not None), default=-1
        )
        source, self._source = self._source, []
        self._shown, self._lengths, self._emitted, self._calls = [], [], 0, set()
        self._extend(source)

    def advance(self, keep: int, tail: Sequence[int]) -> list[int]:
        """The window of the next call, whose host window keeps `keep` items of the last one and adds `tail`."""
        if keep < len(self._source):
            for position in self._source[keep:]:
                self._calls.discard(self._table.items[position].tool_call_id or "")
            shown, self._emitted = self._lengths[keep]
            del self._source[keep:], self._lengths[keep:], self._shown[shown:]
        self._extend(tail)
        return self._with_one_date()

    def _extend(self, positions: Sequence[int]) -> None:
        for position in positions:
            self._lengths.append((len(self._shown), self._emitted))
            self._shown.extend(self._replaced(position))
            self._source.append(position)

    def _replaced(self, position: int) -> Iterator[int]:
        item = self._table.items[position]
        if item.role in ("system", "developer") or item.kind in ("system", "tools"):
            yield position
            return
        row = self._stored.get(item.message_index) if item.message_index is not None else None
        place = self._place_of(row) if row is not None else None
        if place is not None:
            yield from self._summaries_until(place + 1)
            yield from self._moved_runtime(item)
        elif row is None and item.message_index is not None and item.message_index <= self._frontier:
            return
        else:
            yield from self._summaries_until(self._places.get(row or "", len(self._order)))
            if item.kind == "tool_call":
                self._calls.add(item.tool_call_id or "")
            # A result whose call was folded is not sent: providers refuse it.
            if item.kind != "tool_result" or not item.tool_call_id or item.tool_call_id in self._calls:
                yield position

    def _place_of(self, row: str) -> int | None:
        """Where in the folded window the summary stands that covers a store message; None where none does."""
        if row in self._places:
            return None
        at = self._leaf.get(row)
        todo, steps = [at] if at is not None else [], 0
        while todo and steps < MAX_DEPTH:
            name = todo.pop()
            steps += 1
            place = self._places.get(f"summary {name}")
            if place is not None:
                return place
            node = self._nodes.get(name)
            todo.extend(node.consumers if node is not None else [])
        return None

    def _summaries_until(self, place: int) -> Iterator[int]:
        for entry in self._order[self._emitted : place]:
            node = self._nodes.get(entry.removeprefix("summary "))
            if node is not None:
                reason = f"summary of depth {node.depth} by {self._engine}"
                item = ContextItem(
                    "user", "summary", node.given or node.text, node.id, None, "summary", reason, "derived"
                )
                yield self._table.intern(item)
        self._emitted = max(self._emitted, place)

    def _moved_runtime(self, item: ContextItem) -> Iterator[int]:
        """The client's line behind the first user text moves to the first summary when that text is folded."""
        before = self._table.items[self._source[-1]] if self._source else None
        is_line = item.kind == "injected" and item.state == "derived"
        if is_line and before is not None and before.message_index == item.message_index and self._emitted == 1:
            yield self._table.intern(replace(item, entry=self._order[0].removeprefix("summary "), message_index=None))

    def _with_one_date(self) -> list[int]:
        """With the engine active only the newest user text keeps the date that the client writes before it."""
        items = self._table.items
        dates = [
            at
            for at, (first, second) in enumerate(zip(self._shown, self._shown[1:], strict=False))
            if items[first].kind == "injected"
            and items[first].state == "derived"
            and items[first].entry == items[second].entry
            and items[second].kind != "injected"
        ]
        old = set(dates[:-1])
        return [position for at, position in enumerate(self._shown) if at not in old] if old else list(self._shown)
