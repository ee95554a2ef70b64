"""OpenCode's exported sessions (formats.md D)."""

from __future__ import annotations

from contextviz.sources.opencode.reader import OpenCodeReader

__all__ = ["OpenCodeReader"]
