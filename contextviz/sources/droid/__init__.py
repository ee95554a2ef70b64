"""Factory Droid's sessions (formats.md D)."""

from __future__ import annotations

from contextviz.sources.droid.reader import DroidReader

__all__ = ["DroidReader"]
