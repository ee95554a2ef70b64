"""What a complete viewer shows of a conversation map: everything, with what ClawClient leaves out marked (6.5)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from contextviz.engines.context_memory.clawclient import clawclient_view, color_of
from contextviz.engines.context_memory.model import ZERO, ConversationMap, MapEvent


@dataclass(frozen=True, slots=True)
class FullTopic:
    """A topic with its own name and colour (by ClawClient's rule where it has none), declared or not. `last_active` is
    the later of what it says and of its last switch."""

    key: str
    name: str
    color: str
    status: str
    is_declared: bool
    last_active: datetime | None
    events: int


@dataclass(frozen=True, slots=True)
class FullEvent:
    """An event at its time (a spawn at its parent's) until its end. `is_in_clawclient` says whether that shows it."""

    event: MapEvent
    at: datetime | None
    end: datetime | None
    is_in_clawclient: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class FullView:
    """All topics, and all events in the order of their times (those without one first)."""

    topics: dict[str, FullTopic]
    events: tuple[FullEvent, ...]


def full_view(made: ConversationMap) -> FullView:
    """Everything a map tells."""
    why = {event.number: reason for event, reason in clawclient_view(made).dropped}
    shown = [_shown(event, why) for event in made.events]
    shown.sort(key=lambda one: one.at or ZERO)
    named = [*made.topics, *(topic for event in made.events for topic in (event.topic, *event.active) if topic)]
    return FullView({key: _topic(key, made) for key in dict.fromkeys(named)}, tuple(shown))


def _shown(event: MapEvent, why: dict[int, str]) -> FullEvent:
    at = event.placed
    end = at
    if at is not None and event.duration_ms is not None and 0 <= event.duration_ms < 10**12:
        end = at + timedelta(milliseconds=event.duration_ms)
    return FullEvent(event, at, end, event.number not in why, why.get(event.number, ""))


def _topic(key: str, made: ConversationMap) -> FullTopic:
    declared = made.topics.get(key)
    own = [event for event in made.events if event.topic == key]
    times = [event.at for event in own if event.kind == "context_switch"]
    if declared is not None:
        times.append(declared.touched)
    return FullTopic(
        key, (declared.name if declared else "") or key, (declared.color if declared else "") or color_of(key),
        declared.status if declared else "", declared is not None,
        max((at for at in times if at is not None), default=None), len(own),
    )  # fmt: skip
