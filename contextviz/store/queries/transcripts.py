"""A whole session back as the events it was saved from: for analyses in jobs and exports, not for pages."""

from __future__ import annotations

from contextviz.events.session import Transcript
from contextviz.events.snapshot import ItemTable, SnapshotLog
from contextviz.store.models import ItemRecord, MessageRecord, SnapshotRecord, ToolPairRecord
from contextviz.store.queries.calls import calls, compactions, problems
from contextviz.store.queries.sessions import session_detail
from contextviz.store.queries.summaries import find_summary_store
from contextviz.store.queries.topics import topic_events, topics
from contextviz.store.rows.message import MESSAGES, PAIRS
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
