"""What the tables say of the installation's health: `state(now=)` → State."""

from __future__ import annotations

from contextviz.services.doctor.state import State, StuckJob, state

__all__ = ["State", "StuckJob", "state"]
