"""What every event of Copilot CLI's log has around its data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Event:
    """An event's envelope; `agent` is the sub-agent that it is of, None for the main one."""

    kind: str
    id: str
    at: datetime | None
    line: int
    agent: str | None
