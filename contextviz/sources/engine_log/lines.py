"""The lines of a log that an engine wrote: JSON lines of a plugin or of the host, or plain text lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from contextviz.events.session import LineCounts
from contextviz.events.times import instant
from contextviz.sources.lines import bounded_lines, parse_object
from contextviz.sources.values import as_dict, as_text

MAX_LINE_BYTES = 1024 * 1024
LOOKED_AT = 200
_STAMP = re.compile(r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?Z|[+-]\d\d:?\d\d)?)\]?[ \t]{1,4}")
# What a host's logger writes between the time and the engine's own words: `[INFO]`, `info:`, `[plugins]`, `gateway |`.
_LEAD = re.compile(r"^(?:(?:\[(?!lcm\]|flowctx)[\w@/:.-]{1,60}\]|(?!cortext:)[A-Za-z]{4,8}:|\|)[ \t]{1,4}){0,4}")
_ENGINE = re.compile(
    r"\[lcm\] |\[flowctx(?::(?:trigger|engine))?\] |flowctx-dsh layered drain |cortext (?:plugin|compaction|interrupt"
    r" gate|gate(?: error)?): |cortext: (?:before_agent_finalize|revising answer)"
    r"|LCM compaction (?:leaf|condensed) pass \("
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One message of a log, with its line (from 1) and time; `level` in lower case."""

    line: int
    at: datetime | None
    level: str
    message: str


def is_log_record(record: dict[str, Any]) -> bool:
    """Whether a JSON object is a line of lossless-claw's own log, or of OpenClaw's log."""
    if not isinstance(record.get("message"), str) or "time" not in record or "role" in record:
        return False
    is_own = isinstance(record.get("plugin"), str) and isinstance(record.get("level"), str)
    meta = as_dict(record.get("_meta"))
    return is_own or ("logLevelName" in meta and "date" in meta)


def is_text_log(head: bytes) -> bool:
    """Whether one of a file's first 200 lines is an engine's, with nothing before it but what loggers write."""
    for line in head.split(b"\n", LOOKED_AT)[:LOOKED_AT]:
        text = line[:2000].decode("utf-8", errors="replace")
        if _ENGINE.match(_without_lead(text)[1]):
            return True
    return False


def log_lines(path: Path, counts: LineCounts) -> Iterator[LogLine]:
    """Every line of a log that may be an engine's, while `counts` fills: lines of others are counted as read."""
    with path.open("rb") as raw:
        for number, (line, is_ended, is_too_long) in enumerate(bounded_lines(raw, MAX_LINE_BYTES), start=1):
            counts.total += 1
            if is_too_long:
                counts.malformed.append(number)
                continue
            body = line.replace(b"\x00", b"").strip()
            if not body:
                counts.blank += 1
                continue
            found = _json_line(number, body) if body.startswith(b"{") else _text_line(number, body)
            if found is not None:
                counts.read += 1
                yield found
            elif is_ended:
                counts.malformed.append(number)
            else:
                counts.in_progress = number


def _json_line(number: int, body: bytes) -> LogLine | None:
    parsed = parse_object(body)
    if parsed is None:
        return None
    record = parsed[0]
    message = as_text(record.get("message")) or as_text(record.get("1")) or ""
    level = as_text(record.get("level")) or as_text(as_dict(record.get("_meta")).get("logLevelName")) or ""
    at = instant(record.get("time")) or instant(as_dict(record.get("_meta")).get("date"))
    return LogLine(number, at, level[:20].lower(), message)


def _text_line(number: int, body: bytes) -> LogLine:
    text = body.decode("utf-8", errors="replace")
    at, message = _without_lead(text)
    level = re.search(r"\b(ERROR|WARN|INFO|DEBUG)\b", text[:80], re.IGNORECASE)
    return LogLine(number, at, level.group(1).lower() if level else "", message)


def _without_lead(text: str) -> tuple[datetime | None, str]:
    stamp = _STAMP.match(text)
    rest = text[stamp.end() :] if stamp is not None else text
    lead = _LEAD.match(rest)
    return instant(stamp.group(1)) if stamp is not None else None, rest[lead.end() :] if lead is not None else rest
