"""Windows from the requests that the client writes down (formats.md I): exact, or partial with a note."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from contextviz.events.message import Block
from contextviz.events.snapshot import ContextItem, ItemTable
from contextviz.events.text import TextRef
from contextviz.sources.claude_code.chain import Chain
from contextviz.sources.claude_code.load import Blob, Loaded, Request
from contextviz.sources.claude_code.rows import Row
from contextviz.sources.claude_code.windows.items import WITH_REMINDERS, ItemMaker, fixed_items

REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Window:
    """What one call was given: positions in the item table, and why it is not whole."""

    positions: tuple[int, ...]
    note: str | None = None


@dataclass(slots=True)
class Archive:
    """The request records of all files of a session."""

    blobs: dict[bytes, Blob] = field(default_factory=dict)
    answers: dict[bytes, tuple[Row, ...]] = field(default_factory=dict)
    shapes: dict[str, tuple[tuple[TextRef, ...], TextRef | None]] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    by_file: dict[str, list[Request]] = field(default_factory=dict)

    def add(self, file: Loaded) -> None:
        """Take the records of one more file."""
        for key, blob in file.blobs.items():
            self.blobs.setdefault(key, blob)
        self.answers.update(file.answers)
        self.shapes.update(file.shapes)
        self.requests.update((request.id, request) for request in file.requests)
        self.by_file.setdefault(file.name, []).extend(file.requests)

    def request_of(self, row: Row, agent: str | None, previous_line: int) -> Request | None:
        """The request an answer's first row names; else the last of its agent written since `previous_line`."""
        if row.request_ref is not None and row.request_ref in self.requests:
            return self.requests[row.request_ref]
        written = self.by_file.get(row.file, [])
        at = bisect_left(written, row.line, key=lambda request: request.line)
        while at > 0 and written[at - 1].line > previous_line:
            at -= 1
            if written[at].agent in (None, agent):
                return written[at]
        return None


class RequestWindows:
    """Rebuilds the windows of one chain's calls from an archive."""

    def __init__(self, chain: Chain, archive: Archive, table: ItemTable, maker: ItemMaker):
        self._archive = archive
        self._table = table
        self._maker = maker
        self._lists: OrderedDict[str, tuple[bytes, ...]] = OrderedDict()
        self._messages: dict[bytes, tuple[int, ...] | None] = {}
        self._fixed: dict[str | None, tuple[int, ...]] = {}
        self._rows: dict[bytes | str, list[Row]] = {}
        for row in chain.rows:
            for block in row.blocks:
                self._rows.setdefault(_key(block), []).append(row)

    def window(self, request: Request) -> Window:
        """The whole window of a request, system prompt and tools first."""
        hashes, is_based = self._hashes(request)
        missing = 0
        positions = list(self._fixed_of(request.shape))
        for key in hashes:
            found = self._message(key, request.line)
            if found is None:
                missing += 1
            else:
                positions.extend(found)
        notes = []
        if not is_based:
            notes.append("the request it builds on is not in the transcript")
        if missing:
            notes.append(f"{missing} of its {len(hashes)} messages are not in the transcript")
        if request.shape not in self._archive.shapes:
            notes.append("its system prompt and tools are not in the transcript")
        return Window(tuple(positions), "; ".join(notes) or None)

    def _hashes(self, request: Request) -> tuple[tuple[bytes, ...], bool]:
        known = self._lists.get(request.id)
        if known is not None:
            return known, True
        todo: list[Request] = []
        at: Request | None = request
        start: tuple[bytes, ...] = ()
        is_based = True
        while at is not None and at not in todo:
            todo.append(at)
            if at.base is None or not at.keep:
                break
            if at.base in self._lists:
                start = self._lists[at.base]
                break
            below = self._archive.requests.get(at.base)
            is_based = below is not None
            at = below
        for one in reversed(todo):
            start = start[: one.keep] + one.tail
            self._lists[one.id] = start
            if len(self._lists) > REMEMBERED:
                self._lists.popitem(last=False)
        return start, is_based

    def _fixed_of(self, shape: str | None) -> tuple[int, ...]:
        if shape not in self._fixed:
            system, tools = self._archive.shapes.get(shape or "", ((), None))
            self._fixed[shape] = tuple(self._table.intern(item) for item in fixed_items(system, tools))
        return self._fixed[shape]

    def _message(self, key: bytes, line: int) -> tuple[int, ...] | None:
        known = self._messages.get(key)
        if known is not None:
            return known
        items: list[ContextItem] | None = None
        blob = self._archive.blobs.get(key)
        if blob is not None:
            items = [self._sent(block, blob.role, line) for block in blob.blocks]
        elif key in self._archive.answers:
            items = [item for row in self._archive.answers[key] for item in self._maker.of_row(row)]
        found = None if items is None else tuple(self._table.intern(item) for item in items)
        self._messages[key] = found
        return found

    def _sent(self, block: Block, role: str, line: int) -> ContextItem:
        """The item of a block as it was sent, tied to the row it comes from where that can be told."""
        rows = self._rows.get(_key(block), [])
        row = next((one for one in reversed(rows) if one.line < line), None) or (rows[0] if rows else None)
        item = self._maker.of_block(block, row, role=role)
        if block.kind != "tool_result" or row is None:
            return item
        written = next((one for one in row.blocks if _key(one) == _key(block)), block)
        if written.text.digest == block.text.digest:
            return item
        if block.text.chars < written.text.chars:
            return replace(item, state="truncated", reason="cut by the client before it was sent")
        return replace(item, reason=WITH_REMINDERS)


def _key(block: Block) -> bytes | str:
    return block.tool_call_id if block.kind == "tool_result" and block.tool_call_id else block.text.digest
