"""A whole session back as the events it was saved from: for analyses in jobs and exports, not for pages."""

from __future__ import annotations

from collections.abc import Iterator

from contextviz.events.compaction import ContextRef, StoreMessage
from contextviz.events.message import ToolPair
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem, ContextSnapshot, ItemTable, SnapshotLog
from contextviz.store.models import (
    ContextRefRecord,
    ItemRecord,
    MessageRecord,
    SnapshotRecord,
    StoreMessageRecord,
    ToolPairRecord,
)
from contextviz.store.queries.calls import calls, compactions, problems
from contextviz.store.queries.engine_events import engine_events
from contextviz.store.queries.sessions import session_detail
from contextviz.store.queries.summaries import find_summary_store
from contextviz.store.queries.topics import topic_events, topics
from contextviz.store.rows.message import MESSAGES, PAIRS
from contextviz.store.rows.summary import CONTEXT_REFS, STORE_MESSAGES
from contextviz.store.rows.window import ITEMS, SNAPSHOT_COLUMNS, to_snapshot

ALL_ROWS = 2**62


def load_transcript(session_id: int, *, with_snapshots: bool = True) -> Transcript:
    """Everything that was read of a session; raises NotFound. A dozen queries, memory follows the session."""
    transcript = session_detail(session_id).transcript
    own = {"session_id": session_id}
    messages = MessageRecord.objects.filter(**own).order_by("index").values_list(*MESSAGES.columns)
    transcript.messages = [MESSAGES.to_event(row) for row in messages]
    pairs = ToolPairRecord.objects.filter(**own).order_by("index").values_list(*PAIRS.columns)
    transcript.pairs = [PAIRS.to_event(row) for row in pairs]
    transcript.calls = calls(session_id)
    transcript.compactions = compactions(session_id)
    transcript.problems = problems(session_id, limit=ALL_ROWS)
    if transcript.store:
        transcript.store = find_summary_store(session_id)
    transcript.topics = topics(session_id)
    transcript.topic_events = topic_events(session_id)
    transcript.engine_events = engine_events(session_id)
    if with_snapshots:
        transcript.log = load_snapshots(session_id)
    return transcript


def load_snapshots(session_id: int) -> SnapshotLog:
    """The snapshots with their item table. Two queries."""
    table = ItemTable()
    rows = ItemRecord.objects.filter(session_id=session_id).order_by("index").values_list(*ITEMS.columns)
    table.items.extend(ITEMS.to_event(row)[0] for row in rows)
    snapshots = SnapshotRecord.objects.filter(session_id=session_id).order_by("index").values_list(*SNAPSHOT_COLUMNS)
    return SnapshotLog(table, [to_snapshot(row) for row in snapshots])


# ---- by place, so that an export of any length needs little memory; one query each ----------------------------------
def items_between(session_id: int, start: int, stop: int) -> list[tuple[ContextItem, str]]:
    """Items with their categories, from place `start` up to but not `stop` of the session's item table."""
    found = ItemRecord.objects.filter(session_id=session_id, index__gte=start, index__lt=stop).order_by("index")
    return [ITEMS.to_event(row) for row in found.values_list(*ITEMS.columns)]


def snapshots_between(session_id: int, start: int, stop: int) -> list[tuple[ContextSnapshot, int]]:
    """Snapshots as differences, each with its estimated tokens."""
    found = SnapshotRecord.objects.filter(session_id=session_id, index__gte=start, index__lt=stop).order_by("index")
    return [(to_snapshot(row), row[-1]) for row in found.values_list(*SNAPSHOT_COLUMNS, "estimated_tokens")]


def pairs_between(session_id: int, start: int, stop: int) -> list[ToolPair]:
    """Tool calls with their results, in the order of the calls."""
    found = ToolPairRecord.objects.filter(session_id=session_id, index__gte=start, index__lt=stop).order_by("index")
    return [PAIRS.to_event(row) for row in found.values_list(*PAIRS.columns)]


def store_messages_between(session_id: int, start: int, stop: int) -> list[StoreMessage]:
    """Messages of the session's summary store, in its order."""
    found = StoreMessageRecord.objects.filter(session_id=session_id, index__gte=start, index__lt=stop)
    return [STORE_MESSAGES.to_event(row) for row in found.order_by("index").values_list(*STORE_MESSAGES.columns)]


def context_refs(session_id: int) -> Iterator[ContextRef]:
    """The store's current context, in order."""
    found = ContextRefRecord.objects.filter(session_id=session_id).order_by("index")
    return (CONTEXT_REFS.to_event(row) for row in found.values_list(*CONTEXT_REFS.columns).iterator())
