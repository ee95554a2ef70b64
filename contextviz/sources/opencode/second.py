"""The second generation of `opencode.db`: a session's rows in `session_message`, one for each step, in the form of an
export.

From OpenCode 2 on, sessions are rows of `session_v2` (in betas of `session`) and what was said rows of
`session_message`: what a row is stands in its `type`, the order in `seq`, the rest as JSON in `data`. The tables of the
first generation stay beside them with what was there before.
"""

from __future__ import annotations

import base64
import binascii
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextviz.sources.plain.content import dumps
from contextviz.sources.plain.load import NotReadable, loads
from contextviz.sources.sqlite import columns_of
from contextviz.sources.values import as_dict, as_list, as_text

TABLES = frozenset({"session_v2", "session_message"})
MESSAGES = {"id", "session_id", "type", "data"}
# Rows that say what was chosen or that nothing is done: they are in no request.
SILENT = frozenset({"agent-switched", "model-switched", "location-switched", "idle"})
# What the client puts between the words of both sides.
ADDED = frozenset({"synthetic", "skill", "shell", "system"})
MOST_ATTACHED = 16 * 1024 * 1024
_READABLE = frozenset({"text/plain", "application/x-directory"})
_COPY = re.compile(r"^msg_.+_(\d+)$")
Json = dict[str, Any]


@dataclass(slots=True)
class Checkpoint:
    """A compaction: from it on a request holds its `summary` and `recent`, then what follows. `info` has its id, its
    time and what its own call used. `is_copied`: it happened in the session that this one was forked from."""

    info: Json
    summary: str
    recent: str
    reason: str | None
    is_done: bool
    is_failed: bool = False
    is_copied: bool = False


@dataclass(slots=True)
class Second:
    """The sessions of a database in this generation: how many questions and how many rows of each."""

    questions: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)


def is_second(tables: Mapping[str, frozenset[str]] | None) -> bool:
    """Whether a SQLite file has the tables of this generation."""
    known = tables or {}
    has_sessions = any({"id", "directory"} <= known.get(name, frozenset()) for name in ("session_v2", "session"))
    return has_sessions and known.get("session_message", frozenset()) >= MESSAGES


def sessions_of(connection: sqlite3.Connection) -> Second:
    """What is there of each session; nothing where the table is not there."""
    found = Second()
    if not columns_of(connection, "session_message") >= MESSAGES:
        return found
    query = "SELECT session_id, type, count(*) FROM session_message GROUP BY 1, 2"
    for session, kind, count in connection.execute(query):
        name = str(session)
        if kind == "user":
            found.questions[name] = int(count)
        if kind not in SILENT:
            found.rows[name] = found.rows.get(name, 0) + int(count)
    return found


def messages_of(connection: sqlite3.Connection, session: str, *, is_fork: bool) -> list[Any]:
    """A session's messages as an export has them, its compactions as checkpoints. A fork repeats the rows of its
    original, under ids that end in their place: those used nothing here."""
    order = "seq" if "seq" in columns_of(connection, "session_message") else "id"
    query = f"SELECT id, type, {order}, data FROM session_message WHERE session_id = ? ORDER BY {order}"
    found: list[Any] = []
    for name, kind, place, data in connection.execute(query, (session,)):
        copy = _COPY.match(str(name)) if is_fork else None
        found.extend(_told(str(name), str(kind), data_of(data), is_copied=copy is not None and copy[1] == str(place)))
    return found


def _told(name: str, kind: str, data: Json, *, is_copied: bool) -> Iterator[Any]:
    info: Json = {"id": name, "role": "user", "time": as_dict(data.get("time"))}
    if kind == "user":
        yield {"info": info, "parts": [*_said(data), *_attached(data)]}
    elif kind == "assistant":
        yield _answer(info, data, is_copied=is_copied)
    elif kind == "compaction":
        yield _checkpoint(info, data, is_copied=is_copied)
    elif kind in ADDED:
        text = _shell(data) if kind == "shell" else as_text(data.get("text")) or ""
        part = {"type": "text", "text": text, "synthetic": kind != "system"}
        yield {"info": {**info, "native": kind}, "parts": [part]}
    elif kind not in SILENT:
        yield {"info": {**info, "native": kind}, "parts": [{**data, "type": kind}]}


def _said(data: Json) -> list[Json]:
    text = as_text(data.get("text"))
    return [{"type": "text", "text": text}] if text else []


def _attached(data: Json) -> Iterator[Json]:
    for value in as_list(data.get("files")):
        one = as_dict(value)
        body, mime = as_text(one.get("data")), as_text(one.get("mime"))
        text = _decoded(body) if body and mime in _READABLE else None
        if text is not None:
            yield {"type": "text", "text": text, "synthetic": True}
        else:
            yield {"type": "file", "url": body or one.get("uri"), "mime": mime}
    for value in as_list(data.get("agents")):
        yield {"type": "agent", "name": as_dict(value).get("name")}


def _decoded(body: str) -> str | None:
    try:
        return base64.b64decode(body[:MOST_ATTACHED], validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return None


def _shell(data: Json) -> str:
    output = data.get("output")
    said = as_text(output) or as_text(as_dict(output).get("output")) or ""
    return f"Shell command: {as_text(data.get('command')) or ''}\n\n{said}"


def _answer(info: Json, data: Json, *, is_copied: bool) -> Json:
    model = as_dict(data.get("model"))
    about = {**info, "role": "assistant", "modelID": as_text(model.get("id")), "agent": as_text(data.get("agent"))}
    parts: list[Json] = []
    for value in as_list(data.get("content")):
        part = as_dict(value)
        parts.append(_tool(part) if part.get("type") == "tool" else part)
    if is_copied:
        return {"info": about, "parts": parts}
    about |= {key: data[key] for key in ("tokens", "cost", "error") if data.get(key) is not None}
    return {"info": about, "parts": [*parts, *([{"type": "retry"}] if data.get("retry") else [])]}


def _tool(part: Json) -> Json:
    state = as_dict(part.get("state"))
    content = [as_dict(one) for one in as_list(state.get("content"))]
    output: list[Any] = [one for one in content if one.get("type") != "file"]
    if not output and state.get("status") == "completed" and not content:
        other = next((state[key] for key in ("result", "structured") if state.get(key)), None)
        output = [] if other is None else [other if isinstance(other, str) else dumps(other)]
    error = as_dict(state.get("error"))
    said = as_text(error.get("message")) or (dumps(error) if error else as_text(state.get("error")))
    files = [{"url": one.get("data") or one.get("uri"), "mime": one.get("mime")} for one in content
             if one.get("type") == "file"]  # fmt: skip
    made = {"status": state.get("status"), "input": state.get("input"), "output": output,
            "error": [*([said] if said else []), *output], "attachments": files}  # fmt: skip
    return {"type": "tool", "tool": part.get("name"), "callID": part.get("id"), "state": made}


def _checkpoint(info: Json, data: Json, *, is_copied: bool) -> Checkpoint:
    used = {} if is_copied else {key: data[key] for key in ("tokens", "cost") if data.get(key) is not None}
    model, status = as_text(as_dict(data.get("model")).get("id")), data.get("status")
    return Checkpoint(
        {**info, **used, "modelID": model}, as_text(data.get("summary")) or "", as_text(data.get("recent")) or "",
        as_text(data.get("reason")), status == "completed" or (status is None and "summary" in data),
        status == "failed", is_copied,
    )  # fmt: skip


def data_of(value: object) -> Json:
    """A row's column of JSON; what cannot be read is of the type `unreadable`, and empty where nothing is there."""
    raw = value.encode("utf-8", errors="replace") if isinstance(value, str) else value
    if not isinstance(raw, bytes):
        return {}
    try:
        return dict(as_dict(loads(raw)[0]))
    except NotReadable:
        return {"type": "unreadable"}
