"""A session's summary graph with its message lane, kept for a while: laying it out reads every message."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from contextviz.analysis.summary_graph import graph, rolling_store
from contextviz.events.compaction import StoreMessage, SummaryStore
from contextviz.store.queries import engine_events, summaries, transcripts
from contextviz.store.values import SessionRow
from contextviz.web.pages.graph.outline import MOST_BUCKETS, Bucket, GraphReading, outline

MOST_MESSAGES = 4_000
KEPT = 8
ROLES = {"user": "user", "assistant": "assistant", "toolResult": "result", "tool": "result", "system": "system"}


def read_graph(row: SessionRow) -> GraphReading | None:
    """The graph of a session; None where there is neither a store, nor a compaction, nor a summary that an engine left
    in a message. One query where there is none of the first two."""
    if not row.node_count and not row.compaction_count and not engine_events.has_artefact(row.id, "summary.created"):
        return None
    if not row.node_count and row.message_count > MOST_MESSAGES:
        return _outlined(row.id, row.revision, row.updated_at, row.message_count)
    return _read(row.id, row.revision, row.updated_at, bool(row.node_count))


@lru_cache(maxsize=KEPT)
def _outlined(session_id: int, revision: int, updated_at: datetime, message_count: int) -> GraphReading:
    return outline(session_id, message_count)


@lru_cache(maxsize=KEPT)
def _read(session_id: int, revision: int, updated_at: datetime, has_nodes: bool) -> GraphReading:
    # The revision and the time are the key: a session that changed is read again.
    store = summaries.find_summary_store(session_id) if has_nodes else None
    source = "store"
    if store is None:
        store = rolling_store(transcripts.load_transcript(session_id, with_snapshots=False))
        source = "rolling"
    found = graph(store)
    tokens = {message.id: message.tokens for message in store.messages}
    return GraphReading(found, _buckets(store), source, tokens, is_checked=True)


def _buckets(store: SummaryStore) -> list[Bucket]:
    count = len(store.messages)
    if not count:
        return []
    lit = {item.id for item in store.context if item.kind == "message"}
    size = -(-count // MOST_BUCKETS)
    parts = [store.messages[start : start + size] for start in range(0, count, size)]
    sums = [sum(message.tokens or 0 for message in part) for part in parts]
    largest = max(sums) or 1
    return [
        Bucket(at * size / count, total / largest, _category(part), any(one.id in lit for one in part))
        for at, (part, total) in enumerate(zip(parts, sums, strict=True))
    ]


def _category(part: Sequence[StoreMessage]) -> str:
    largest = max(part, key=lambda message: message.tokens or 0)
    return ROLES.get(largest.role, "result")
