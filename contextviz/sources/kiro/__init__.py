"""Kiro's sessions: the CLI's logs, saved conversations and the IDE's (formats.md D)."""

from __future__ import annotations

from contextviz.sources.kiro.reader import KiroReader

__all__ = ["KiroReader"]
