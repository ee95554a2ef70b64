"""Conversation maps of the context-memory skill (formats.md E.4, engines.md 6)."""

from __future__ import annotations

from contextviz.sources.conversation_map.reader import ConversationMapReader

__all__ = ["ConversationMapReader"]
