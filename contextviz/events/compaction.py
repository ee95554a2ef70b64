"""Compactions and the summaries they leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextviz.events.text import TextRef

CompactionKind = Literal["summary", "trim", "clear", "reset", "microcompact"]
NodeKind = Literal["leaf", "condensed", "rolling"]


@dataclass(slots=True)
class Compaction:
    """One event that replaced items of the window; one per event even where a format writes two records.

    `tokens_before` and `tokens_after` are the client's own numbers. `kept` are entry ids kept from before;
    `context_items` the window right after, as `"summary <id>"` or entry ids. `before_call`/`after_call` index
    Transcript.calls (same agent): the last call before and the first after. `duration_seconds` where written.
    """

    id: str | None
    number: int
    line: int | None
    file: str
    at: datetime | None
    kind: CompactionKind
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    summary: TextRef | None = None
    first_kept: str | None = None
    kept: list[str] = field(default_factory=list)
    context_items: list[str] = field(default_factory=list)
    on_active_path: bool = True
    problem: str | None = None
    agent: str | None = None
    before_call: int | None = None
    after_call: int | None = None
    message_index: int | None = None
    duration_seconds: float | None = None
    producer: str | None = None
    summary_note: str | None = None


@dataclass(frozen=True, slots=True)
class ToldSize:
    """What a client told of its window: `tokens` right after compaction `number`; calls from `first_call` (the number
    people read) on came after it."""

    number: int
    first_call: int
    tokens: int | None


def told_size(told: Sequence[ToldSize], call: int, known: int | None) -> ToldSize | None:
    """What the client told of a window whose usage was not reported, where that says more than the tokens `known`, in
    order to show it instead; else None. `told` are one window's, in order, those of branches that were left aside.

    What was sent since the compaction comes on top, so it is the least that the window held; the client's own prompt
    and tools, which logs leave out, are in it."""
    last = next((one for one in reversed(told) if one.first_call <= call), None)
    return last if last is not None and last.tokens is not None and last.tokens > (known or 0) else None


@dataclass(slots=True)
class SummaryNode:
    """One summary. `made_from` are the summaries condensed into it (lossless-claw calls these its parents);
    `covers` the message ids it was made from directly (leaves only). `given` is the text the model gets for it,
    the engine's wrapper included, where a rule says what that is."""

    id: str
    kind: NodeKind
    depth: int
    stored_depth: int | None
    tokens: int | None
    text: TextRef
    made_from: list[str] = field(default_factory=list)
    consumers: list[str] = field(default_factory=list)
    covers: list[str] = field(default_factory=list)
    in_context: bool = False
    model: str | None = None
    earliest_at: datetime | None = None
    latest_at: datetime | None = None
    created_at: datetime | None = None
    conversation: str | None = None
    given: TextRef | None = None


@dataclass(frozen=True, slots=True)
class StoreMessage:
    """A message row of a summary store. `tokens` is the store's own number; `transcript_entry` ties it to the
    host's transcript where the store writes that."""

    id: str
    conversation: str
    seq: int
    role: str
    text: TextRef
    tokens: int | None
    at: datetime | None
    tool_call_id: str | None = None
    transcript_entry: str | None = None


@dataclass(frozen=True, slots=True)
class ContextRef:
    """One row of a store's current context, in order."""

    kind: Literal["message", "summary"]
    id: str


@dataclass(slots=True)
class SummaryStore:
    """What a summary store (lossless-claw, flowctx) holds for one session, as written; `facts` are further
    counts of its own. Integrity findings are computed from it by analysis.summary_graph."""

    engine: str
    file: str
    conversations: list[str] = field(default_factory=list)
    nodes: list[SummaryNode] = field(default_factory=list)
    messages: list[StoreMessage] = field(default_factory=list)
    context: list[ContextRef] = field(default_factory=list)
    facts: dict[str, int | str | None] = field(default_factory=dict)
