"""The OTLP envelope: spans, their events and log records with plain attributes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.times import instant
from contextviz.sources.values import as_dict, as_list, as_text

Attributes = dict[str, Any]
MAX_DEPTH = 32
_HEX = re.compile(r"^[0-9a-fA-F]{16,32}$")


@dataclass(slots=True)
class Event:
    """A span's event or a log record: its name (the attribute `event.name` before the record's own), attributes
    and body."""

    name: str
    attributes: Attributes
    body: Any
    at: datetime | None
    trace: str | None
    span: str | None


@dataclass(slots=True)
class Span:
    """A span; `is_error` where its status says so."""

    trace: str
    id: str
    parent: str | None
    name: str
    attributes: Attributes
    start: datetime | None
    end: datetime | None
    is_error: bool
    events: list[Event] = field(default_factory=list)


def spans_of(value: Mapping[str, Any]) -> Iterator[Span]:
    """The spans of one envelope object, resource attributes below the span's own."""
    for resource in map(as_dict, as_list(value.get("resourceSpans"))):
        shared = attributes_of(as_dict(resource.get("resource")).get("attributes"))
        scopes = as_list(resource.get("scopeSpans")) or as_list(resource.get("instrumentationLibrarySpans"))
        for scope in map(as_dict, scopes):
            for span in map(as_dict, as_list(scope.get("spans"))):
                yield _span(span, shared)


def logs_of(value: Mapping[str, Any]) -> Iterator[Event]:
    """The log records of one envelope object."""
    for resource in map(as_dict, as_list(value.get("resourceLogs"))):
        shared = attributes_of(as_dict(resource.get("resource")).get("attributes"))
        for scope in map(as_dict, as_list(resource.get("scopeLogs"))):
            for record in map(as_dict, as_list(scope.get("logRecords"))):
                attributes = {**shared, **attributes_of(record.get("attributes"))}
                name = as_text(attributes.get("event.name")) or as_text(record.get("eventName")) or ""
                at = record.get("timeUnixNano")
                at = at if at not in (None, "0", 0) else attributes.get("event.timestamp")
                at = at if instant(at) is not None else record.get("observedTimeUnixNano")
                trace, span = identifier(record.get("traceId")), identifier(record.get("spanId"))
                yield Event(name, attributes, value_of(record.get("body")), instant(at), trace, span)


def _span(span: Mapping[str, Any], shared: Attributes) -> Span:
    status = as_dict(span.get("status")).get("code")
    found = Span(
        identifier(span.get("traceId")) or "", identifier(span.get("spanId")) or "",
        identifier(span.get("parentSpanId")), as_text(span.get("name")) or "",
        {**shared, **attributes_of(span.get("attributes"))}, instant(span.get("startTimeUnixNano")),
        instant(span.get("endTimeUnixNano")), status in (2, "2", "STATUS_CODE_ERROR"),
    )  # fmt: skip
    for event in map(as_dict, as_list(span.get("events"))):
        attributes = attributes_of(event.get("attributes"))
        name = as_text(event.get("name")) or ""
        at = instant(event.get("timeUnixNano"))
        found.events.append(Event(name, attributes, None, at, found.trace, found.id))
    return found


def attributes_of(values: Any) -> Attributes:
    """Key-value pairs as a dictionary; the last of a key wins."""
    return {
        key: value_of(one.get("value")) for one in map(as_dict, as_list(values)) if (key := as_text(one.get("key")))
    }


def value_of(value: Any, depth: int = 0) -> Any:
    """An OTLP value as a plain one: integers may be written as text."""
    found = as_dict(value)
    if not found or depth > MAX_DEPTH:
        return None
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in found:
            return found[key]
    if "intValue" in found:
        text = str(found["intValue"])
        return int(text) if re.fullmatch(r"-?\d{1,19}", text) else None
    if "arrayValue" in found:
        return [value_of(one, depth + 1) for one in as_list(as_dict(found["arrayValue"]).get("values"))]
    if "kvlistValue" in found:
        inner = map(as_dict, as_list(as_dict(found["kvlistValue"]).get("values")))
        return {name: value_of(one.get("value"), depth + 1) for one in inner if (name := as_text(one.get("key")))}
    return None


def identifier(value: Any) -> str | None:
    """A trace or span id as hex; some exporters write base64."""
    if not isinstance(value, str) or not value or set(value) == {"0"}:
        return None
    if _HEX.match(value):
        return value.lower()
    try:
        return base64.b64decode(value, validate=True).hex() or None
    except (binascii.Error, ValueError):
        return value[:64]
