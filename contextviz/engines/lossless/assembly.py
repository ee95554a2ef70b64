"""Assembly: which items of the context a window holds (7.5)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contextviz.engines.lossless.items import Conversation, Item, Line, Row, Summary
from contextviz.engines.lossless.relevance import relevance, terms
from contextviz.engines.lossless.rendering import message_of, summary_xml
from contextviz.events.javascript import stringify
from contextviz.tokens.estimators import cp_weighted

Mode = Literal["full-fit", "prompt-aware", "chronological"]
FALLBACK_TAIL = 8


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen items by index, in order (a range where they follow each other to the end). `tail` is the index of
    the first protected one, infinity for none; tokens are of the rendered items."""

    chosen: Sequence[int]
    tail: float
    tail_tokens: int
    remaining: int
    evictable: int
    mode: Mode
    estimated: int


def rendered_size(item: Item, zone: str = "UTC") -> int:
    """Tokens of an item as it is given to the model."""
    return cp_weighted(summary_xml(item, zone)) if isinstance(item, Summary) else item.rendered_tokens()


def rendered_line(conversation: Conversation, zone: str = "UTC") -> Line:
    """The running sums of the rendered items."""
    line = Line()
    for item in conversation.items:
        add_rendered(line, item, rendered_size(item, zone))
    return line


def add_rendered(line: Line, item: Item, size: int) -> None:
    """One more rendered item; a row that vanishes counts as none."""
    if isinstance(item, Row) and not item.is_void:
        line.add(size, is_raw=True, is_user=item.role == "user")
    else:
        line.add(size, is_raw=False)


def select(
    items: Sequence[Item], line: Line, budget: float, *, tail_count: int = FALLBACK_TAIL, tail_most: int | None = None,
    prompt: str = "", is_prompt_aware: bool = False,
) -> Selection:  # fmt: skip
    """Choose what a window of `budget` tokens holds; the tail always is in it."""
    tail = line.tail_start(tail_count, tail_most)
    end = len(items) if math.isinf(tail) else int(tail)
    tail_tokens, evictable = line.total(end), line.total(0, end)
    remaining = max(0, math.floor(budget) - tail_tokens)
    if evictable <= remaining:
        return Selection(
            range(len(items)), tail, tail_tokens, remaining, evictable, "full-fit", tail_tokens + evictable
        )
    if is_prompt_aware and terms(prompt):
        kept = _most_alike(items, line, end, remaining, prompt)
        chosen: Sequence[int] = [*kept, *range(end, len(items))]
        total = tail_tokens + sum(line.total(at, at + 1) for at in kept)
        return Selection(chosen, tail, tail_tokens, remaining, evictable, "prompt-aware", total)
    # The sums never fall, so the oldest that still fits with all behind it is found by halving.
    start = bisect_left(line.sums, line.sums[end] - remaining, 0, end)
    total = line.total(start)
    return Selection(range(start, len(items)), tail, tail_tokens, remaining, evictable, "chronological", total)


def _most_alike(items: Sequence[Item], line: Line, end: int, remaining: int, prompt: str) -> list[int]:
    scored = sorted(range(end), key=lambda at: (-relevance(text_of(items[at]), prompt), -at))
    kept: list[int] = []
    for at in scored:
        if isinstance(items[at], Row) and items[at].is_void:  # type: ignore[union-attr]
            continue
        size = line.total(at, at + 1)
        if size <= remaining:
            kept.append(at)
            remaining -= size
    return sorted(kept)


def text_of(item: Item) -> str:
    """What an item is compared with the prompt by."""
    if isinstance(item, Summary):
        return item.content
    content = item.rendered_content()
    return content if isinstance(content, str) else stringify(content)


def messages_of(conversation: Conversation, selection: Selection, zone: str = "UTC") -> list[dict[str, Any]]:
    """The chosen items as messages; empty ones are left out. (Pairs of calls and results: see `pairing`.)"""
    chosen = (conversation.items[at] for at in selection.chosen)
    return [
        message_of(item, zone) for item in chosen if isinstance(item, Summary) or not (item.is_void or item.is_blank)
    ]
