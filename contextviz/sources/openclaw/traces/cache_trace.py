"""The cache trace (`logs/cache-trace.jsonl`): one row a stage; `stream:context` is what one call was given
(formats.md section I)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.times import instant
from contextviz.sources.lines import JsonLines
from contextviz.sources.openclaw.traces.cuts import is_cut, whole_text
from contextviz.sources.openclaw.traces.fingerprints import canonical, fingerprint
from contextviz.sources.openclaw.traces.values import SessionTrace, TracedRow, Traces
from contextviz.sources.source import Found
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text, same, told

Json = dict[str, Any]
STAGES = frozenset({
    "session:loaded", "session:sanitized", "session:limited", "prompt:before", "prompt:images", "cache:state",
    "stream:context", "cache:result", "session:after",
})  # fmt: skip
# Runs that the client keeps to itself use the session's id under a key of their own.
APART = ":internal-session-effects:"
MOST_BEYOND = 16
MAX_TRACE_LINE = 256 * 1024 * 1024


def is_cache_trace(record: Mapping[str, Any]) -> bool:
    """Whether a record is a row of a cache trace."""
    return as_text(record.get("stage")) in STAGES and "runId" in record and "seq" in record


def read_cache_trace(found: Found, traces: Traces) -> Iterator[ReadProblem]:
    """Take a cache trace into `traces`; what cannot be read of it comes out as problems."""
    lines = JsonLines(found.probe.path, found.probe.name, id_of=lambda _record: None, max_line=MAX_TRACE_LINE)
    open_rows: dict[str, TracedRow] = {}
    unplaced = 0
    for record in lines:
        row = record.value
        session, at = as_id(row.get("sessionId")), instant(row.get("ts"))
        if session is None or at is None or as_text(row.get("stage")) not in STAGES:
            unplaced += 1
            continue
        trace = traces.of(session)
        if found.probe.name not in trace.files:
            trace.files.append(found.probe.name)
        _take(trace, row, at, (found.probe.name, record.line), open_rows)
    yield from lines.problems
    if unplaced:
        what = told(unplaced, "row of the cache trace names", "rows of the cache trace name")
        said = f"{what} no session, time or stage that is known, and nothing is checked by that"
        yield ReadProblem("unknown_type", said, "info", found.probe.name, None, None, unplaced)


def _take(
    trace: SessionTrace, row: Json, at: datetime, where: tuple[str, int], open_rows: dict[str, TracedRow]
) -> None:
    stage, run = row.get("stage"), same(as_id(row.get("runId")))
    is_apart = APART in (as_text(row.get("sessionKey")) or "")
    if not is_apart:
        trace.begins(run, at)
    if stage == "cache:state":
        state = as_dict(as_dict(row.get("options")).get("snapshot"))
        names = as_list(state.get("toolNames"))
        if run is not None and names and not is_cut(names):
            named = tuple(name for name in names if isinstance(name, str))
            trace.tool_names[run] = (as_text(state.get("toolDigest")) or "", named)
    elif stage == "stream:context" and is_apart:
        trace.apart += 1
    elif stage == "stream:context":
        request = _request(trace, row, at, where)
        trace.requests.append(request)
        open_rows[run or ""] = request
    elif stage == "cache:result":
        usage = _usage(as_dict(row.get("options")))
        if is_apart:
            trace.apart_tokens += sum(usage or ())
        elif usage is not None and (request_of := open_rows.pop(run or "", None)) is not None:
            request_of.usage = usage


def _usage(options: Json) -> tuple[int, int, int] | None:
    numbers = [as_int(options.get(name)) for name in ("input", "cacheRead", "cacheWrite")]
    return None if numbers[0] is None else (numbers[0], numbers[1] or 0, numbers[2] or 0)


def _request(trace: SessionTrace, row: Json, at: datetime, where: tuple[str, int]) -> TracedRow:
    messages = as_list(row.get("messages"))
    roles = as_list(row.get("messageRoles"))
    written = as_list(row.get("messageFingerprints"))
    count = max(len(roles), len(messages), len(written))
    # The count stands apart from the lists. Where it says more than they have, the rest is cut: a few of it will do.
    count += min(max(0, (as_int(row.get("messageCount")) or 0) - count), MOST_BEYOND)
    shown: list[str | None] = []
    prints: list[bytes | None] = []
    for place in range(count):
        body = messages[place] if place < len(messages) else None
        role = roles[place] if place < len(roles) else as_dict(body).get("role")
        shown.append(same(as_text(role)))
        prints.append(_print(trace, written[place] if place < len(written) else None, body))
    return TracedRow(
        "cache_trace", *where, at, same(as_id(row.get("runId"))), tuple(shown), tuple(prints),
        system=whole_text(row.get("system")),
    )  # fmt: skip


def _print(trace: SessionTrace, written: Any, body: Any) -> bytes | None:
    """The fingerprint of one message. Its body is kept where it is whole: where it hashes to what is written."""
    known = _digest(written)
    if not isinstance(body, dict) or (known is not None and known in trace.bodies):
        return known
    own = fingerprint(body)
    if own is not None and (own == known or (known is None and not is_cut(body))):
        packed = canonical(body)
        if packed is not None:
            trace.keep(own, packed)
        return own
    return known


def _digest(value: Any) -> bytes | None:
    text = as_text(value)
    if text is None or len(text) != 64:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None
