"""CONTEXT_LOG.md: the skill's own diary, newest first (engines.md 6.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from contextviz.events.times import instant
from contextviz.events.topic import TopicEventKind

MAX_SUMMARY_CHARS = 4000
_DASH = r"\s*[—–-]\s*"
_DATE = re.compile(r"^##\s+(\d{4}-\d\d-\d\d)\s*$")
_ENTRY = re.compile(rf"^###\s+(\d{{1,2}}:\d\d){_DASH}\[(CONTEXT:\s*([^\]]+)|COMPACTION)\](.*)$", re.IGNORECASE)
_TRIGGER = re.compile(r"triggered by:\s*(.+)$", re.IGNORECASE)
_ACTIVE = re.compile(r"^\s*-\s+Active contexts at compaction:\s*(.*)$", re.IGNORECASE)
_AGENT = re.compile(r"^\s*-\s+(ctx-[\w-]+-a\d+):\s*(.*)$")
_BULLET = re.compile(r"^\s*-\s+(.*)$")
_MINUTES = re.compile(r"^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?$")


@dataclass(slots=True)
class LogSpawn:
    """A sub-agent bullet: its id and what the line claims."""

    id: str
    model: str | None
    duration_ms: int | None
    text: str | None


@dataclass(slots=True)
class LogEntry:
    """One heading of the log with its bullets. `at` is the written local time taken as if it were UTC."""

    kind: TopicEventKind
    topic: str | None
    at: datetime | None
    line: int
    trigger: str | None = None
    bullets: list[str] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    spawns: list[LogSpawn] = field(default_factory=list)

    @property
    def summary(self) -> str | None:
        """Its bullets as one text, None without any."""
        return "\n".join(self.bullets)[:MAX_SUMMARY_CHARS] or None


def read_log(text: str) -> list[LogEntry]:
    """The entries in the order they are written; lines that are none of its forms are text, not entries."""
    entries: list[LogEntry] = []
    date: str | None = None
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip()
        day, heading = _DATE.match(line), _ENTRY.match(line)
        if day is not None:
            date = day.group(1)
        elif heading is not None:
            entries.append(_entry(heading, date, number))
        elif entries:
            _bullet(entries[-1], line)
    return entries


def _entry(heading: re.Match[str], date: str | None, number: int) -> LogEntry:
    clock, _, topic, rest = heading.groups()
    at = instant(f"{date}T{clock.zfill(5)}:00") if date else None
    trigger = _TRIGGER.search(rest or "")
    if topic is None:
        return LogEntry("compaction", None, at, number)
    return LogEntry("context_switch", topic.strip(), at, number, trigger.group(1).strip() if trigger else None)


def _bullet(entry: LogEntry, line: str) -> None:
    active, agent, bullet = _ACTIVE.match(line), _AGENT.match(line), _BULLET.match(line)
    if active is not None:
        entry.active.extend(name.strip() for name in active.group(1).split(",") if name.strip())
    elif agent is not None:
        entry.spawns.append(_spawn(agent.group(1), agent.group(2)))
    elif bullet is not None:
        entry.bullets.append(bullet.group(1))


def _spawn(name: str, rest: str) -> LogSpawn:
    parts = [part.strip() for part in rest.split(",", 2)]
    duration = duration_ms(parts[1]) if len(parts) > 1 else None
    text = ", ".join(parts[2:] if duration is not None else parts[1:]) or None
    return LogSpawn(name, parts[0] or None, duration, text)


def duration_ms(text: str) -> int | None:
    """`3m42s` as milliseconds, None for anything else."""
    found = _MINUTES.match(text)
    if found is None or not text:
        return None
    hours, minutes, seconds = found.groups()
    return round((int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)) * 1000)


def zone_shift(log: Iterable[tuple[str, datetime]], known: Iterable[tuple[str, datetime]]) -> timedelta:
    """What to add to the log's times: the log is in an unnamed local zone, the map names its own.

    The quarter-hour shift (at most 14 h) under which most entries fall on the same minute as the map's entry of
    the same topic; none unless at least two do and more than without a shift.
    """
    places: dict[str, set[datetime]] = {}
    for topic, at in known:
        places.setdefault(topic, set()).add(at.replace(second=0, microsecond=0))
    votes: dict[timedelta, int] = {}
    for topic, at in list(log)[:500]:
        for other in places.get(topic, ()):
            shift = other - at
            if abs(shift) <= timedelta(hours=14) and shift % timedelta(minutes=15) == timedelta():
                votes[shift] = votes.get(shift, 0) + 1
    best = max(votes, key=lambda shift: (votes[shift], -abs(shift)), default=timedelta())
    return best if votes.get(best, 0) >= 2 and votes[best] > votes.get(timedelta(), 0) else timedelta()
