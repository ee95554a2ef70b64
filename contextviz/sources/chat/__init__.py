"""Request and reply bodies of the model providers, chat arrays and ShareGPT (formats.md D)."""

from __future__ import annotations

from contextviz.sources.chat.reader import ChatReader

__all__ = ["ChatReader"]
