"""Where a session holds its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from contextviz.events.message import Message
from contextviz.events.session import Transcript
from contextviz.store.models.search import PlaceRecord
from contextviz.store.rows.table import Row, Table

PLACE_COLUMNS = (
    "text_id", "kind", "role", "tool", "agent", "at", "message_index", "call_index", "place", "is_in_window",
)  # fmt: skip
PLACES = Table[Row](PlaceRecord, PLACE_COLUMNS, lambda row: row, lambda row: row)
_KINDS = {"tool_call": "tool_call", "tool_result": "tool_result", "summary": "summary"}


class Places:
    """The places of one transcript; `ids` are its texts' primary keys by digest."""

    def __init__(self, transcript: Transcript, ids: Mapping[bytes, int]) -> None:
        self._transcript = transcript
        self._ids = ids
        self._windows = Windows(transcript)
        self._seen: set[bytes] = set()

    def rows(self) -> Iterator[Row]:
        """Every place, messages first, in an order that a longer version of the file keeps."""
        yield from self._of_messages()
        yield from self._of_compactions()
        yield from self._of_store()
        yield from self._of_items()
        for topic in self._transcript.topics:
            for note in (topic.thread, topic.status_note):
                if note is not None and note.size:
                    yield self._row(note.digest, "note", at=topic.last_active_at)

    def _row(
        self, digest: bytes, kind: str, role: str = "", tool: str = "", agent: str | None = None,
        at: datetime | None = None, message: int | None = None, call: int | None = None, place: int | None = None,
        held: bool | None = None,
    ) -> Row:  # fmt: skip
        self._seen.add(digest)
        return (self._ids[digest], kind, role, tool, agent or "", at, message, call, place, held)

    def _of_messages(self) -> Iterator[Row]:
        tools: dict[str, str] = {}
        numbers = {one.summary.digest: one.number for one in self._transcript.compactions if one.summary is not None}
        for message, call in zip(self._transcript.messages, _calls(self._transcript.messages), strict=True):
            here: set[bytes] = set()
            for block in message.blocks:
                digest = block.text.digest
                if digest in here or not block.text.size:
                    continue
                here.add(digest)
                tool = block.tool_name or ""
                if block.tool_call_id:
                    tool = tools.setdefault(block.tool_call_id, tool) or tool
                kind = _KINDS.get(block.kind, "message")
                number = numbers.get(digest) if kind == "summary" else None
                yield self._row(
                    digest, kind, message.role, tool, message.agent, message.at, message.index, call,
                    number, self._windows.holds(message, digest),
                )  # fmt: skip

    def _of_compactions(self) -> Iterator[Row]:
        for one in self._transcript.compactions:
            if one.summary is None or not one.summary.size or one.summary.digest in self._seen:
                continue
            held = self._windows.holds_text(one.agent, one.summary.digest, f"summary {one.id}")
            yield self._row(
                one.summary.digest, "summary", "", "", one.agent, one.at, one.message_index, one.after_call,
                one.number, held,
            )  # fmt: skip

    def _of_store(self) -> Iterator[Row]:
        store = self._transcript.store
        if store is None:
            return
        for at, node in enumerate(store.nodes):
            if node.text.size:
                yield self._row(node.text.digest, "node", at=node.created_at, place=at, held=node.in_context)
        held = {one.id for one in store.context if one.kind == "message"}
        for one in store.messages:
            if one.text.size and one.text.digest not in self._seen:
                yield self._row(one.text.digest, "original", one.role, at=one.at, held=one.id in held)

    def _of_items(self) -> Iterator[Row]:
        for at, item in enumerate(self._transcript.log.table.items):
            if item.text.size and item.text.digest not in self._seen:
                held = self._windows.holds_text(None, item.text.digest)
                yield self._row(item.text.digest, "context", item.role, item.tool_name or "", place=at, held=held)


def _calls(messages: Sequence[Message]) -> list[int | None]:
    """Of each message the call that gave it, else the next of its window: the first that was given it."""
    following: dict[str | None, int] = {}
    found: list[int | None] = []
    for message in reversed(messages):
        if message.call_index is not None:
            following[message.agent] = message.call_index
        found.append(following.get(message.agent))
    found.reverse()
    return found


class Windows:
    """What the last call of each window was given, and what came after it."""

    def __init__(self, transcript: Transcript) -> None:
        self._at_end = frozenset(transcript.context_at_end)
        self._held: dict[str | None, set[bytes]] = {}
        self._tail: dict[str | None, int] = {}
        last: dict[str | None, int] = {}
        for position, snapshot in enumerate(transcript.log.snapshots):
            last[transcript.calls[snapshot.call_index].agent] = position
        for agent, position in last.items():
            # Not the items: a window may hold most of a session's, and a list of them is megabytes.
            items = transcript.log.table.items
            self._held[agent] = {items[number].text.digest for number in transcript.log.positions(position)}
            answer = transcript.calls[transcript.log.snapshots[position].call_index].message_index
            if answer is not None:
                self._tail[agent] = answer
        for one in transcript.compactions:  # a compaction after the last call: what came before it is gone
            if one.agent in self._tail and one.message_index is not None:
                self._tail[one.agent] = max(self._tail[one.agent], one.message_index)

    def holds(self, message: Message, digest: bytes) -> bool | None:
        """Whether the window holds a message's text: the last call was given it, or it came after."""
        if message.agent is None and self._at_end:
            return message.id in self._at_end or not self._at_end.isdisjoint(message.entry_ids)
        held = self._held.get(message.agent)
        if held is None:
            return None
        return digest in held or (message.on_active_path and message.index >= self._tail.get(message.agent, 2**62))

    def holds_text(self, agent: str | None, digest: bytes, name: str = "") -> bool | None:
        """Whether a window holds a text that is no message's; `name` is what `context_at_end` calls it."""
        if name in self._at_end:
            return True
        held = self._held.get(agent)
        return None if held is None else digest in held
