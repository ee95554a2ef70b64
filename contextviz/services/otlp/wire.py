"""The protocol's bytes: requests in protobuf or JSON to records, answers and refusals back in the same form.

Source: the OTLP specification (opentelemetry.io/docs/specs/otlp), with the protocol's own message classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from contextviz.services.incoming.unzipping import BadBody, unpacked_chunks
from contextviz.sources.otlp.envelope import attributes_of, identifier
from contextviz.sources.otlp.interest import Kind, is_used
from contextviz.sources.values import as_dict, as_list, as_text, is_too_deep

Signal = Literal["traces", "logs", "metrics"]
SIGNALS: tuple[Signal, ...] = ("traces", "logs", "metrics")
MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 32
MOST_NAME = 100
INVALID_ARGUMENT, RESOURCE_EXHAUSTED = 3, 8
_REQUESTS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest, "metrics": ExportMetricsServiceRequest,
}  # fmt: skip
_ANSWERS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceResponse, "logs": ExportLogsServiceResponse, "metrics": ExportMetricsServiceResponse,
}  # fmt: skip
_LISTS: dict[Signal, tuple[str, str, str]] = {
    "traces": ("resourceSpans", "scopeSpans", "spans"),
    "logs": ("resourceLogs", "scopeLogs", "logRecords"),
    "metrics": ("resourceMetrics", "scopeMetrics", "metrics"),
}
_REJECTED: dict[Signal, str] = {
    "traces": "rejectedSpans", "logs": "rejectedLogRecords", "metrics": "rejectedDataPoints",
}  # fmt: skip
_SNAKE: dict[str, str] = {
    "resourceSpans": "resource_spans", "scopeSpans": "scope_spans", "resourceLogs": "resource_logs",
    "scopeLogs": "scope_logs", "logRecords": "log_records", "resourceMetrics": "resource_metrics",
    "scopeMetrics": "scope_metrics",
}  # fmt: skip


class BadExport(Exception):
    """The request cannot be taken; the text is a sentence, `status` HTTP's word, `code` the protocol's."""

    def __init__(self, sentence: str, status: int = 400, code: int = INVALID_ARGUMENT) -> None:
        super().__init__(sentence)
        self.status = status
        self.code = code


TOO_LARGE = "The export is larger than 64 MiB. Send smaller batches (the exporter's batch size)."


@dataclass(frozen=True, slots=True)
class OtlpRecord:
    """One span or log record with its resource, in OTLP's JSON form. `name` is a span's, or a log's `event.name`;
    `attributes` are plain values, the resource's below the record's own."""

    kind: Kind
    name: str
    body: dict[str, Any]
    resource: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def envelope(self) -> bytes:
        """The record alone in an envelope, as a file exporter would write it on a line."""
        outer, scope, inner = _LISTS["traces" if self.kind == "span" else "logs"]
        whole = {outer: [{"resource": self.resource, scope: [{inner: [self.body]}]}]}
        return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)

    @property
    def trace(self) -> str | None:
        """The trace's id in hex."""
        return identifier(self.body.get("traceId"))


@dataclass(slots=True)
class Decoded:
    """What was in a request: records of use, how many others by their names, how many were no records at all."""

    records: list[OtlpRecord] = field(default_factory=list)
    unused: dict[str, int] = field(default_factory=dict)
    rejected: int = 0

    def count(self, what: str, number: int = 1) -> None:
        """Count records that are not kept."""
        name = what[:MOST_NAME]
        self.unused[name] = self.unused.get(name, 0) + number


def unzipped(chunks: Iterable[bytes], encoding: str) -> bytes:
    """The whole body, unpacked where `encoding` is gzip, never more than MOST_BYTES in memory. Raises BadExport."""
    try:
        return b"".join(unpacked_chunks(chunks, encoding, most=MOST_BYTES, too_large=TOO_LARGE))
    except BadBody as refused:
        code = RESOURCE_EXHAUSTED if refused.status == 413 else INVALID_ARGUMENT
        raise BadExport(str(refused), refused.status, code) from None


def decode(signal: Signal, body: bytes, *, is_json: bool) -> Decoded:
    """The records of one request; raises BadExport where it is no such request."""
    return _from_json(signal, body) if is_json else _from_protobuf(signal, body)


def _from_json(signal: Signal, body: bytes) -> Decoded:
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise BadExport(f"The body is not JSON, so it is no export of {signal}.") from None
    outer, scope_key, inner = _LISTS[signal]
    if not isinstance(whole, dict) or not isinstance(whole.get(outer, []), list):
        raise BadExport(f"The body is JSON, but no export of {signal}: it has no list {outer}.")
    decoded = Decoded()
    for group in as_list(whole.get(outer)):
        resource = as_dict(as_dict(group).get("resource"))
        for scope in as_list(as_dict(group).get(scope_key)):
            for one in as_list(as_dict(scope).get(inner)):
                if isinstance(one, dict) and not is_too_deep(one):
                    _take_json(signal, one, resource, decoded)
                else:
                    decoded.rejected += 1
    return decoded


def _take_json(signal: Signal, one: dict[str, Any], resource: dict[str, Any], decoded: Decoded) -> None:
    if signal == "metrics":
        decoded.count(f"metric {as_text(one.get('name')) or ''}")
        return
    attributes = attributes_of(one.get("attributes"))
    kind: Kind = "span" if signal == "traces" else "log"
    name = _name_of(kind, attributes, as_text(one.get("name" if kind == "span" else "eventName")))
    if is_used(kind, name, attributes, as_text(attributes.get("event.kind"))):
        shared = attributes_of(resource.get("attributes"))
        decoded.records.append(OtlpRecord(kind, name, one, resource, {**shared, **attributes}))
    else:
        decoded.count(f"{kind} {name}")


def _name_of(kind: Kind, attributes: Mapping[str, Any], own: str | None) -> str:
    return (own if kind == "span" else as_text(attributes.get("event.name")) or own) or ""


def _from_protobuf(signal: Signal, body: bytes) -> Decoded:
    request: Any = _REQUESTS[signal]()
    try:
        request.ParseFromString(body)
    except (DecodeError, ValueError):
        raise BadExport(f"The body is not protobuf of an export of {signal}; nothing of it was kept.") from None
    outer, scope_key, inner = _LISTS[signal]
    decoded = Decoded()
    for group in getattr(request, _SNAKE[outer]):
        resource = {"attributes": _pairs(group.resource.attributes)}
        shared = attributes_of(resource["attributes"])
        for scope in getattr(group, _SNAKE[scope_key]):
            for one in getattr(scope, _SNAKE.get(inner, inner)):
                _take_message(signal, one, resource, shared, decoded)
    return decoded


def _take_message(signal: Signal, one: Any, resource: dict[str, Any], shared: dict[str, Any], decoded: Decoded) -> None:
    if signal == "metrics":
        decoded.count(f"metric {one.name}")
        return
    kind: Kind = "span" if signal == "traces" else "log"
    keys = {pair.key: pair.value for pair in one.attributes}
    told = {key: keys[key].string_value for key in ("event.name", "event.kind") if key in keys}
    name = _name_of(kind, told, one.name if kind == "span" else one.event_name)
    # Asked before anything is copied: of a thousand spans of Codex two are of use.
    if not is_used(kind, name, keys, told.get("event.kind")):
        decoded.count(f"{kind} {name}")
        return
    body = _span(one) if kind == "span" else _log(one)
    decoded.records.append(OtlpRecord(kind, name, body, resource, {**shared, **attributes_of(body["attributes"])}))


def _span(span: Any) -> dict[str, Any]:
    return {
        "traceId": span.trace_id.hex(), "spanId": span.span_id.hex(), "parentSpanId": span.parent_span_id.hex(),
        "name": span.name, "startTimeUnixNano": str(span.start_time_unix_nano),
        "endTimeUnixNano": str(span.end_time_unix_nano), "attributes": _pairs(span.attributes),
        "status": {"code": span.status.code},
        "events": [
            {"name": one.name, "timeUnixNano": str(one.time_unix_nano), "attributes": _pairs(one.attributes)}
            for one in span.events
        ],
    }  # fmt: skip


def _log(record: Any) -> dict[str, Any]:
    return {
        "timeUnixNano": str(record.time_unix_nano), "observedTimeUnixNano": str(record.observed_time_unix_nano),
        "eventName": record.event_name, "body": _value(record.body, 0), "attributes": _pairs(record.attributes),
        "traceId": record.trace_id.hex(), "spanId": record.span_id.hex(),
    }  # fmt: skip


def _pairs(pairs: Iterable[Any], depth: int = 0) -> list[dict[str, Any]]:
    return [{"key": pair.key, "value": _value(pair.value, depth)} for pair in pairs]


def _value(value: Any, depth: int) -> dict[str, Any]:
    kind = value.WhichOneof("value")
    if kind is None or depth > MOST_DEPTH:
        return {}
    if kind == "array_value":
        return {"arrayValue": {"values": [_value(one, depth + 1) for one in value.array_value.values]}}
    if kind == "kvlist_value":
        return {"kvlistValue": {"values": _pairs(value.kvlist_value.values, depth + 1)}}
    if kind == "bytes_value":
        return {"bytesValue": value.bytes_value.hex()}
    if kind == "int_value":
        return {"intValue": str(value.int_value)}
    names = {"string_value": "stringValue", "bool_value": "boolValue", "double_value": "doubleValue"}
    return {names[kind]: getattr(value, kind)} if kind in names else {}


def answer_of(signal: Signal, *, rejected: int, sentence: str, is_json: bool) -> bytes:
    """The protocol's answer: all was taken, or how many records were not and why (partial success)."""
    if is_json:
        partial = {_REJECTED[signal]: str(rejected), "errorMessage": sentence}
        return orjson.dumps({"partialSuccess": partial} if rejected else {})
    answer: Any = _ANSWERS[signal]()
    if rejected:
        name = {"traces": "rejected_spans", "logs": "rejected_log_records", "metrics": "rejected_data_points"}[signal]
        setattr(answer.partial_success, name, rejected)
        answer.partial_success.error_message = sentence
    return bytes(answer.SerializeToString())


def failure_of(sentence: str, code: int, *, is_json: bool) -> bytes:
    """A refusal as the protocol wants it: google.rpc.Status with a code and a message for the exporter's log."""
    if is_json:
        return orjson.dumps({"code": code, "message": sentence})
    # Status is two fields, and no package of the protocol carries it: a varint of field 1, text of field 2.
    raw = sentence.encode()
    return bytes([0x08, code, 0x12, *_varint(len(raw))]) + raw


def _varint(number: int) -> list[int]:
    found = []
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return [*found, number]
