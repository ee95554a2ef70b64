"""Which message of a client's log is which message of a rebuilt window."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from contextviz.events.evidence import TracedMessage, TracedWindow
from contextviz.events.message import Role
from contextviz.events.snapshot import ContextItem, ItemTable, common_prefix
from contextviz.events.text import TextPool

# Pairs that are looked at where two windows differ, in one of them and in a whole session: beyond, the middle is left
# unpaired, since it would take minutes.
MOST_CELLS = 250_000
MOST_CELLS_OF_ALL = 5_000_000
NO, BY_ROLE, PROVEN = 0, 1, 2
_DATE = re.compile(r"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,40}\] ")
_RUNTIME = "Runtime: agent="


@dataclass(frozen=True, slots=True)
class Group:
    """One message of a rebuilt window: the items from `start` up to `stop` of its positions."""

    entry: str | None
    role: Role
    start: int
    stop: int
    items: tuple[ContextItem, ...]

    @property
    def is_dated(self) -> bool:
        """Whether it begins with a date that a rule put there."""
        first = self.items[0]
        return len(self.items) > 1 and first.kind == "injected" and first.basis == "derived"


@dataclass(slots=True)
class Grouping:
    """Windows as messages, one after the other: what a window shares with the one before is not looked at again."""

    table: ItemTable
    positions: list[int] = field(default_factory=list)
    heads: list[tuple[int, int]] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)

    def of(self, positions: list[int]) -> tuple[list[int], list[Group]]:
        """A window as what stands before its messages (system prompt, tools), and its messages."""
        keep = common_prefix(self.positions, positions)
        while self.groups and self.groups[-1].stop >= keep:  # the last one may go on in the new window
            self.groups.pop()
        at = self.groups[-1].stop if self.groups else 0
        self.heads = [(place, number) for place, number in self.heads if place < at]
        items = self.table.items
        while at < len(positions):
            first = items[positions[at]]
            stop = at + 1
            if self._is_head(positions[at]):
                self.heads.append((at, positions[at]))
            else:
                while stop < len(positions) and _is_same_message(first, items[positions[stop]]):
                    stop += 1
                found = tuple(items[number] for number in positions[at:stop])
                self.groups.append(Group(first.entry, first.role, at, stop, found))
            at = stop
        self.positions = positions
        return [number for _, number in self.heads], self.groups

    def _is_head(self, number: int) -> bool:
        item = self.table.items[number]
        return item.role in ("system", "developer") or item.kind in ("system", "tools")


def _is_same_message(first: ContextItem, second: ContextItem) -> bool:
    is_named = first.entry is not None or first.message_index is not None
    return is_named and (first.entry, first.message_index) == (second.entry, second.message_index)


Pair = tuple[Group | None, TracedMessage | None]


@dataclass(slots=True)
class Pairs:
    """Two windows side by side: `(group, message)` in order, in the `middle` one of them None where the other side has
    none.

    `dates` are dates as they were sent, by where their group starts. `cut_tail` is the last message of a request where
    its body is cut and nothing was rebuilt for it: the client's own runtime context, as every request ends with one.
    `cells` is what comparing them took.
    """

    front: list[tuple[Group, TracedMessage]] = field(default_factory=list)
    middle: list[Pair] = field(default_factory=list)
    back: list[tuple[Group, TracedMessage]] = field(default_factory=list)
    dates: dict[int, ContextItem] = field(default_factory=dict)
    cut_tail: TracedMessage | None = None
    cells: int = 0
    proven: int = 0
    by_role: int = 0

    @property
    def missing(self) -> list[TracedMessage]:
        """Messages of the log that were not rebuilt and are no addition of the client's."""
        return [one for group, one in self.middle if group is None and one is not None and not self._is_client(one)]

    @property
    def extra(self) -> list[Group]:
        """Messages that were rebuilt and that the log does not have."""
        return [group for group, one in self.middle if one is None and group is not None]

    @property
    def client(self) -> int:
        """How many messages of the log the client adds to this request alone."""
        return sum(group is None and one is not None and self._is_client(one) for group, one in self.middle)

    @property
    def changes_nothing(self) -> bool:
        """Whether the rebuilt window is the one to show as it is."""
        return not self.dates and all(one is not None and one.items is None for group, one in self.middle if not group)

    def _is_client(self, message: TracedMessage) -> bool:
        return message.is_client or message is self.cut_tail

    def merged(self, *, is_logs: bool) -> Iterator[Pair]:
        """The window to show: both sides', or the log's alone."""
        yield from self.front
        yield from ((group, one) for group, one in self.middle if one is not None or not is_logs)
        yield from self.back


def aligned(groups: Sequence[Group], traced: TracedWindow, pool: TextPool, most_cells: int = MOST_CELLS) -> Pairs:
    """Pair the messages of both sides in order: what agrees from the front, then from the end, and between those the
    most that can agree (unpaired where that takes more than `most_cells` comparisons)."""
    messages = list(traced.messages or ())
    if messages:
        # An object of its own: the same message may stand elsewhere, and this one is asked after by identity.
        messages[-1] = replace(messages[-1])
    match = _matcher(traced, pool)
    found = Pairs()
    most = min(len(groups), len(messages))
    front, back = 0, 0
    while front < most and (score := match(groups[front], messages[front])):
        found.proven += score == PROVEN
        front += 1
    while back < most - front and (score := match(groups[-1 - back], messages[-1 - back])):
        found.proven += score == PROVEN
        back += 1
    ends = len(groups) - back, len(messages) - back
    found.front = list(zip(groups[:front], messages[:front], strict=True))
    found.back = list(zip(groups[ends[0] :], messages[ends[1] :], strict=True))
    middle = groups[front : ends[0]], messages[front : ends[1]]
    if len(middle[0]) * len(middle[1]) <= min(most_cells, MOST_CELLS):
        found.cells = len(middle[0]) * len(middle[1])
        found.middle = _middle(*middle, match)
    else:
        found.middle = [*((group, None) for group in middle[0]), *((None, message) for message in middle[1])]
    paired = [(group, one) for group, one in found.middle if group is not None and one is not None]
    found.proven += sum(match(group, one) == PROVEN for group, one in paired)
    found.by_role = front + back + len(paired) - found.proven
    _note_dates(found, [*found.front, *paired, *found.back] if traced.is_literal else [], pool)
    found.cut_tail = _cut_tail(found, traced)
    return found


def _cut_tail(found: Pairs, traced: TracedWindow) -> TracedMessage | None:
    if not traced.is_literal or found.back or not found.middle:
        return None
    group, message = found.middle[-1]
    is_cut = group is None and message is not None and message.items is None and message.role in ("user", None)
    return message if is_cut else None


def _note_dates(found: Pairs, paired: Sequence[tuple[Group, TracedMessage]], pool: TextPool) -> None:
    for group, message in paired:
        sent = _date_sent(group, message, pool) if message.items else None
        if sent is not None:
            found.dates[group.start] = sent


def _middle(
    groups: Sequence[Group], messages: Sequence[TracedMessage], match: Callable[[Group, TracedMessage], int]
) -> list[Pair]:
    """The longest common order of two stretches, proven pairs before those by role; what is left over stands in the
    order of the log, the rebuilt side first."""
    width = len(messages) + 1
    best = [[0] * width for _ in range(len(groups) + 1)]
    scores = [[match(group, message) for message in messages] for group in groups]
    for row in range(len(groups) - 1, -1, -1):
        for column in range(len(messages) - 1, -1, -1):
            score = scores[row][column]
            paired = best[row + 1][column + 1] + (3 if score == PROVEN else 2) if score else -1
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    found: list[Pair] = []
    row = column = 0
    while row < len(groups) and column < len(messages):
        score = scores[row][column]
        if score and best[row][column] == best[row + 1][column + 1] + (3 if score == PROVEN else 2):
            found.append((groups[row], messages[column]))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            found.append((groups[row], None))
            row += 1
        else:
            found.append((None, messages[column]))
            column += 1
    found.extend((group, None) for group in groups[row:])
    found.extend((None, message) for message in messages[column:])
    return found


def _matcher(traced: TracedWindow, pool: TextPool) -> Callable[[Group, TracedMessage], int]:
    def match(group: Group, message: TracedMessage) -> int:
        if message.is_client:
            return NO
        if message.entry is not None:
            return PROVEN if message.entry == group.entry else NO
        if message.role is not None and message.role != group.role:
            return NO
        if message.items is None:
            return BY_ROLE
        if _is_same_text(group, message.items, pool):
            return PROVEN
        return NO if traced.is_literal else BY_ROLE

    return match


def _is_same_text(group: Group, items: Sequence[ContextItem], pool: TextPool) -> bool:
    if group.role != "user":
        return _parts(group.items) == _parts(items)
    own = "".join(pool.get(item.text) for item in group.items if not _is_runtime(item, pool))
    plain = "".join(pool.get(item.text) for item in _undated(group) if not _is_runtime(item, pool))
    sent = "".join(pool.get(item.text) for item in items)
    return sent in (own, plain) or _DATE.sub("", sent, count=1) == plain


def _parts(items: Sequence[ContextItem]) -> list[bytes]:
    return [item.text.digest for item in items if item.kind != "thinking" and item.text.chars]


def _undated(group: Group) -> Sequence[ContextItem]:
    return group.items[1:] if group.is_dated else group.items


def _is_runtime(item: ContextItem, pool: TextPool) -> bool:
    return item.kind == "injected" and item.basis == "derived" and pool.get(item.text).startswith(_RUNTIME)


def _date_sent(group: Group, message: TracedMessage, pool: TextPool) -> ContextItem | None:
    """The date that the client wrote before a user text, where it is another than the rule's."""
    if group.role != "user" or not group.is_dated or not message.items:
        return None
    sent = _DATE.match(pool.get(message.items[0].text))
    if sent is None or sent[0] == pool.get(group.items[0].text):
        return None
    reason = "date in front of a user text, as the client sent it"
    return replace(group.items[0], text=pool.put(sent[0]), state="injected", reason=reason, basis="recorded")
