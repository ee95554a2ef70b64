"""Cortext's compaction state and the plain tables of its memory (engines document, section 4.6)."""

from __future__ import annotations

from contextviz.sources.cortext.reader import CortextReader

__all__ = ["CortextReader"]
