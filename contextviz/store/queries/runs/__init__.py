"""Replays: the runs of a session, and of one run any part in a number of queries that no size changes.

`get_run` is the door: the other reads take its row.
"""

from __future__ import annotations

from contextviz.store.queries.runs.listing import RunRow, count_of, find_by_config, get_run, runs_of
from contextviz.store.queries.runs.parts import (
    BoundaryMark,
    RunSeries,
    RunWindow,
    boundaries,
    calls,
    events,
    get_boundary,
    get_call,
    get_node,
    get_original,
    load_run,
    messages_at,
    nodes,
    originals,
    positions,
    series,
    window,
)

__all__ = [
    "BoundaryMark", "RunRow", "RunSeries", "RunWindow", "boundaries", "calls", "count_of", "events", "find_by_config",
    "get_boundary", "get_call", "get_node", "get_original", "get_run", "load_run", "messages_at", "nodes", "originals",
    "positions", "runs_of", "series", "window",
]  # fmt: skip
