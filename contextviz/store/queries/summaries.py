"""Summary stores: nodes, the messages they cover, the current context."""

from __future__ import annotations

from collections.abc import Collection

from contextviz.events.compaction import StoreMessage, SummaryNode, SummaryStore
from contextviz.store.bulk import chunks
from contextviz.store.models import ContextRefRecord, StoreMessageRecord, SummaryNodeRecord
from contextviz.store.queries.sessions import session_detail
from contextviz.store.rows.summary import CONTEXT_REFS, NODES, STORE_MESSAGES
from contextviz.store.values import NotFound

QUERY_ROWS = 10_000


def nodes(session_id: int, *, start: int = 0, stop: int | None = None) -> list[SummaryNode]:
    """Summary nodes in the store's order, from place `start` up to but not `stop`. One query."""
    found = SummaryNodeRecord.objects.filter(session_id=session_id, index__gte=start).order_by("index")
    if stop is not None:
        found = found.filter(index__lt=stop)
    return [NODES.to_event(row) for row in found.values_list(*NODES.columns)]


def get_node(session_id: int, node_id: str) -> SummaryNode:
    """One node by the store's own id; raises NotFound. One query."""
    found = SummaryNodeRecord.objects.filter(session_id=session_id, source_id=node_id).order_by("index")
    row = found.values_list(*NODES.columns).first()
    if row is None:
        raise NotFound(f"Session {session_id} has no summary called {node_id[:80]}.")
    return NODES.to_event(row)


def known_nodes(session_id: int, ids: Collection[str]) -> frozenset[str]:
    """Which of these ids are summaries of the session's store; the first QUERY_ROWS of them. One query."""
    found = SummaryNodeRecord.objects.filter(session_id=session_id, source_id__in=list(ids)[:QUERY_ROWS])
    return frozenset(found.values_list("source_id", flat=True))


def store_messages(session_id: int, ids: Collection[str]) -> dict[str, StoreMessage]:
    """Messages of the store by id, unknown ones left out, in the store's order. One query."""
    rows: list[tuple[object, ...]] = []
    for part in chunks(set(ids), QUERY_ROWS):
        found = StoreMessageRecord.objects.filter(session_id=session_id, source_id__in=part)
        rows.extend(found.values_list("index", *STORE_MESSAGES.columns))
    rows.sort(key=lambda row: row[0])  # type: ignore[arg-type, return-value]
    return {message.id: message for message in (STORE_MESSAGES.to_event(row[1:]) for row in rows)}


def entries_of_calls(session_id: int, call_ids: Collection[str]) -> dict[str, str]:
    """For tool calls, by their ids, a transcript entry that the store ties to one of its messages of that call (the
    call or its result); without those of which it ties none. One query."""
    found = StoreMessageRecord.objects.filter(session_id=session_id, tool_call_id__in=list(call_ids))
    return dict(found.exclude(transcript_entry="").order_by("index").values_list("tool_call_id", "transcript_entry"))


def find_summary_store(session_id: int) -> SummaryStore | None:
    """The session's whole summary store, None where it has none. Five queries; for jobs, the graph and findings."""
    store = session_detail(session_id).transcript.store
    if store is None:
        return None
    store.nodes = nodes(session_id)
    messages = StoreMessageRecord.objects.filter(session_id=session_id).order_by("index")
    store.messages = [STORE_MESSAGES.to_event(row) for row in messages.values_list(*STORE_MESSAGES.columns)]
    context = ContextRefRecord.objects.filter(session_id=session_id).order_by("index")
    store.context = [CONTEXT_REFS.to_event(row) for row in context.values_list(*CONTEXT_REFS.columns)]
    return store
