"""Condensation: which summaries go into a higher one, and the text a summariser is given of them (7.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from contextviz.engines.lossless.items import Conversation, Row, Summary
from contextviz.engines.lossless.leaf import fresh_tail
from contextviz.engines.lossless.rendering import time_text
from contextviz.engines.lossless.settings import Config


@dataclass(frozen=True, slots=True)
class Candidate:
    """Items [start, last] of one depth that may be condensed."""

    depth: int
    start: int
    last: int


def candidate(conversation: Conversation, config: Config, *, is_hard: bool) -> Candidate | None:
    """The oldest run of the shallowest depth that has enough summaries and tokens before the tail."""
    items = conversation.items
    tail = fresh_tail(conversation, config)
    end = len(items) if math.isinf(tail) else int(tail)
    depths = sorted({item.depth for item in items[:end] if isinstance(item, Summary)})
    for depth in depths:
        start, last, count, tokens = _oldest_run(items[:end], depth, config.leaf_chunk_tokens)
        if count >= config.fanout(depth, is_hard=is_hard) and tokens >= config.condensed_min_input:
            return Candidate(depth, start, last)
    return None


def _oldest_run(items: list[Row | Summary], depth: int, most: int) -> tuple[int, int, int, int]:
    """First and last index, number and tokens of those with a meaning, of the first run of a depth."""
    start, last, count, tokens = 0, -1, 0, 0
    for at, item in enumerate(items):
        if isinstance(item, Row) or item.depth != depth:
            if last >= 0:
                break
            continue
        has_meaning = bool(item.meaning)
        if not has_meaning and last < 0:
            continue
        if has_meaning and last >= 0 and tokens + item.size > most:
            break
        start = at if last < 0 else start
        last = at
        if has_meaning:
            count += 1
            tokens += item.size
        if tokens >= most:
            break
    return start, last, count, tokens


def summaries_outside_tail(conversation: Conversation, config: Config) -> int:
    """Tokens of the summaries before the tail."""
    tail = fresh_tail(conversation, config)
    end = len(conversation.items) if math.isinf(tail) else int(tail)
    return sum(item.size for item in conversation.items[:end] if isinstance(item, Summary))


def condensed_source(summaries: list[Summary], config: Config) -> str:
    """The summaries as blocks, each under its span of time; those without a readable text are left out."""
    return "\n\n".join(filter(None, (_block(summary, config) for summary in summaries)))


def _block(summary: Summary, config: Config) -> str:
    text = summary.meaning
    if not text:
        return ""
    if summary.earliest is None or summary.latest is None:
        return text
    first, last = (time_text(at, config.timezone) for at in (summary.earliest, summary.latest))
    return f"[{first} - {last}]\n{text}"


def condensed_of(id: str, summaries: list[Summary], depth: int, content: str, tokens: int) -> Summary:
    """The node over `summaries`, which are of `depth`."""
    starts = [summary.earliest for summary in summaries if summary.earliest is not None]
    ends = [summary.latest for summary in summaries if summary.latest is not None]
    return Summary(
        id, "condensed", depth + 1, content, tokens, min(starts, default=None), max(ends, default=None),
        sources=tuple(summary.id for summary in summaries),
        descendant_count=sum(summary.descendant_count + 1 for summary in summaries),
        descendant_tokens=sum(summary.tokens + summary.descendant_tokens for summary in summaries),
        source_tokens=sum(summary.source_tokens for summary in summaries),
    )  # fmt: skip
