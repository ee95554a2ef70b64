"""Checkpoints of Entire: transcripts of other agents, stored whole again and again (formats.md D)."""

from __future__ import annotations

from contextviz.sources.checkpoints.choosing import Choice, choose
from contextviz.sources.checkpoints.reader import CheckpointReader

__all__ = ["CheckpointReader", "Choice", "choose"]
