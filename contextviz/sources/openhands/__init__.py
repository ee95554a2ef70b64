"""OpenHands: evaluation outputs, event streams, and the SDK's conversation folders (formats.md D)."""

from __future__ import annotations

from contextviz.sources.openhands.reader import OpenHandsReader

__all__ = ["OpenHandsReader"]
