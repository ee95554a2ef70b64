"""Context snapshots: what each model call was given, item by item, stored as differences.

A call usually keeps the whole previous window and adds a few items, so a snapshot is the number of leading
items it keeps from the previous snapshot of the same agent, and its own tail. Items are kept once per session
in an ItemTable; snapshots hold their positions. Storing every list whole would be quadratic in the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from contextviz.events.frozen import frozen
from contextviz.events.message import Kind, Role
from contextviz.events.text import TextRef

SnapshotBasis = Literal["request", "rules", "partial"]
COMPARED_AT_ONCE = 512
ItemState = Literal["verbatim", "injected", "summary", "stub", "truncated", "derived"]
TraceSource = Literal["cache_trace", "trajectory"]
TraceVerdict = Literal["confirmed", "corrected", "refuted", "differs"]


@frozen
class ContextItem:
    """One item of a window: a content block, a summary, or what the client put in by itself.

    `entry` is the entry id it comes from, `message_index` its message in Transcript.messages (None where the
    item has none). `state` says what was done to it, `reason` in a few words why it is there ("system prompt",
    "kept verbatim", "summary of …", "reminder by the client"). `basis` is "derived" where the item's text is
    known by rule and not from a record.
    """

    role: Role
    kind: Kind
    text: TextRef
    entry: str | None = None
    message_index: int | None = None
    state: ItemState = "verbatim"
    reason: str = "in the transcript"
    basis: Literal["recorded", "derived"] = "recorded"
    is_error: bool = False
    tool_name: str | None = None
    tool_call_id: str | None = None
    media_bytes: int | None = None


@dataclass(slots=True)
class ItemTable:
    """The distinct items of a session; an item is added once and known by its position."""

    items: list[ContextItem] = field(default_factory=list)
    _positions: dict[ContextItem, int] | None = None

    def intern(self, item: ContextItem) -> int:
        """The position of `item`, added when new."""
        if self._positions is None:
            self._positions = {known: position for position, known in enumerate(self.items)}
        position = self._positions.setdefault(item, len(self.items))
        if position == len(self.items):
            self.items.append(item)
        return position

    def settle(self) -> None:
        """Everything is in: free what finds items again (it is made anew where one more comes)."""
        self._positions = None


@dataclass(frozen=True, slots=True)
class WindowCheck:
    """A rebuilt window held against the client's own log of the request, in messages (not items).

    `traced` and `rebuilt` are how many each side has, `client` how many of the traced ones the client adds to one
    request alone. Of the rest `proven` agree by fingerprint or text and `by_role` by role and place, since their
    bodies are cut; `missing` are in the log and were not rebuilt (`filled` of them are now), `extra` the reverse.
    Verdict: confirmed (nothing missing or extra), corrected (the window shown is the log's, every body known),
    refuted (they disagree, and the log is cut where they do), differs (a trajectory of a session whose windows a
    context engine makes: it notes what the engine assembled, which is not always what was sent).
    """

    source: TraceSource
    verdict: TraceVerdict
    file: str
    line: int | None
    traced: int
    rebuilt: int
    client: int = 0
    proven: int = 0
    by_role: int = 0
    missing: int = 0
    extra: int = 0
    filled: int = 0


@frozen
class ContextSnapshot:
    """The window of one call as a difference: `keep` leading items of the previous snapshot of the same agent
    (`previous`, an index into Transcript.snapshots; None for the first), then `tail`. `check` is what the client's
    own log of the request says of it, None where there is none."""

    call_index: int
    basis: SnapshotBasis
    previous: int | None
    keep: int
    tail: tuple[int, ...]
    note: str | None = None
    check: WindowCheck | None = None


@dataclass(slots=True)
class SnapshotLog:
    """The snapshots of a session in the order of its calls, with the table of their items."""

    table: ItemTable = field(default_factory=ItemTable)
    snapshots: list[ContextSnapshot] = field(default_factory=list)
    _last: dict[str | None, tuple[int, list[int]]] = field(default_factory=dict)

    def add(
        self,
        call_index: int,
        items: Iterable[ContextItem] | Sequence[int],
        *,
        basis: SnapshotBasis,
        agent: str | None = None,
        note: str | None = None,
        check: WindowCheck | None = None,
    ) -> None:
        """Record the window of call `call_index` (whole: items, or positions already interned)."""
        given = list(items)
        # Either all are positions or none is: asking each of them costs a fifth of a big import.
        is_interned = bool(given) and isinstance(given[0], int)
        window: list[int] = given if is_interned else list(map(self.table.intern, given))  # type: ignore[arg-type,assignment]
        _, before = self._last.get(agent, (None, []))
        keep = common_prefix(before, window)
        self._append(call_index, keep, window[keep:], basis, agent, note)
        if check is not None:
            self.snapshots[-1] = replace(self.snapshots[-1], check=check)

    def add_from(
        self,
        call_index: int,
        keep: int,
        tail: Sequence[int],
        *,
        basis: SnapshotBasis,
        agent: str | None = None,
        note: str | None = None,
    ) -> None:
        """Record a window that begins with the first `keep` items of the agent's last one, then `tail` (positions).

        Costs the tail, not the window: a long session whose windows only grow would else be quadratic.
        """
        _, before = self._last.get(agent, (None, []))
        again = common_prefix(before[keep : keep + len(tail)], tail)
        self._append(call_index, keep + again, tail[again:], basis, agent, note)

    def _append(
        self, call_index: int, keep: int, tail: Sequence[int], basis: SnapshotBasis, agent: str | None, note: str | None
    ) -> None:
        previous, window = self._last.get(agent, (None, []))
        del window[keep:]
        window.extend(tail)
        self._last[agent] = (len(self.snapshots), window)
        self.snapshots.append(ContextSnapshot(call_index, basis, previous, keep, tuple(tail), note))

    def copy(self) -> SnapshotLog:
        """The same snapshots and items in lists of their own: neither log sees what is added to the other."""
        return SnapshotLog(ItemTable(list(self.table.items)), list(self.snapshots))

    def window(self, position: int) -> list[ContextItem]:
        """The whole window of snapshot `position`, in order."""
        return [self.table.items[number] for number in self.positions(position)]

    def positions(self, position: int) -> list[int]:
        """The item positions of snapshot `position`; walks back only as far as kept items reach."""
        parts: list[tuple[int, ...]] = []
        wanted: int | None = None
        at: int | None = position
        while at is not None:
            snapshot = self.snapshots[at]
            if wanted is None:
                parts.append(snapshot.tail)
                wanted = snapshot.keep
            elif wanted > snapshot.keep:
                parts.append(snapshot.tail[: wanted - snapshot.keep])
                wanted = snapshot.keep
            if wanted == 0:
                break
            at = snapshot.previous
        return [number for part in reversed(parts) for number in part]


def common_prefix(first: Sequence[object], second: Sequence[object]) -> int:
    """How many leading elements two sequences share."""
    length = min(len(first), len(second))
    for start in range(0, length, COMPARED_AT_ONCE):
        end = min(start + COMPARED_AT_ONCE, length)
        if list(first[start:end]) != list(second[start:end]):
            return next(index for index in range(start, end) if first[index] != second[index])
    return length
