"""What happens now: the Live feed, the sessions that grow, and what was posted."""

from __future__ import annotations

from contextviz.store.queries.live.feed import (
    MOST_EVENTS,
    LiveEvent,
    LiveFilter,
    live_after,
    live_bounds,
    live_newest,
)
from contextviz.store.queries.live.growing import (
    MOST_GROWING,
    Growing,
    LastCompaction,
    LastMessage,
    growing,
    told_since,
)
from contextviz.store.queries.live.inbox import InboxCount, inbox_counts, session_of_stream

__all__ = [
    "MOST_EVENTS", "MOST_GROWING", "Growing", "InboxCount", "LastCompaction", "LastMessage", "LiveEvent", "LiveFilter",
    "growing", "inbox_counts", "live_after", "live_bounds", "live_newest", "session_of_stream", "told_since",
]  # fmt: skip
