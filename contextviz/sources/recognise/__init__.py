"""What context engines left in the sessions of every format (engines.md 8.3)."""

from __future__ import annotations

from contextviz.sources.recognise.marking import recognise
from contextviz.sources.recognise.pool import WatchedMemory, WatchedPool

__all__ = ["WatchedMemory", "WatchedPool", "recognise"]
