"""What the only known reader of conversation maps, ClawClient, shows of one (engines document, 6.5).

It drops much: spawns, compactions, topics that are not declared, switches without a summary. What it drops is marked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from contextviz.engines.context_memory.model import ZERO, ConversationMap, MapEvent, Topic

MAIN = "main"
PREVIEW_BYTES, SUMMARY_BYTES = 100, 120
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(slots=True)
class ShownContext:
    """A topic as it is shown: its key as the name, its name as the summary. `last_event` is year 1 where the map gives
    no time that can be read; reading events does not move it."""

    name: str
    color: str
    last_event: datetime
    summary: str
    events: list[MapEvent] = field(default_factory=list)

    @property
    def preview(self) -> str:
        """The beginning of its last event that says anything."""
        said = next((event.summary for event in reversed(self.events) if event.summary), "")
        return cut_bytes(said, PREVIEW_BYTES)


@dataclass(frozen=True, slots=True)
class ClawView:
    """All of it. `timeline` and `listed` are in the order shown; `dropped` are the events it shows nowhere, each with
    why."""

    contexts: dict[str, ShownContext]
    timeline: tuple[ShownContext, ...]
    listed: tuple[ShownContext, ...]
    switches: tuple[MapEvent, ...]
    dropped: tuple[tuple[MapEvent, str], ...]

    def infer(self, at: datetime) -> str:
        """The topic of a message of that time."""
        return infer_context(self.switches, at)


def color_of(name: str) -> str:
    """The colour of a topic that declares none: by the MD5 of its name."""
    digest = hashlib.md5(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    hue = (digest[0] + 2 * digest[1]) % 360
    return f"hsl({hue}, {55 + digest[2] % 30}%, {55 + digest[3] % 20}%)"


def cut_bytes(text: str, most: int) -> str:
    """The first bytes of a text and an ellipsis; a letter that the cut halves is U+FFFD."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= most else raw[:most].decode("utf-8", "replace") + "…"


def infer_context(switches: Sequence[MapEvent], at: datetime) -> str:
    """The topic of the last switch up to `at`; `main` before the first."""
    ordered = sorted(switches, key=lambda event: event.at or ZERO)
    return next((event.topic for event in reversed(ordered) if (event.at or ZERO) <= at), MAIN)


def date_label(at: datetime, now: datetime) -> str:
    """The label above a day of the timeline."""
    if at <= ZERO:
        return "Unknown"
    if at.date() == now.date():
        return "Today"
    if at.date() == (now - timedelta(days=1)).date():
        return "Yesterday"
    if timedelta() <= now - at < timedelta(days=7):
        return _DAYS[at.weekday()]
    return f"{_MONTHS[at.month - 1]} {at.day}"


def clawclient_view(made: ConversationMap) -> ClawView:
    """What ClawClient shows after reading a map once."""
    contexts = {key: _shown(topic) for key, topic in made.topics.items()}
    accepted: list[MapEvent] = []
    dropped: list[tuple[MapEvent, str]] = []
    seen: set[tuple[str, str]] = set()
    for event in made.events:
        why = _why_dropped(event, contexts, seen)
        if why is not None:
            dropped.append((event, why))
            continue
        seen.add((event.topic, event.id))
        contexts[event.topic].events.append(event)
        accepted.append(event)
    newest = sorted(contexts.values(), key=lambda one: one.last_event, reverse=True)
    return ClawView(
        contexts, tuple(one for one in newest if one.events), tuple(one for one in newest if one.name != MAIN),
        tuple(accepted), tuple(dropped),
    )  # fmt: skip


def _shown(topic: Topic) -> ShownContext:
    return ShownContext(topic.key, topic.color or color_of(topic.key), topic.touched or ZERO, topic.name)


def _why_dropped(event: MapEvent, contexts: dict[str, ShownContext], seen: set[tuple[str, str]]) -> str | None:
    if event.kind == "compaction":
        return "it shows no compactions"
    if event.kind != "context_switch":
        return "it shows switches alone"
    if not event.topic or not event.summary:
        return "a switch without a topic or a summary is not shown"
    if event.topic not in contexts:
        return "its topic is not declared"
    if (event.topic, event.id) in seen:
        return "an event of that id is shown in that topic already"
    return None
