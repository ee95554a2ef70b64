"""What each model call was given: from the client's own request records, else by its rules."""

from __future__ import annotations

from contextviz.sources.claude_code.windows.record import Windows

__all__ = ["Windows"]
