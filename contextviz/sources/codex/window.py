"""The live history of a thread: what the next call would be given, kept as positions of the item table."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextviz.events.message import Block
from contextviz.events.snapshot import ContextItem, ItemState, ItemTable
from contextviz.sources.codex.items import ENCRYPTED, Item

IN_TRANSCRIPT = "in the transcript"
BY_CLIENT = "put in by the client"


@dataclass(frozen=True, slots=True)
class Entry:
    """One history item: its id in the file, its context items, its message where it has one, and whether it opens
    a turn of the user. `summary_of` is the compaction whose summary it is."""

    id: str
    positions: tuple[int, ...]
    message_index: int | None = None
    is_turn: bool = False
    is_injected: bool = False
    summary_of: str | None = None

    @property
    def name(self) -> str:
        """How context lists name it: `summary <compaction>` or the entry id."""
        return self.id if self.summary_of is None else f"summary {self.summary_of}"


@dataclass(slots=True)
class History:
    """The entries in order. `positions` is their flat list, extended in place, so a call's window is a prefix."""

    table: ItemTable
    base: tuple[int, ...] = ()
    entries: list[Entry] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    def set_base(self, items: list[ContextItem]) -> None:
        """Put the base instructions in front of everything; they survive compactions."""
        self.base = tuple(self.table.intern(item) for item in items)
        self.replace(self.entries)

    def append(self, entry: Entry) -> None:
        """Add one entry at the end."""
        self.entries.append(entry)
        self.positions.extend(entry.positions)

    def replace(self, entries: list[Entry]) -> None:
        """Make `entries` the whole history, after the base instructions."""
        self.entries = list(entries)
        self.positions = [*self.base, *(position for entry in entries for position in entry.positions)]

    def roll_back(self, turns: int) -> list[Entry]:
        """Take the last `turns` user turns out and return their entries (thread_rolled_back, formats.md C.5)."""
        starts = [number for number, entry in enumerate(self.entries) if entry.is_turn]
        if turns <= 0 or not starts:
            return []
        cut = starts[-turns] if turns <= len(starts) else starts[0]
        removed = self.entries[cut:]
        self.replace(self.entries[:cut])
        return removed

    def names(self) -> list[str]:
        """The context items as inspect.md names them."""
        return [entry.name for entry in self.entries]


def context_items(
    item: Item,
    entry: str,
    message_index: int | None,
    *,
    reason: str | None = None,
    state: ItemState = "verbatim",
    derived: bool = False,
) -> list[ContextItem]:
    """The context items of one history item, one per block."""
    return [_context_item(item, block, entry, message_index, reason, state, derived=derived) for block in item.blocks]


def _context_item(
    item: Item,
    block: Block,
    entry: str,
    message_index: int | None,
    reason: str | None,
    state: ItemState,
    *,
    derived: bool,
) -> ContextItem:
    injected = block.kind == "injected"
    # What the client says in the user's place is user text to the model: the state says who put it there.
    kind = "text" if injected and item.role == "user" else block.kind
    plain = BY_CLIENT if injected else IN_TRANSCRIPT
    if item.is_opaque:
        plain = ENCRYPTED
    return ContextItem(
        role=item.role,
        kind=kind,
        text=block.text,
        entry=entry,
        message_index=message_index,
        state="injected" if injected else state,
        reason=plain if reason is None else reason,
        basis="derived" if derived else "recorded",
        is_error=block.is_error,
        tool_name=block.tool_name,
        tool_call_id=block.tool_call_id,
        media_bytes=block.media_bytes,
    )


def newest_within(sizes: list[int], budget: int) -> tuple[int, int]:
    """Which of the newest texts an old local compaction keeps: the first kept index and the tokens left for it.

    `sizes` are in tokens, oldest first. The text at that index is cut where fewer tokens are left than it has
    (formats.md C.5: "selected recent user messages").
    """
    left = budget
    for index in range(len(sizes) - 1, -1, -1):
        if sizes[index] >= left:
            return index, left
        left -= sizes[index]
    return 0, sizes[0] if sizes else 0
