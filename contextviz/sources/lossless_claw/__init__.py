"""lossless-claw's summary store `lcm.db` (docs/formats/lossless-claw.md)."""

from __future__ import annotations

from contextviz.sources.lossless_claw.reader import LosslessClawReader

__all__ = ["LosslessClawReader"]
