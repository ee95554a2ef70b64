"""Leaves: which messages go into the next one, and the text a summariser is given of them (7.4)."""

from __future__ import annotations

import math

from contextviz.engines.lossless.cleaning import meaningful, of_structure, without_injected
from contextviz.engines.lossless.items import Conversation, Row, Summary
from contextviz.engines.lossless.rendering import time_text
from contextviz.engines.lossless.settings import Config


def leaf_chunk(
    conversation: Conversation, config: Config, *, tail: float | None = None, after: int = -1, is_forced: bool = False
) -> tuple[int, int]:
    """The first and last index of the next leaf's messages, (0, -1) where there are none.

    They follow each other, lie before the tail and behind index `after`. A message that would exceed the size starts
    the next leaf, unless the release takes it in (1.0.0-beta.4); that one also leaves what is short of the size for
    later, unless `is_forced`, or a summary stands behind it.
    """
    if tail is None:
        tail = fresh_tail(conversation, config)
    items, line = conversation.items, conversation.line
    end = len(items) if math.isinf(tail) else int(tail)
    start = after + 1
    while start < end and isinstance(items[start], Summary):
        start += 1
    last, tokens = start - 1, 0
    while last + 1 < end and isinstance(items[last + 1], Row):
        size = line.total(last + 1, last + 2)
        if last >= start and tokens + size > config.leaf_chunk_tokens and not config.takes_reaching:
            break
        last += 1
        tokens += size
        if tokens >= config.leaf_chunk_tokens:
            break
    is_short = last + 1 >= end and tokens < config.leaf_chunk_tokens
    if last < start or (config.is_waiting and is_short and not is_forced):
        return 0, -1
    return start, last


def fresh_tail(conversation: Conversation, config: Config) -> float:
    """The index of the first protected item, infinity where nothing is protected."""
    return conversation.line.tail_start(config.fresh_tail_count, config.fresh_tail_max_tokens)


def raw_outside_tail(conversation: Conversation, config: Config) -> int:
    """Tokens of the raw messages before the tail."""
    tail = fresh_tail(conversation, config)
    return conversation.line.raw(len(conversation.items) if math.isinf(tail) else int(tail))


def leaf_source(rows: list[Row], config: Config) -> str:
    """The rows as blocks with a header each; rows without a readable text are left out."""
    return "\n\n".join(filter(None, (_block(row, config) for row in rows)))


def _block(row: Row, config: Config) -> str:
    text = meaningful(row.content)
    if not text and row.blocks is not None:
        text = of_structure(list(row.blocks))
    text = meaningful(without_injected(text, config.strip_tags))
    if not text:
        return ""
    sender = f" | {row.sender}" if row.sender and row.role == "user" else ""
    stamp = "" if row.at is None else f"{time_text(row.at, config.timezone)} | "
    return f"[{stamp}{row.role}{sender}]\n{text}"


def previous_of(conversation: Conversation, start: int, *, depth: int | None = None) -> str | None:
    """Up to two summaries before index `start` (of one depth, where that is asked for), cleaned, as one text."""
    found: list[str] = []
    for item in reversed(conversation.items[:start]):
        if isinstance(item, Row) or (depth is not None and item.depth != depth):
            continue
        if item.meaning:
            found.append(item.meaning)
        if len(found) == 2:
            break
    return "\n\n".join(reversed(found)) or None
