"""Rebuilt windows held against what the client's own logs say of its requests."""

from __future__ import annotations

from contextviz.sources.checking.confirm import confirm

__all__ = ["confirm"]
