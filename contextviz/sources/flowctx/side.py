"""flowctx's files beside its store: the log of continuity and the dumps of summary requests (engines.md 3.6).

Their schemas are not published, so they are read leniently: one JSON object a line, known words looked for in it, and
what has none is counted and told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.events.message import Block, Message
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.events.times import instant
from contextviz.sources.flowctx.nodes import ENGINE
from contextviz.sources.lines import JsonLines
from contextviz.sources.plain.content import blocks_of, dumps, role_of
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.usage import usage_of
from contextviz.sources.source import Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_plain, as_text, told

FORMAT = "flowctx-dump"
CONTINUITY_NAME = "flowctx-sessions.jsonl"
SESSION_KEYS = ("sessionId", "session_id", "session", "sessionKey")
TIME_KEYS = ("ts", "time", "timestamp", "at", "createdAtMs", "updatedAtMs", "createdAt", "updatedAt")
VIEW_KEYS = ("assembled", "assembledView", "assembled_view", "view")
TEXT_CHARS = 2000
MOST_FIELDS = 24
# Records with one of these are a transcript's or a body's, whose own readers have them.
_FOREIGN = frozenset({"role", "uuid", "parentUuid", "payload", "traceSchema", "resourceSpans", "choices", "parentId"})


def is_continuity(probe: Probe) -> bool:
    """Whether a file is the log of continuity: records of sessions, and the engine's name in them or on the file."""
    if not _mostly(probe, _is_of_session):
        return False
    return probe.basename == CONTINUITY_NAME or all("flowctx" in key for key in _engines(probe.records))


def _mostly(probe: Probe, fits: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Whether at least half of the first records fit, and none is another format's."""
    records = probe.records
    if not records or any(_FOREIGN & record.keys() for record in records):
        return False
    return 2 * sum(map(fits, records)) >= len(records)


def _engines(records: tuple[dict[str, Any], ...]) -> list[str]:
    return [str(record.get("engine") or record.get("plugin") or record.get("type") or "")[:80] for record in records]


def _is_of_session(record: Mapping[str, Any]) -> bool:
    has_time = any(instant(record.get(key)) is not None for key in TIME_KEYS)
    return _session_of(record) is not None and has_time


def _session_of(record: Mapping[str, Any]) -> str | None:
    return next((name for key in SESSION_KEYS if (name := as_id(record.get(key)))), None)


def is_dump(probe: Probe) -> bool:
    """Whether a file is a dump of summary requests: request, response and the assembled view in each of its records,
    or a request with the engine's own words in it."""
    if not _mostly(probe, _is_request):
        return False
    has_view = any(key in record for record in probe.records for key in VIEW_KEYS)
    return has_view or b"<flowctx-history-summary" in probe.head or b"<flowctx-handoff-note" in probe.head


def _is_request(record: Mapping[str, Any]) -> bool:
    return ("request" in record or "prompt" in record) and "response" in record


def read_continuity(found: Found, options: ReadOptions) -> Iterator[ReadItem]:
    """The log's lines as events of the sessions that they name."""
    probe = found.probe
    lines = JsonLines(probe.path, probe.name, id_of=_session_of)
    sessions: dict[str, Transcript] = {}
    cut = 0
    for record in lines:
        name = _session_of(record.value)
        if name is None:
            lines.mark_unknown(record, "no session")
            continue
        transcript = sessions.get(name)
        if transcript is None:
            transcript = sessions[name] = Transcript(Session(name, ENGINE, title=f"flowctx continuity of {name[:40]}"))
            transcript.files.append(probe.name)
        at = next((at for key in TIME_KEYS if (at := instant(record.value.get(key))) is not None), None)
        data, was_cut = _fields(record.value)
        cut += was_cut
        event = EngineEvent("session.bootstrap", ENGINE, at, probe.name, record.line, "disk", "derived", data)
        transcript.engine_events.append(event)
        transcript.entries += 1
    only = next(iter(sessions)) if len(sessions) == 1 else None
    if only is not None:
        sessions[only].lines = lines.counts
    reason = None if sessions else "no session in it"
    yield SourceFile(probe.name, ENGINE, "trace", bool(sessions), reason, probe.size, only)
    yield from lines.problems
    if lines.counts.unknown:
        what = told(lines.counts.unknown, "record names no session and is", "records name no session and are")
        text = f"{probe.name}: {what} not shown"
        yield ReadProblem("unknown_type", text, "info", probe.name, value=lines.counts.unknown)
    if cut:
        text = f"{cut} texts of {probe.name} are longer than {TEXT_CHARS} characters; their beginnings are shown"
        yield ReadProblem("cut_text", text, "info", probe.name, value=cut)
    yield from sessions.values()


def _fields(record: Mapping[str, Any]) -> tuple[dict[str, Scalar], int]:
    """A record's values as flat data; lists and objects by how many they hold, and how many texts were cut."""
    data: dict[str, Scalar] = {"reason": "continuity"}
    cut = 0
    for key, value in list(record.items())[:MOST_FIELDS]:
        name = str(key)[:60]
        if name in TIME_KEYS or name in SESSION_KEYS:
            continue
        if isinstance(value, str):
            cut += len(value) > TEXT_CHARS
            data[name] = value[:TEXT_CHARS]
        elif isinstance(value, list | dict):
            data[f"{name}.count"] = len(value)
        else:
            data[name] = as_plain(value)
    return data, cut


def read_dump(found: Found, options: ReadOptions) -> Iterator[ReadItem]:
    """A dump as a session of the summariser's own: what it was asked, what it answered, at what price."""
    probe = found.probe
    seed = hashlib.sha256(probe.head[:4096]).hexdigest()[:16]
    session = Session(f"flowctx-dump-{seed}", FORMAT, title=f"Summary requests of {probe.basename}")
    draft = Draft(session, probe.name, options)
    lines = JsonLines(probe.path, probe.name, id_of=_session_of)
    parents: set[str] = set()
    for record in lines:
        if not _is_request(record.value):
            lines.mark_unknown(record, "no request")
            continue
        parents.update(name for name in (_session_of(record.value),) if name)
        _add_request(draft, record.value, record.line)
    if len(parents) == 1:
        session.parent = parents.pop()
    transcript = draft.transcript
    transcript.lines = lines.counts
    transcript.problems.extend(lines.problems)
    transcript.entries = lines.counts.read
    finished = draft.finish()
    finished.lines = lines.counts
    finished.context_at_end = []
    yield SourceFile(probe.name, FORMAT, "session", bool(finished.messages), None, probe.size, session.id)
    yield finished


def _add_request(draft: Draft, record: Mapping[str, Any], line: int) -> None:
    written = next((record[key] for key in TIME_KEYS if record.get(key) is not None), None)
    at = draft.time(written, f"line {line}", line=line)
    request, response = record.get("request", record.get("prompt")), record.get("response")
    asked = [_message(draft, value, at, line) for value in _messages(request)]
    draft.restart([], [])
    for message in asked:
        draft.put(message)
    answer = as_dict(response)
    content = answer.get("content", answer.get("text", answer.get("summary"))) if answer else response
    blocks = blocks_of(content if content is not None else dumps(response), draft.pool)
    told = draft.message("assistant", "summary", blocks, at=at, line=line, is_human=False)
    usage = usage_of(answer.get("usage") or record.get("usage"))
    model = as_text(answer.get("model")) or as_text(record.get("model")) or as_text(as_dict(request).get("model"))
    call = draft.call(usage, id=f"line-{line}", at=at, model=model, purpose="summary", message=told, line=line)
    draft.snapshot(call, basis="request")
    view = next((record[key] for key in VIEW_KEYS if key in record), None)
    if view is not None:
        draft.message("system", "assembled view", [Block("injected", draft.pool.put(_view_text(view)))], at=at,
                      line=line, is_human=False)  # fmt: skip


def _messages(request: Any) -> list[Any]:
    """The messages of a request in whatever of the known forms it is: a list, an object with one, or one text."""
    fields = as_dict(request)
    if fields:
        head = [{"role": "system", "content": fields["system"]}] if fields.get("system") else []
        many = as_list(fields.get("messages"))
        return [*head, *many] if many else [*head, fields.get("prompt", fields.get("input", dumps(request)))]
    return request if isinstance(request, list) else [request]


def _message(draft: Draft, value: Any, at: Any, line: int) -> Message:
    fields = as_dict(value)
    role = role_of(fields.get("role")) or "user"
    content = fields.get("content") if fields else value
    blocks = blocks_of(content if content is not None else dumps(value), draft.pool)
    return draft.message(role, as_text(fields.get("role")) or "prompt", blocks, at=at, line=line, is_human=False)


def _view_text(view: Any) -> str:
    return view if isinstance(view, str) else dumps(view)
