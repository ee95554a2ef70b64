"""OpenCode's message parts to blocks, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.message import Block
from contextviz.events.text import TextPool
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.content import dumps, media, tool_call, tool_results
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.usage import plus
from contextviz.sources.values import as_dict, as_float, as_list, as_text

CLEARED = "[Old tool result content cleared]"
ASKED_BEFORE_SUMMARY = "What did we do so far?"
# Parts that say what happened and are no content: patches and file snapshots of the workspace.
SILENT = frozenset({"step-start", "snapshot", "patch", "compaction", "retry"})


@dataclass(slots=True)
class Step:
    """What one model call of an answer gave: blocks `start` to `end` of its message, and its usage."""

    start: int
    end: int
    usage: TokenUsage | None


@dataclass(slots=True)
class Parts:
    """A message's parts: its blocks, its steps, what was pruned of them when, and parts of unknown types."""

    blocks: list[Block] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    cleared: dict[int, datetime] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    is_compaction: bool = False
    is_auto: bool | None = None
    retries: int = 0


def read_parts(values: list[Any], pool: TextPool, *, is_user: bool) -> Parts:
    """The parts in their order. A tool part is the call and its result."""
    parts = Parts()
    start = 0
    for value in values:
        part = as_dict(value)
        kind = as_text(part.get("type")) or "no type"
        if kind == "step-finish":
            parts.steps.append(Step(start, len(parts.blocks), usage_of(part)))
            start = len(parts.blocks)
        elif kind == "compaction":
            parts.is_compaction = True
            parts.is_auto = part.get("auto") if isinstance(part.get("auto"), bool) else None
            parts.blocks.append(Block("injected", pool.put(ASKED_BEFORE_SUMMARY)))
        elif kind == "retry":
            parts.retries += 1
        elif kind == "tool":
            _tool(part, parts, pool)
        elif kind not in SILENT:
            block = _block(part, kind, pool, is_user=is_user)
            if block is None:
                parts.unknown.append(kind)
                block = Block("injected", pool.put(dumps(part)))
            parts.blocks.append(block)
    return parts


def _block(part: Mapping[str, Any], kind: str, pool: TextPool, *, is_user: bool) -> Block | None:
    if kind == "text":
        text = pool.put(as_text(part.get("text")) or "")
        is_added = is_user and part.get("synthetic") is True
        return Block("injected" if is_added else "text", text)
    if kind == "reasoning":
        return Block("thinking", pool.put(as_text(part.get("text")) or ""))
    if kind == "file":
        return media(pool, part.get("url"), part.get("mime"))
    if kind == "subtask":
        return Block("text", pool.put(as_text(part.get("prompt")) or as_text(part.get("description")) or ""))
    if kind == "agent":
        return Block("injected", pool.put(as_text(part.get("name")) or ""))
    return None


def _tool(part: Mapping[str, Any], parts: Parts, pool: TextPool) -> None:
    state = as_dict(part.get("state"))
    name, call = part.get("tool"), part.get("callID")
    parts.blocks.append(tool_call(pool, name, state.get("input"), call))
    status = state.get("status")
    if status not in ("completed", "error"):
        return
    is_error = status == "error"
    content = state.get("error") if is_error else state.get("output")
    results = tool_results(pool, content if content is not None else "", name, call, is_error=is_error)
    at = instant(as_dict(state.get("time")).get("compacted"))
    for block in results:
        if at is not None:
            parts.cleared[len(parts.blocks)] = at
        parts.blocks.append(block)
    parts.blocks.extend(
        media(pool, as_dict(one).get("url"), as_dict(one).get("mime")) for one in as_list(state.get("attachments"))
    )


def usage_of(holder: Mapping[str, Any]) -> TokenUsage | None:
    """The tokens of a step or a message: input without cache, output without reasoning (formats.md H)."""
    tokens = as_dict(holder.get("tokens"))
    if not tokens:
        return None
    cache = as_dict(tokens.get("cache"))
    counts = Counts()
    reasoning = counts.answer(tokens.get("reasoning"), "reasoning")
    return counts.apart(
        counts.prompt(tokens.get("input"), "input"),
        counts.prompt(cache.get("read"), "cache.read"),
        counts.prompt(cache.get("write"), "cache.write"),
        plus(counts.answer(tokens.get("output"), "output"), reasoning),
        reasoning,
        cost_usd=as_float(holder.get("cost")) or None,
    )
