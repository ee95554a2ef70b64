"""OpenClaw's SQLite store (formats.md A.8 and I): the events of each session, its index, its archives.

The same database holds credentials; `open_store` refuses every table that is not named here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.times import instant
from contextviz.sources.lines import parse_object
from contextviz.sources.openclaw.draft import Draft
from contextviz.sources.openclaw.index import Claim, Claims, claim_of
from contextviz.sources.openclaw.traces.trajectory import USED, USED_WITHIN, take_event
from contextviz.sources.openclaw.traces.values import Traces
from contextviz.sources.sqlite import columns_of
from contextviz.sources.values import as_id, as_int, as_text

TABLES = frozenset({
    "transcript_events", "session_windows", "session_nodes", "sessions", "schema_meta",
    "session_transcript_archives", "session_transcript_cold_archives", "trajectory_runtime_events",
})  # fmt: skip
# Why a window of a session began, where it begins with a copy of the entries of the one before.
COPYING = frozenset({"fork", "rewind"})
MAX_EVENT_BYTES = 64 * 1024 * 1024
MAX_ARCHIVE_BYTES = 256 * 1024 * 1024


@dataclass(slots=True)
class Kept:
    """An archived transcript inside the store, or the notice of one in a file beside it (`body` None)."""

    session_id: str
    name: str
    state: str
    at: datetime | None
    body: bytes | None


@dataclass(slots=True)
class Shelf:
    """A store opened for reading, with what its index tables say."""

    connection: sqlite3.Connection
    name: str
    claims: Claims = field(default_factory=Claims)
    agent: str | None = None
    parents: dict[str, str] = field(default_factory=dict)

    def load_index(self) -> None:
        """Read session_nodes (or the older `sessions`), session_windows and schema_meta."""
        if "agent_id" in columns_of(self.connection, "schema_meta"):
            row = self.connection.execute("SELECT agent_id FROM schema_meta WHERE agent_id IS NOT NULL").fetchone()
            self.agent = as_id(row[0]) if row else None
        for table in ("session_nodes", "sessions"):
            self._load_nodes(table)
        self._load_windows()

    def _load_nodes(self, table: str) -> None:
        columns = columns_of(self.connection, table)
        if not {"session_key", "entry_json"} <= columns:
            return
        extra = ("current_session_id", "fork_source_session_id", "parent_session_key", "spawned_by")
        chosen = ["session_key", "entry_json", *(name for name in extra if name in columns)]
        for row in self.connection.execute(f"SELECT {', '.join(chosen)} FROM {table}"):
            claim = self._claim(row, set(chosen))
            if claim is not None:
                self.claims.add(claim)

    def _claim(self, row: sqlite3.Row, columns: set[str]) -> Claim | None:
        parsed = parse_object((as_text(row["entry_json"]) or "").encode("utf-8", errors="replace"))
        entry = dict(parsed[0]) if parsed else {}
        if as_id(entry.get("sessionId")) is None and "current_session_id" in columns:
            entry["sessionId"] = row["current_session_id"]
        claim = claim_of(as_text(row["session_key"]) or "", entry)
        if claim is None:
            return None
        if "fork_source_session_id" in columns:
            claim.forked_from = as_id(row["fork_source_session_id"])
        for name in ("spawned_by", "parent_session_key"):
            if claim.parent_key is None and name in columns:
                claim.parent_key = as_id(row[name])
        return claim

    def _load_windows(self) -> None:
        columns = columns_of(self.connection, "session_windows")
        if not {"session_id", "session_key"} <= columns:
            return
        for row in self.connection.execute("SELECT * FROM session_windows"):
            session = as_id(row["session_id"])
            key = as_id(row["session_key"])
            if session is None:
                continue
            if key is not None and session not in self.claims.by_session:
                self.claims.by_session[session] = Claim(session, key, {"session_key": key})
            if {"reason", "previous_session_id"} <= columns and row["reason"] in COPYING:
                claim = self.claims.by_session.get(session)
                if claim is not None and claim.forked_from is None:
                    claim.forked_from = as_id(row["previous_session_id"])
            for name in ("spawned_by", "parent_session_key"):
                parent = as_id(row[name]) if name in columns else None
                if parent is not None:
                    self.parents.setdefault(session, parent)

    def parent_of(self, session: str) -> str | None:
        """The session id of the session that spawned `session`."""
        key = self.parents.get(session)
        found = self.claims.session_of_key.get(key) if key else None
        return found or self.claims.parent_of(self.claims.by_session.get(session))

    def session_ids(self) -> list[str]:
        """Sessions with events, sources of forks first (their entries are theirs), then by their first row."""
        has_times = "created_at" in columns_of(self.connection, "transcript_events")
        order = "min(created_at), session_id" if has_times else "session_id"
        query = f"SELECT session_id FROM transcript_events GROUP BY session_id ORDER BY {order}"
        found = [row["session_id"] for row in self.connection.execute(query) if as_id(row["session_id"])]
        return sorted(found, key=lambda one: self._depth(one, set(found)))

    def shared_ids(self) -> set[str]:
        """Sessions whose entries may be met again in this store: sources of forks, and those with archives."""
        found = {claim.forked_from for claim in self.claims.by_session.values() if claim.forked_from}
        if "session_id" in columns_of(self.connection, "session_transcript_archives"):
            found |= {row[0] for row in self.connection.execute("SELECT session_id FROM session_transcript_archives")}
        return found

    def _depth(self, session: str, known: set[str]) -> int:
        depth, seen = 0, {session}
        while True:
            claim = self.claims.by_session.get(session)
            source = claim.forked_from if claim else None
            if source is None or source in seen or source not in known:
                return depth
            session, depth = source, depth + 1
            seen.add(source)

    def fill(self, draft: Draft, session: str) -> None:
        """Read a session's events in order into `draft`; rows that cannot be read are counted and named."""
        columns = columns_of(self.connection, "transcript_events")
        chosen = [name for name in ("event_json", "event_zstd", "event_utf8_bytes") if name in columns]
        query = f"SELECT seq, {', '.join(chosen)} FROM transcript_events WHERE session_id = ? ORDER BY seq"
        for row in self.connection.execute(query, (session,)):
            self._take(draft, row, set(chosen))

    def _take(self, draft: Draft, row: sqlite3.Row, columns: set[str]) -> None:
        sequence = as_int(row["seq"]) or 0
        draft.counts.total += 1
        body = _body(row, columns)
        parsed = parse_object(body) if body is not None else None
        if parsed is None:
            draft.counts.malformed.append(sequence)
            draft.counts.recovered.setdefault(sequence, [])
            said = f"event {sequence} cannot be read: neither JSON text nor a whole zstd frame of it"
            draft.problems.append(ReadProblem("malformed_line", said, "warning", draft.name, sequence))
            return
        value, surrogates = parsed
        if surrogates:
            draft.counts.lone_surrogates += surrogates
            draft.counts.surrogate_lines.append(sequence)
        if draft.add(value, None):
            draft.counts.read += 1
        else:
            kind = as_text(value.get("type")) or "(none)"
            draft.counts.unknown_types[kind] = draft.counts.unknown_types.get(kind, 0) + 1

    def trace(self, traces: Traces, session: str) -> None:
        """Take the session's trajectory into `traces`: the rows that say what a run was given."""
        columns = columns_of(self.connection, "trajectory_runtime_events")
        if not {"session_id", "seq", "event_json"} <= columns:
            return
        query = "SELECT seq, event_json FROM trajectory_runtime_events WHERE session_id = ? ORDER BY seq"
        for row in self.connection.execute(query, (session,)):
            text = as_text(row["event_json"])
            if text is None or USED.search(text[:USED_WITHIN]) is None:
                continue
            parsed = parse_object(text.encode("utf-8", errors="replace"))
            if parsed is not None:
                take_event(traces, parsed[0], self.name, as_int(row["seq"]))

    def archives(self) -> Iterator[Kept]:
        """Archived transcripts that the store holds or names, one at a time."""
        columns = columns_of(self.connection, "session_transcript_archives")
        if {"session_id", "archive_blob", "reason", "encoding", "archive_name"} <= columns:
            for row in self.connection.execute("SELECT * FROM session_transcript_archives"):
                at = instant(row["created_at"]) if "created_at" in columns else None
                body = _unpacked(row["archive_blob"], is_zstd=row["encoding"] == "zstd")
                yield Kept(row["session_id"], row["archive_name"], row["reason"], at, body)
        columns = columns_of(self.connection, "session_transcript_cold_archives")
        if {"session_id", "archive_name"} <= columns:
            for row in self.connection.execute("SELECT * FROM session_transcript_cold_archives"):
                blob = row["archive_blob"] if "archive_blob" in columns else None
                yield Kept(row["session_id"], row["archive_name"], "cold", None, _unpacked(blob, is_zstd=True))


def _body(row: sqlite3.Row, columns: set[str]) -> bytes | None:
    text = row["event_json"] if "event_json" in columns else None
    if isinstance(text, str):
        return text.encode("utf-8", errors="replace")
    packed = row["event_zstd"] if "event_zstd" in columns else None
    if not isinstance(packed, bytes):
        return None
    wanted = as_int(row["event_utf8_bytes"]) if "event_utf8_bytes" in columns else None
    body = _unpacked(packed, is_zstd=True, limit=MAX_EVENT_BYTES)
    return body if body is not None and wanted in (None, len(body)) else None


def _unpacked(blob: Any, *, is_zstd: bool, limit: int = MAX_ARCHIVE_BYTES) -> bytes | None:
    if not isinstance(blob, bytes):
        return None
    if not is_zstd:
        return blob
    try:
        body = _bounded(blob, limit)
    except zstandard.ZstdError:
        return None
    return body if len(body) <= limit else None


def _bounded(blob: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    with zstandard.ZstdDecompressor().stream_reader(blob, read_across_frames=True) as reader:
        while size <= limit:
            part = reader.read(1 << 20)
            if not part:
                break
            parts.append(part)
            size += len(part)
    return b"".join(parts)
