"""The envelope of one event, checked: what is an event, and why something is none.

Rules: engines document, sections 8.1 and 8.2. Required fields are those marked there; everything else may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.times import instant
from contextviz.sources.values import as_dict, as_int, as_text, shown

VERSION = 1
LONGEST_NAME = 32
LONGEST_ID = 500
MOST_SEQ = 2**63 - 1
# The types of section 8.2 with the fields of `data` that each must have.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "session.bootstrap": (),
    "session.dispose": (),
    "message.ingested": ("msg",),
    "context.assembled": ("segments", "total"),
    "compaction.evaluated": ("current", "threshold", "should"),
    "compaction.started": (),
    "compaction.finished": ("tokensBefore", "tokensAfter"),
    "window.moved": ("anchor", "cutIndex"),
    "window.cleared": ("why",),
    "summary.created": ("node",),
    "summary.replaced": ("ids",),
    "block.compressed": ("original", "kept"),
    "message.trimmed": ("msg", "tokensSaved"),
    "retrieve": ("tool", "key", "hit"),
    "recall.injected": ("items",),
    "gate.segment": ("stream", "chars"),
    "gate.fired": ("kind",),
    "answer.revised": (),
    "consolidation": ("where",),
    "topic.switch": ("id", "topic"),
    "topic.status": ("topic", "status"),
    "agent.spawn": ("id",),
    "agent.end": ("id", "status"),
    "maintenance.debt": ("pending",),
    "llm.call": ("purpose",),
    "engine.error": ("message",),
}
TYPES = frozenset(REQUIRED)


class NoEvent(Exception):
    """A record that is no event of the model; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event. `seq` orders events; where none is written, the order of arrival does."""

    type: str
    engine: str
    session: str | None
    seq: int | None
    id: str | None
    at: datetime | None
    has_time: bool
    run: str | None
    turn: int | None
    quality: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What makes it one within its session: its number, else its id."""
        return f"seq {self.seq}" if self.seq is not None else f"id {self.id}"


def envelope_of(record: Any) -> Envelope:
    """The event that `record` is. Raises NoEvent with the reason where it is none."""
    value = as_dict(record)
    if not value:
        raise NoEvent("not a JSON object")
    kind = as_text(value.get("type"))
    if kind is None:
        raise NoEvent("it has no type")
    if kind not in TYPES:
        raise NoEvent(f"the type {kind[:60]!r} is not one of the model's")
    if value.get("v", VERSION) != VERSION:
        raise NoEvent(f"its version is {str(value['v'])[:20]}; this reads version {VERSION}")
    engine = as_text(value.get("engine"))
    if not engine or len(engine) > LONGEST_NAME:
        raise NoEvent("it names no engine (1 to 32 characters)")
    data = value.get("data", {})
    if not isinstance(data, dict):
        raise NoEvent("its data is not an object")
    missing = [name for name in REQUIRED[kind] if name not in data]
    if missing:
        raise NoEvent(f"its data lacks {', '.join(missing)}")
    seq, own = _number(value.get("seq")), _identifier(value.get("id"))
    if seq is None and own is None:
        raise NoEvent("it has neither seq nor id, so it could not be told from the same event sent again")
    stamp = value.get("ts")
    return Envelope(
        kind, engine, as_text(value.get("session")), seq, own, instant(stamp), stamp is not None,
        as_text(value.get("run")), as_int(value.get("turn")), as_text(value.get("quality")) or "exact", data,
    )  # fmt: skip


def _number(value: Any) -> int | None:
    """An event's number; None where none is written. Raises NoEvent for what is none: were it rounded or left out, two
    events would be taken for one, or one for two."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 20.0: the same number in JSON
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_SEQ:
        raise NoEvent(f"its seq {shown(value)} is no whole number from 0 to {MOST_SEQ}")
    return value


def _identifier(value: Any) -> str | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if 0 < len(text) <= LONGEST_ID else None


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether a file's record looks like an event: cheap, for detection."""
    return as_text(record.get("type")) in TYPES and "engine" in record and isinstance(record.get("data", {}), dict)
