"""What the tables say of the installation's health: `state(now=)` → State; `left_waiting(now=)` → a number of jobs."""

from __future__ import annotations

from contextviz.services.doctor.state import State, StuckJob, left_waiting, state

__all__ = ["State", "StuckJob", "left_waiting", "state"]
