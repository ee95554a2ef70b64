"""flowctx's layered summaries: nodes over user turns, what to fold next, how far they cover (section 3.5).

Everything is a function of the roles and sizes of the messages, so a plan costs a few searches and no walk.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextviz.engines.flowctx.projection import PORT_NAME
from contextviz.events.javascript import to_number


@dataclass(frozen=True, slots=True)
class Node:
    """A summary. Turns are counted from 1, both ends inclusive; `cover_end_messages` is how many messages there were
    when its cover ended, 0 for a condensed one. `children` are the ids that it was condensed from."""

    id: str
    depth: int
    start_turn: int
    end_turn: int
    cover_end_messages: int
    content: str
    tokens: int
    created_at_ms: int = 0
    children: tuple[str, ...] = ()
    model: str | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Node:
        """A node as flowctx stores it (3.6); what is missing counts as 0 or nothing."""
        numbers = [
            _whole(value.get(key))
            for key in ("depth", "coverStartTurn", "coverEndTurn", "coverEndMsgCount", "estTokens", "createdAtMs")
        ]
        depth, start, end, messages, tokens, created = numbers
        children = value.get("childIds")
        model = value.get("model")
        return cls(
            str(value.get("id", "")), depth, start, end, messages, str(value.get("content") or ""), tokens, created,
            tuple(map(str, children)) if isinstance(children, list) else (), model if isinstance(model, str) else None,
        )  # fmt: skip

    def stored(self) -> dict[str, Any]:
        """The node as flowctx stores it."""
        value: dict[str, Any] = {
            "id": self.id, "depth": self.depth, "coverStartTurn": self.start_turn, "coverEndTurn": self.end_turn,
            "coverEndMsgCount": self.cover_end_messages, "content": self.content,
        }  # fmt: skip
        if self.children:
            value["childIds"] = list(self.children)
        value |= {"estTokens": self.tokens, "createdAtMs": self.created_at_ms}
        return value | ({"model": self.model} if self.model else {})


def _whole(value: Any) -> int:
    number = to_number(value)
    return int(number) if math.isfinite(number) else 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """Messages to fold, `start` up to and without `end`, and the turns they are."""

    start: int
    end: int
    start_turn: int
    end_turn: int


@dataclass(frozen=True, slots=True)
class Condense:
    """Nodes to condense into one of `depth`."""

    depth: int
    children: tuple[Node, ...]
    start_turn: int
    end_turn: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next: a leaf, or where there is none a condensation, or nothing."""

    leaf: Leaf | None = None
    condense: Condense | None = None


@dataclass(frozen=True, slots=True)
class TreeConfig:
    """The settings of the tree; numbers are not rounded, as upstream does not."""

    leaf_chunk_tokens: float = 40_000
    condense_fanout: float = 6
    max_summary_depth: float = 1
    keep_recent_turns: float = 2


class Timeline:
    """The roles and text tokens of the messages so far."""

    def __init__(self, messages: Iterable[tuple[str, int]] = ()) -> None:
        self.users: list[int] = []
        self._sums = [0]
        for role, tokens in messages:
            self.add(role, tokens)

    def add(self, role: str, tokens: int) -> None:
        """A message more."""
        if role == "user":
            self.users.append(len(self))
        self._sums.append(self._sums[-1] + tokens)

    def __len__(self) -> int:
        return len(self._sums) - 1

    def turns_before(self, end: float) -> int:
        """How many user messages there are before `end`."""
        return bisect_left(self.users, end)

    def tokens(self, start: int, end: int) -> int:
        """The text tokens of the messages from `start` up to `end`."""
        return self._sums[end] - self._sums[start]

    def crossing(self, start: int, end: int, tokens: float) -> int | None:
        """The index behind the first message at which `tokens` are reached from `start`; None where not before
        `end`."""
        place = max(start + 1, bisect_left(self._sums, self._sums[start] + tokens, start))
        return place if place <= end else None

    def user_from(self, start: int, limit: int) -> int:
        """The first user message from `start` and before `limit`; else `limit`."""
        number = bisect_left(self.users, max(0, start))
        found = self.users[number] if number < len(self.users) else limit
        return min(found, limit, len(self))


def keep_tail(timeline: Timeline, frozen_start: float, keep_turns: float) -> int:
    """The oldest message that must not be folded: walking back from the tail, the user message after `keep_turns` of
    them; 0 where there are not so many. So one user turn more than the number stays."""
    if frozen_start != int(frozen_start):
        return 0  # upstream steps through fractions and never meets a message
    number = timeline.turns_before(frozen_start) - math.floor(keep_turns) - 1
    return timeline.users[number] if number >= 0 else 0


def active(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that no other was condensed from, by where they start."""
    taken = {child for node in nodes for child in node.children}
    return sorted((node for node in nodes if node.id not in taken), key=lambda node: node.start_turn)


def plan(timeline: Timeline, frozen_start: float, nodes: Sequence[Node], cursor: int, config: TreeConfig) -> Plan:
    """What to fold next, given the nodes and how far leaves have come. A range without a user message is never folded:
    a transcript that opens with too much of other roles stays as it is."""
    leaf = _leaf(timeline, keep_tail(timeline, frozen_start, config.keep_recent_turns), max(0, cursor), config)
    if leaf is not None:
        return Plan(leaf)
    return Plan(condense=_condense(nodes, config))


def _leaf(timeline: Timeline, tail: int, start: int, config: TreeConfig) -> Leaf | None:
    if tail <= start:
        return None
    crossed = timeline.crossing(start, tail, config.leaf_chunk_tokens)
    if crossed is None:
        return None
    snapped = timeline.user_from(crossed, tail)
    end = snapped if snapped > start else crossed
    start_turn, end_turn = timeline.turns_before(start) + 1, timeline.turns_before(end)
    return Leaf(start, end, start_turn, end_turn) if end_turn >= start_turn else None


def _condense(nodes: Sequence[Node], config: TreeConfig) -> Condense | None:
    if config.max_summary_depth < 1:
        return None
    free = active(nodes)
    for depth in range(math.ceil(config.max_summary_depth)):
        level = [node for node in free if node.depth == depth]
        if len(level) >= config.condense_fanout:
            batch = tuple(level[: int(config.condense_fanout)])
            return Condense(depth + 1, batch, batch[0].start_turn, batch[-1].end_turn)
    return None


def cover_end(timeline: Timeline, frozen_start: int, nodes: Sequence[Node]) -> int:
    """How many leading messages the nodes cover: up to the first user message of a later turn before `frozen_start`,
    else up to that; 0 without nodes."""
    shown = active(nodes)
    if not shown:
        return 0
    last = max(node.end_turn for node in shown)
    found = timeline.users[last] if 0 <= last < len(timeline.users) else frozen_start
    # A first message at index 0 counts upstream as not found.
    return min(found, frozen_start) if found else frozen_start


def node_id(depth: int, start_turn: int, end_turn: int) -> str:
    """`d0-1-3`: depth and turns."""
    return f"d{depth}-{start_turn}-{end_turn}"


def placeholder(node: Node, *, name: str = PORT_NAME) -> str:
    """What stands in the window for a node: the same bytes each time, so that a prefix cache holds."""
    span = f"turns {node.start_turn}-{node.end_turn}"
    tag = "flowctx-history-summary" + ("-condensed" if node.depth else "")
    return (
        f"[{name}: summary layer depth={node.depth} covering {span}. Retrieve via"
        f' flowctx_retrieve(node="{node.id}").]\n'
        f'<{tag} depth="{node.depth}" span="{span}">\n{node.content}\n</{tag}>'
    )
