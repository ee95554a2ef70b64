"""Runs: what a replay by an engine gave, with its windows as differences (design, section 2)."""

from __future__ import annotations

from contextviz.events.run.records import (
    Plain,
    Run,
    RunBoundary,
    RunCall,
    RunMessage,
    RunOriginal,
    RunSettings,
)
from contextviz.events.run.windows import KEY_EVERY, WindowEdit, WindowLog, edit_between

__all__ = [
    "KEY_EVERY",
    "Plain",
    "Run",
    "RunBoundary",
    "RunCall",
    "RunMessage",
    "RunOriginal",
    "RunSettings",
    "WindowEdit",
    "WindowLog",
    "edit_between",
]
