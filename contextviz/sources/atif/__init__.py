"""Trajectories in Harbor's ATIF (formats.md D)."""

from __future__ import annotations

from contextviz.sources.atif.reader import AtifReader

__all__ = ["AtifReader"]
