"""What agents post instead of writing files: kept row by row as it comes, read like a file that grows.

accept → tasks.enqueue on commit → digest, which gathers the stream's rows into a file first.
"""

from __future__ import annotations

from contextviz.services.inbox.gathering import gather
from contextviz.services.inbox.posting import Accepted, Posted, accept, open_waiting

__all__ = ["Accepted", "Posted", "accept", "gather", "open_waiting"]
