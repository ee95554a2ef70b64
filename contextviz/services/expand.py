"""Expanding a summary: what lies directly under it, and every message that it stands for."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from contextviz.analysis.summary_graph import graph, rolling_store
from contextviz.events.compaction import SummaryStore
from contextviz.services.jobs import JobFailed, JobRun, open_job, perform
from contextviz.store.queries import sessions, summaries, transcripts
from contextviz.store.values import NotFound

MOST_MESSAGES = 50_000  # ids in the job's result; more are counted, and the page says so


def open_expand(session_id: int, node_id: str, *, now: datetime) -> UUID:
    """A job that expands the summary `node_id` (the store's own id); enqueue it after commit. Raises NotFound."""
    sessions.get_session(session_id)
    return open_job("expand_summary", now=now, params={"node": node_id}, session_id=session_id)


def expand_summary(job_id: UUID | str) -> bool:
    """Do an expand job; its result is `{node, kind, depth, children: [{kind, id}], message_ids, message_count,
    message_source: "store"|"transcript"}`. False where another process has it."""
    return perform(job_id, _expand)


def _expand(run: JobRun) -> str:
    node_id = str(run.params["node"])
    if run.session_id is None:
        raise JobFailed("The session of this summary was deleted.", can_retry=False)
    run.progress(0, 3, force=True)
    store, source = _store_of(run.session_id)
    run.progress(1, 3, force=True)
    found = graph(store)
    node = found.node(node_id)
    if node is None:
        raise JobFailed(f"This session has no summary called {node_id[:80]}.", can_retry=False)
    children = found.expand(node_id)
    covered = found.covered_messages(node_id)
    run.progress(2, 3, force=True)
    run.result = {
        "node": node_id,
        "kind": node.kind,
        "depth": node.depth,
        "children": [{"kind": child.kind, "id": child.id} for child in children[:MOST_MESSAGES]],
        "message_ids": covered[:MOST_MESSAGES],
        "message_count": len(covered),
        "message_source": source,
    }
    under = sum(child.kind == "summary" for child in children)
    made_from = f"made from {under} summaries, " if under else ""
    return f"Summary {node_id[:40]}: {made_from}standing for {len(covered)} messages."


def _store_of(session_id: int) -> tuple[SummaryStore, str]:
    """A session's summary store; without one, what its own compactions folded."""
    try:
        store = summaries.find_summary_store(session_id)
        if store is not None:
            return store, "store"
        return rolling_store(transcripts.load_transcript(session_id, with_snapshots=False)), "transcript"
    except NotFound as error:
        raise JobFailed(str(error), can_retry=False) from error
