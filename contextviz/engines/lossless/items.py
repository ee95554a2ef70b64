"""The context of a conversation: raw messages and summaries in order, with running sums (7.3, 7.4)."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Literal

from contextviz.engines.lossless.cleaning import meaningful
from contextviz.events.javascript import stringify, trim
from contextviz.tokens.estimators import cp_weighted

Level = Literal["normal", "aggressive", "fallback", "capped"]


@dataclass(slots=True, eq=False)
class Row:
    """A stored message. `tokens` is its token_count (0 or less: its content is counted), `at` milliseconds since 1970.

    `blocks` are its content blocks where it has more than one text; `calls` and `results` the ids of the tool calls it
    makes and answers. `extra` are tokens of media whose bytes are not kept; `sender` a rendered name of its author.
    """

    seq: int
    role: str
    content: str
    tokens: int = 0
    at: int | None = None
    blocks: tuple[dict[str, Any], ...] | None = None
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    tool_name: str | None = None
    sender: str | None = None
    extra: int = 0
    _rendered: int | None = None

    @property
    def size(self) -> int:
        """Tokens as leaves count them."""
        own = self.tokens if self.tokens > 0 else cp_weighted(self.content)
        return own + (cp_weighted(self.sender) if self.sender and self.role == "user" else 0)

    @property
    def runtime_role(self) -> str:
        """The role in a window: a tool row without a call's id becomes assistant text, a system row a user's."""
        if self.role == "tool":
            return "toolResult" if self.results else "assistant"
        return "assistant" if self.role == "assistant" else "user"

    @property
    def is_void(self) -> bool:
        """An assistant row with neither text nor blocks: it vanishes from windows."""
        return self.role == "assistant" and not self.blocks and not trim(self.content)

    @property
    def is_blank(self) -> bool:
        """Whether nothing is left of it that a provider takes."""
        content = self.rendered_content()
        if isinstance(content, str):
            return not trim(content)
        if self.runtime_role != "assistant":
            return not content
        thoughts = all(block.get("type") in ("thinking", "redacted_thinking", "reasoning") for block in content)
        return thoughts or all(
            block.get("type") == "text" and not trim(str(block.get("text", ""))) for block in content
        )

    def rendered_content(self) -> str | list[dict[str, Any]]:
        """A user's single text as it is, anything else as an array of blocks."""
        if self.blocks is not None:
            first = self.blocks[0] if len(self.blocks) == 1 else None
            if self.runtime_role == "user" and first is not None and first.get("type") == "text":
                return str(first.get("text", ""))
            return list(self.blocks)
        return self.content if self.runtime_role == "user" else [{"type": "text", "text": self.content}]

    def rendered_tokens(self) -> int:
        """Tokens of the rendered content; 0 for one that vanishes."""
        if self._rendered is None:
            content = self.rendered_content()
            text = content if isinstance(content, str) else stringify(content)
            self._rendered = 0 if self.is_void else cp_weighted(text) + self.extra
        return self._rendered


@dataclass(slots=True, eq=False)
class Summary:
    """A summary node. `seqs` are the messages of a leaf, `sources` the ids of the lower nodes of a condensed one."""

    id: str
    kind: Literal["leaf", "condensed"]
    depth: int
    content: str
    tokens: int
    earliest: int | None = None
    latest: int | None = None
    seqs: tuple[int, ...] = ()
    sources: tuple[str, ...] = ()
    descendant_count: int = 0
    descendant_tokens: int = 0
    source_tokens: int = 0
    level: Level = "normal"
    _meaning: str | None = None

    @property
    def size(self) -> int:
        """Its tokens, counted where the store has none."""
        return self.tokens if self.tokens > 0 else cp_weighted(self.content)

    @property
    def meaning(self) -> str:
        """Its text as a summariser is given it again: without reasoning and media."""
        if self._meaning is None:
            self._meaning = trim(meaningful(self.content, without_reasoning=True))
        return self._meaning


Item = Row | Summary


@dataclass(slots=True)
class Line:
    """Running sums over items: tokens of all, tokens and number of raw messages; `last_user` is an index or -1."""

    sums: list[int] = field(default_factory=lambda: [0])
    raw_sums: list[int] = field(default_factory=lambda: [0])
    raw_counts: list[int] = field(default_factory=lambda: [0])
    last_user: int = -1

    def add(self, size: int, *, is_raw: bool, is_user: bool = False) -> None:
        """One more item at the end."""
        if is_user:
            self.last_user = len(self.sums) - 1
        self.sums.append(self.sums[-1] + size)
        self.raw_sums.append(self.raw_sums[-1] + (size if is_raw else 0))
        self.raw_counts.append(self.raw_counts[-1] + is_raw)

    def total(self, start: int = 0, end: int | None = None) -> int:
        """Tokens of the items [start, end)."""
        return self.sums[-1 if end is None else end] - self.sums[start]

    def raw(self, end: int) -> int:
        """Tokens of the raw messages before `end`."""
        return self.raw_sums[end] - self.raw_sums[0]

    def tail_start(self, count: int, most: int | None = None) -> float:
        """The index of the first item of the fresh tail; infinity where nothing is protected.

        From the newest back: stop at `count` messages, or before one that would exceed `most` tokens (the newest is
        always in), but neither limit holds before the newest user's message is inside.
        """
        total = self.raw_counts[-1]
        if count <= 0 or total == 0:
            return math.inf
        by_count = self._of_raw(max(0, total - count))
        if most is None:
            return min(by_count, self.last_user) if self.last_user >= 0 else by_count
        start = self.last_user if self.last_user >= 0 else self._of_raw(total - 1)
        while (before := self.raw_counts[start]) > total - count and before > 0:
            earlier = self._of_raw(before - 1)
            if self.raw_sums[-1] - self.raw_sums[earlier] > most:
                break
            start = earlier
        return start

    def _of_raw(self, number: int) -> int:
        return bisect_left(self.raw_counts, number + 1) - 1


class Conversation:
    """Items in order; their indexes are the ordinals. `version` changes when items are replaced."""

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.items: list[Item] = []
        self.line = Line()
        self.version = 0
        self.summaries: dict[str, Summary] = {}
        for row in rows or []:
            self.append(row)

    @property
    def stored(self) -> int:
        """Tokens of all items as they are stored."""
        return self.line.total()

    def append(self, item: Item) -> None:
        """One more item at the end."""
        self.items.append(item)
        if isinstance(item, Summary):
            self.summaries[item.id] = item
        self._count(item)

    def replace(self, start: int, end: int, summary: Summary) -> None:
        """Put a summary where the items [start, end] were."""
        self.items[start : end + 1] = [summary]
        self.summaries[summary.id] = summary
        self.version += 1
        self.line = Line()
        for item in self.items:
            self._count(item)

    def _count(self, item: Item) -> None:
        is_user = isinstance(item, Row) and item.role == "user"
        self.line.add(item.size, is_raw=isinstance(item, Row), is_user=is_user)
