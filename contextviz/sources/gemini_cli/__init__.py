"""Gemini CLI's recorded chats (formats.md D)."""

from __future__ import annotations

from contextviz.sources.gemini_cli.reader import GeminiCliReader

__all__ = ["GeminiCliReader"]
