"""What happens in sessions while they go on: told once, as rows that every page and stream reads."""

from __future__ import annotations

from contextviz.services.live.feed import Earlier, earlier_of, forget_old, tell

__all__ = ["Earlier", "earlier_of", "forget_old", "tell"]
