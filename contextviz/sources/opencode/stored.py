"""OpenCode's own storage, in both of its generations (formats.md D): one JSON file for each session, message and part
under `storage`, and the rows of `opencode.db`, whose `data` is the same JSON without its ids."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from contextviz.sources.opencode import second
from contextviz.sources.source import Probe
from contextviz.sources.sqlite import columns_of
from contextviz.sources.values import as_dict, as_float, as_id, as_text

Kind = Literal["session", "message", "part"]
TABLES = frozenset({"session", "message", "part"}) | second.TABLES
# What makes a SQLite file one of OpenCode's.
SIGNATURE = {"session": {"id", "directory"}, "message": {"id", "session_id", "data"},
             "part": {"id", "message_id", "data"}}  # fmt: skip
_INFO = {"title": "title", "version": "version", "directory": "directory", "parent_id": "parentID",
         "fork_session_id": "forkID"}  # fmt: skip
Json = dict[str, Any]


@dataclass(slots=True)
class Tree:
    """The files of one storage, by what they are. `files` are a session's, in the order they came."""

    infos: dict[str, Json] = field(default_factory=dict)
    messages: dict[str, list[Json]] = field(default_factory=dict)
    parts: dict[str, list[Json]] = field(default_factory=dict)
    files: dict[str, list[Probe]] = field(default_factory=dict)
    surrogates: dict[str, int] = field(default_factory=dict)

    def add(self, kind: Kind, value: Json, probe: Probe, surrogates: int = 0) -> None:
        """Take one file in. Of two files of one id the later one counts, as the store itself would have it."""
        name = as_id(value.get("id")) or probe.basename.rpartition(".")[0]
        session = name if kind == "session" else as_id(value.get("sessionID")) or ""
        self.files.setdefault(session, []).append(probe)
        self.surrogates[session] = self.surrogates.get(session, 0) + surrogates
        if kind == "session":
            self.infos[session] = value
        elif kind == "message":
            _replace(self.messages.setdefault(session, []), value)
        else:
            _replace(self.parts.setdefault(as_id(value.get("messageID")) or "", []), value)

    def sessions(self) -> list[str]:
        """The ids of all sessions, those too whose own file is not here."""
        return [name for name in self.files if name]

    def document(self, session: str) -> Json:
        """A session as `opencode export` would write it."""
        return assembled(self.infos.get(session, {"id": session}), self.messages.get(session, []), self.parts)


def _replace(values: list[Json], value: Json) -> None:
    values[:] = [one for one in values if one.get("id") != value.get("id") or value.get("id") is None]
    values.append(value)


def kind_of(document: Mapping[str, Any]) -> Kind | None:
    """Which file of a storage a JSON object is; None for anything else."""
    has_session = as_id(document.get("sessionID")) is not None
    time = document.get("time")
    if has_session and as_id(document.get("messageID")) is not None and isinstance(document.get("type"), str):
        return "part"
    if has_session and document.get("role") in ("user", "assistant") and isinstance(time, Mapping):
        return "message"
    is_session = "projectID" in document and "directory" in document and isinstance(time, Mapping)
    return "session" if is_session and str(document.get("id", "")).startswith("ses") else None


def is_database(tables: Mapping[str, frozenset[str]] | None) -> bool:
    """Whether a SQLite file's tables are OpenCode's."""
    known = tables or {}
    is_first = all(columns <= known.get(name, frozenset()) for name, columns in SIGNATURE.items())
    return is_first or second.is_second(tables)


def session_infos(connection: sqlite3.Connection) -> list[Json]:
    """The sessions of a database as `info` objects, in the order they were begun; of one that both generations have
    what the second says."""
    found: dict[Any, Json] = {}
    for table in ("session", "session_v2"):
        found.update((info["id"], info) for info in _infos(connection, table))
    return sorted(found.values(), key=_begun)


def _begun(info: Json) -> tuple[float, str]:
    return (as_float(as_dict(info.get("time")).get("created")) or 0.0, str(info["id"]))


def message_counts(connection: sqlite3.Connection) -> dict[str, int]:
    """How many messages the tables of the first generation have of each session."""
    if "session_id" not in columns_of(connection, "message"):
        return {}
    return dict(connection.execute("SELECT session_id, count(*) FROM message GROUP BY 1").fetchall())


def questions_of(connection: sqlite3.Connection, session: str) -> int:
    """How many questions the first generation has of a session."""
    asked = "json_valid(data) AND json_extract(data, '$.role') = 'user'"
    query = f"SELECT count(*) FROM message WHERE session_id = ? AND {asked}"
    return int(connection.execute(query, (session,)).fetchone()[0])


def _infos(connection: sqlite3.Connection, table: str) -> list[Json]:
    columns = columns_of(connection, table)
    if "id" not in columns:
        return []
    wanted = [
        name for name in ("id", *_INFO, "time_created", "time_updated", "revert", "agent", "data") if name in columns
    ]
    order = "time_created, id" if "time_created" in columns else "id"
    quoted = ", ".join(f'"{name}"' for name in wanted)
    return [_info(dict(row)) for row in connection.execute(f"SELECT {quoted} FROM {table} ORDER BY {order}")]


def _info(row: Json) -> Json:
    info = second.data_of(row.get("data"))
    info["id"] = as_text(row.get("id"))
    info.update({name: row[column] for column, name in _INFO.items() if row.get(column) is not None})
    if row.get("agent") is not None:
        info["agent"] = row["agent"]
    if row.get("time_created") is not None:
        info["time"] = {"created": row["time_created"], "updated": row.get("time_updated")}
    if row.get("revert") is not None:
        info["revert"] = second.data_of(row["revert"])
    return info


def document_of(connection: sqlite3.Connection, info: Json) -> Json:
    """One session's messages and parts out of a database."""
    key = (info["id"],)
    messages = connection.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY id", key).fetchall()
    parts: dict[str, list[Json]] = {}
    query = (
        "SELECT p.id, p.message_id, p.data FROM part p JOIN message m ON m.id = p.message_id"
        " WHERE m.session_id = ? ORDER BY p.id"
    )
    for name, message, data in connection.execute(query, key):
        parts.setdefault(str(message), []).append({**second.data_of(data), "id": name})
    return assembled(info, [{**second.data_of(data), "id": name} for name, data in messages], parts)


def assembled(info: Json, messages: Iterable[Json], parts: Mapping[str, list[Json]]) -> Json:
    """The object that `opencode export` writes. Ids grow with time, so they give the order; a message's own time comes
    first where it has one."""
    found: list[Json] = []
    for one in sorted(messages, key=_place):
        own = parts.get(as_id(one.get("id")) or "", [])
        found.append({"info": one, "parts": sorted(own, key=lambda part: str(part.get("id")))})
    return {"info": info, "messages": found}


def _place(message: Json) -> tuple[float, str]:
    created = as_float(as_dict(message.get("time")).get("created"))
    return (created or 0.0, str(message.get("id")))
