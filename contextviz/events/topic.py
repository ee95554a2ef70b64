"""Topics: what an agent worked on, from a conversation map."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from contextviz.events.text import TextRef

TopicEventKind = Literal["context_switch", "agent_spawn", "compaction"]


@dataclass(slots=True)
class Topic:
    """One context of a conversation map. `thread` and `status_note` are its THREAD.md and STATUS.md."""

    slug: str
    name: str
    color: str | None = None
    status: str | None = None
    created_at: datetime | None = None
    last_active_at: datetime | None = None
    is_declared: bool = True
    thread: TextRef | None = None
    status_note: TextRef | None = None


@dataclass(slots=True)
class TopicEvent:
    """One event of a conversation map. `at_basis` is "inherited" where a spawn takes its parent's time."""

    id: str | None
    kind: TopicEventKind
    topic: str | None
    at: datetime | None
    at_basis: Literal["recorded", "inherited", "unknown"] = "recorded"
    trigger: str | None = None
    summary: str | None = None
    parent_id: str | None = None
    model: str | None = None
    task: str | None = None
    duration_ms: int | None = None
    result: str | None = None
    artifacts: list[str] = field(default_factory=list)
    active_topics: list[str] = field(default_factory=list)
    source: str = "map"
