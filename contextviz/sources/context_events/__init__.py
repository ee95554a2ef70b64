"""Events of the unified model, posted by an engine or kept as a file of lines (engines document, section 8)."""

from __future__ import annotations

from contextviz.sources.context_events.reader import ContextEventsReader

__all__ = ["ContextEventsReader"]
