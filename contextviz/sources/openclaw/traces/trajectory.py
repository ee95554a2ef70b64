"""The trajectory: what the runtime noted of each run, beside a transcript, in the store's rows, or exported
(formats.md A.7 and I). `context.compiled` has the window that a run began with, and the prompt that opened it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.times import instant
from contextviz.sources.lines import JsonLines
from contextviz.sources.openclaw.draft import RUNTIME_CONTEXT
from contextviz.sources.openclaw.traces.cuts import is_cut, named_tools, whole_text
from contextviz.sources.openclaw.traces.fingerprints import canonical, fingerprint
from contextviz.sources.openclaw.traces.values import SessionTrace, TracedRow, Traces
from contextviz.sources.source import Found
from contextviz.sources.values import as_dict, as_id, as_int, as_text, same

Json = dict[str, Any]
SCHEMA = "openclaw-trajectory"
# Rows of other types are many and large, and say nothing that the transcript does not. The type stands before the data.
USED = re.compile(r'"type"\s*:\s*"(?:context\.compiled|session\.(?:started|ended))"')
USED_WITHIN = 4096
MAX_TRACE_LINE = 64 * 1024 * 1024
# Events that are the transcript's own entries: the roles of messages, and the prefix of all others.
ROLES = {"user.message": "user", "assistant.message": "assistant", "tool.result": "toolResult"}
ENTRY = "session."


def is_trajectory(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event of a trajectory."""
    schema = record.get("traceSchema")
    return isinstance(schema, str) and schema.startswith(SCHEMA)


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event, and not one of the documents that an export has beside them."""
    return is_trajectory(record) and "type" in record and "seq" in record


def is_written(event: Mapping[str, Any]) -> bool:
    """Whether an event of an export is an entry of the transcript. Tool calls have events of their own beside the
    messages that they are in, and are no entries."""
    kind = as_text(event.get("type")) or ""
    is_entry = event.get("source") == "transcript" and as_id(event.get("entryId")) is not None
    return is_entry and is_trajectory(event) and (kind in ROLES or kind.startswith(ENTRY))


def read_trajectory(found: Found, traces: Traces) -> Iterator[ReadProblem]:
    """Take a trajectory's file into `traces`; what cannot be read of it comes out as problems."""
    lines = JsonLines(found.probe.path, found.probe.name, id_of=lambda _record: None, max_line=MAX_TRACE_LINE)
    for record in lines:
        take_event(traces, record.value, found.probe.name, record.line)
        session = as_id(record.value.get("sessionId"))
        if session is not None and is_written(record.value):
            _count_written(traces.of(session), found.probe.name)
    yield from lines.problems


def _count_written(trace: SessionTrace, file: str) -> None:
    trace.written[file] = trace.written.get(file, 0) + 1
    if file not in trace.files:
        trace.files.append(file)


def take_event(traces: Traces, event: Json, file: str, line: int | None) -> None:
    """Take one event; those of types that say nothing of a window are passed over."""
    session, at = as_id(event.get("sessionId")), instant(event.get("ts"))
    if session is None or at is None or not is_trajectory(event) or event.get("source") == "transcript":
        return
    trace = traces.of(session)
    if file not in trace.files:
        trace.files.append(file)
    run, data = same(as_id(event.get("runId"))), as_dict(event.get("data"))
    if event.get("type") == "session.started":
        trace.begins(run, at)
        count = as_int(data.get("toolCount"))
        if run is not None and count is not None:
            trace.tool_counts[run] = count
    elif event.get("type") == "session.ended" and run in trace.by_run:
        trace.by_run[run].until = at
    elif event.get("type") == "context.compiled":
        _open(trace, data, (file, line), at, run)


def _open(trace: SessionTrace, data: Json, where: tuple[str, int | None], at: datetime, run: str | None) -> None:
    system, tools = whole_text(data.get("systemPrompt")), _tools(data)
    known = trace.by_run.get(run) if run is not None else None
    if known is not None:
        # The same run in the store and in an export of it: what one has cut the other may have whole.
        known.system, known.tools = known.system or system, known.tools or tools
        return
    messages = data.get("messages")
    bodies = [one for one in messages if not _is_runtime_context(one)] if isinstance(messages, list) else []
    row = TracedRow(
        "trajectory", *where, at, run,
        roles=tuple(same(as_text(as_dict(body).get("role"))) for body in bodies),
        prints=tuple(_print(trace, body) for body in bodies),
        system=system, system_chars=as_int(as_dict(data.get("systemPrompt")).get("originalChars")), tools=tools,
        prompt=whole_text(data.get("prompt")) if isinstance(messages, list) else None,
    )  # fmt: skip
    trace.openings.append(row)
    if run is not None:
        trace.by_run[run] = row


def _is_runtime_context(body: Any) -> bool:
    """Whether a noted message is a runtime context: the trajectory lists the session's entries, and this one is no
    message of any request. It is part of the system prompt of its own run (measured on 2026.4.29)."""
    return isinstance(body, dict) and body.get("role") == "custom" and body.get("customType") == RUNTIME_CONTEXT


def _tools(data: Json) -> tuple[Json, ...]:
    return named_tools(data.get("providerVisibleTools")) or named_tools(data.get("tools"))


def _print(trace: SessionTrace, body: Any) -> bytes | None:
    if not isinstance(body, dict) or is_cut(body):
        return None
    found, packed = fingerprint(body), canonical(body)
    if found is not None and packed is not None:
        trace.keep(found, packed)
    return found
