"""Cursor's agent transcripts (formats.md D)."""

from __future__ import annotations

from contextviz.sources.cursor.reader import CursorReader

__all__ = ["CursorReader"]
