"""How messages and summaries stand in a window: block arrays, the summary's XML, times (7.4, 7.5)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from contextviz.engines.lossless.items import Row, Summary

# The short names that English has for zones; other zones are written by their distance from GMT.
_NAMED = frozenset({"UTC", "GMT", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST", "HDT"})


def time_text(at: int, zone: str = "UTC") -> str:
    """`YYYY-MM-DD HH:mm TZ` of milliseconds since 1970; a zone that is not known counts as UTC."""
    known = _zone(zone)
    local = datetime.fromtimestamp(at / 1000, known or UTC)
    name = "UTC" if known is None or zone == "UTC" else _zone_name(local, zone)
    return f"{local:%Y-%m-%d %H:%M} {name}"


def attribute_time(at: int, zone: str = "UTC") -> str:
    """A summary's time as its XML has it: to the second, without a zone."""
    return f"{datetime.fromtimestamp(at / 1000, _zone(zone) or UTC):%Y-%m-%dT%H:%M:%S}"


@lru_cache(64)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def _zone_name(local: datetime, zone: str) -> str:
    name = local.tzname() or ""
    is_american = zone.startswith(("America/", "US/", "Pacific/Honolulu", "Etc/"))
    if name in ("UTC", "GMT") or (is_american and name in _NAMED):
        return name
    offset = local.utcoffset()
    minutes = int(offset.total_seconds()) // 60 if offset is not None else 0
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    return "GMT" if not minutes else f"GMT{sign}{hours}" + (f":{rest:02}" if rest else "")


def summary_xml(summary: Summary, zone: str = "UTC") -> str:
    """A summary as the model is given it: one user message."""
    facts = [
        ("id", summary.id),
        ("kind", summary.kind),
        ("depth", str(summary.depth)),
        ("descendant_count", str(summary.descendant_count)),
        ("trust", "untrusted"),
    ]
    if summary.earliest is not None:
        facts.append(("earliest_at", attribute_time(summary.earliest, zone)))
    if summary.latest is not None:
        facts.append(("latest_at", attribute_time(summary.latest, zone)))
    attributes = " ".join(f'{name}="{_attribute(value)}"' for name, value in facts)
    lines = [f"<summary {attributes}>"]
    if summary.kind == "condensed" and summary.sources:
        lines.append("  <parents>")
        lines.extend(f'    <summary_ref id="{_attribute(source)}" />' for source in summary.sources)
        lines.append("  </parents>")
    return "\n".join([*lines, "  <content>", _escaped(summary.content), "  </content>", "</summary>"])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    return _escaped(text).replace('"', "&quot;")


def message_of(item: Row | Summary, zone: str = "UTC") -> dict[str, Any]:
    """An item of the context as the host is given it: role and content, a tool result with the id of its call."""
    if isinstance(item, Summary):
        return {"role": "user", "content": summary_xml(item, zone)}
    made: dict[str, Any] = {"role": item.runtime_role, "content": item.rendered_content()}
    if item.runtime_role == "toolResult":
        made |= {"toolCallId": item.results[0], "toolName": item.tool_name or "unknown"}
    return made
