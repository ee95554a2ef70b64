"""Replays of a session: the run, what charts draw of it, its windows in chunks, and the texts that only it holds."""

from __future__ import annotations

from contextviz.store.models.replay.run import (
    KeptSummaryRecord,
    RunChunkRecord,
    RunRecord,
    RunSeriesRecord,
    RunTextRecord,
)

__all__ = ["KeptSummaryRecord", "RunChunkRecord", "RunRecord", "RunSeriesRecord", "RunTextRecord"]
