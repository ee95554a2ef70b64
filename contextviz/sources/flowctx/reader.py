"""Reads flowctx's files: the summary graphs of its store by session, its originals with the scratchpads as one record,
and what it writes beside the store."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime

from contextviz.events.engine_event import EngineEvent, Scalar
from contextviz.events.message import Block
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.events.text import HANDLE_LENGTH
from contextviz.events.times import instant
from contextviz.sources.features import declared
from contextviz.sources.flowctx.nodes import ENGINE, NodeReading, read_nodes
from contextviz.sources.flowctx.side import FORMAT as DUMP_FORMAT
from contextviz.sources.flowctx.side import is_continuity, is_dump, read_continuity, read_dump
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store
from contextviz.sources.values import as_int, told

FORMAT = "flowctx"
TABLE = "flowctx_kv"
COLUMNS = {"ns", "key", "value", "expires_at_ms", "updated_at_ms"}
REFS, NODES, SCRATCHPAD = "refs", "summary-nodes", "scratchpad"
_HANDLE = re.compile(rf"^[0-9a-f]{{{HANDLE_LENGTH}}}$")
Row = tuple[str, str, str, int | None, int | None]


class FlowctxReader:
    """Reader of flowctx.sqlite, flowctx-sessions.jsonl and dumps of summary requests."""

    name = "flowctx"
    declares = {
        FORMAT: declared("messages times graph engine_events", "title", cached="unwritten"),
        DUMP_FORMAT: declared("messages times calls cache_reads requests subagents", "title", cached="either"),
    }

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A store by its one table with its columns; see flowctx.side for the files beside it."""
        if probe.tables is not None:
            return Detection(FORMAT, "store") if probe.tables.get(TABLE, frozenset()) >= COLUMNS else None
        if is_continuity(probe):
            return Detection(FORMAT, "trace")
        return Detection(DUMP_FORMAT, "session") if is_dump(probe) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. A store that cannot be opened is a problem, not an exception."""
        taken: dict[str, int] = {}
        for found in files:
            probe = found.probe
            if probe.tables is None:
                is_trace = found.detection.role == "trace"
                yield from read_continuity(found, options) if is_trace else read_dump(found, options)
                continue
            try:
                with open_store(probe.path, frozenset({TABLE})) as connection:
                    yield from _read(connection, found, options, taken)
            except (UnreadableStore, sqlite3.Error) as error:
                yield SourceFile(probe.name, FORMAT, "store", False, str(error), probe.size)
                yield ReadProblem("unreadable_store", f"{probe.name}: {error}", "error", probe.name)


def _read(
    connection: sqlite3.Connection, found: Found, options: ReadOptions, taken: dict[str, int]
) -> Iterator[ReadItem]:
    probe = found.probe
    counts = _counts(connection)
    has_any = sum(counts.values()) > 0
    reason = None if has_any else "nothing in it"
    made: list[Transcript] = []
    notes = {row[1]: _note(row, probe.name) for row in _rows(connection, SCRATCHPAD)}
    for row in _rows(connection, NODES):
        made.append(_session(row, probe.name, options, taken))
        made[-1].engine_events.extend(note for note in (notes.pop(row[1], None),) if note is not None)
        if len(made) > 1:
            yield made.pop(0)
    originals = _originals(connection, counts, probe, options, taken)
    session = made[0].session.id if counts.get(NODES) == 1 else None
    yield SourceFile(probe.name, FORMAT, "store", has_any, reason, probe.size, session)
    if not has_any:
        text = f"{probe.name} holds nothing: the store was made and never used"
        yield ReadProblem("empty_store", text, "info", probe.name)
    yield from made
    if originals is not None:
        yield originals
    yield from (_noted(key, note, probe.name, taken) for key, note in notes.items())


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    query = f"SELECT CAST(ns AS TEXT), count(*) FROM {TABLE} GROUP BY 1"
    return {str(name): int(count) for name, count in connection.execute(query)}


def _rows(connection: sqlite3.Connection, space: str) -> Iterator[Row]:
    query = f"SELECT ns, key, value, expires_at_ms, updated_at_ms FROM {TABLE} WHERE ns = ? ORDER BY updated_at_ms, key"
    for name, key, value, expires, updated in connection.execute(query, (space,)):
        text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
        yield str(name), str(key), text, as_int(expires), as_int(updated)


def _session(row: Row, file: str, options: ReadOptions, taken: dict[str, int]) -> Transcript:
    """One session's summary graph; its messages are in the host's transcript."""
    _, key, value, _, updated = row
    reading: NodeReading = read_nodes(key, value, file, options.pool)
    session = Session(_free(key, taken), FORMAT)
    times = [node.created_at for node in reading.store.nodes if node.created_at is not None]
    session.started_at = min(times, default=None)
    session.ended_at = max([*times, *([at] if (at := instant(updated)) is not None else [])], default=None)
    session.model = next((node.model for node in reversed(reading.store.nodes) if node.model), None)
    return Transcript(
        session, [file], entries=len(reading.store.nodes), store=reading.store, problems=reading.problems,
        context_at_end=[f"summary {item.id}" for item in reading.store.context],
    )  # fmt: skip


def _free(name: str, taken: dict[str, int]) -> str:
    """`name`, numbered where it was used before."""
    taken[name] = taken.get(name, 0) + 1
    return (name if taken[name] == 1 else f"{name}-{taken[name]}") or "unnamed"


def _note(row: Row, file: str) -> EngineEvent:
    """A session's scratchpad as it is now: what stands in the system prompt of each of its calls (engines.md 3.6)."""
    _, key, value, _, updated = row
    data: dict[str, Scalar] = {
        "origin": "working", "position": "system-section", "key": key[:200], "chars": len(value), "text": value[:300],
    }  # fmt: skip
    return EngineEvent("recall.injected", ENGINE, instant(updated), file, None, "disk", "exact", data)


def _noted(key: str, note: EngineEvent, file: str, taken: dict[str, int]) -> Transcript:
    """A session of which the store has a scratchpad and no summary."""
    session = Session(_free(key, taken), FORMAT, title=f"flowctx scratchpad of {key[:40]}")
    session.started_at = session.ended_at = note.at
    return Transcript(session, [file], entries=1, engine_events=[note])


def _originals(
    connection: sqlite3.Connection, counts: dict[str, int], probe: Probe, options: ReadOptions, taken: dict[str, int]
) -> Transcript | None:
    """The originals behind the markers, and the scratchpads: texts of no order, shown by when they were written."""
    others = {name: count for name, count in counts.items() if name not in (REFS, NODES, SCRATCHPAD)}
    if not counts.get(REFS) and not counts.get(SCRATCHPAD) and not others:
        return None
    draft = Draft(Session(_name(connection, probe, taken), FORMAT, title=f"Originals of {probe.basename}"), probe.name,
                  options)  # fmt: skip
    expired = 0
    for _, key, value, expires, updated in _rows(connection, REFS):
        at = draft.time(updated, f"the original {key[:40]}")
        _original(draft, key, value, at)
        expired += expires is not None and expires <= options.now.timestamp() * 1000
    for _, key, value, _, updated in _rows(connection, SCRATCHPAD):
        at = draft.time(updated, f"the scratchpad of {key[:40]}")
        block = Block("injected", draft.pool.put(value))
        draft.message("system", "scratchpad", [block], id=f"scratchpad {key}", at=at, is_human=False)
    transcript = draft.transcript
    transcript.entries = transcript.lines.total = len(transcript.messages)
    for name, count in sorted(others.items()):
        text = f"not shown of the unknown name space {name[:80]}: {told(count, 'row', 'rows')}"
        draft.problem("unknown_type", text, "info", value=name[:80])
    draft.session.counters.update(originals=counts.get(REFS, 0), originals_expired=expired)
    finished = draft.finish()
    # Originals are results by nature, and their calls are in the host's transcript.
    finished.orphan_results = []
    finished.context_at_end = []
    return finished


def _original(draft: Draft, key: str, value: str, at: datetime | None) -> None:
    block = Block("tool_result", draft.pool.put(value))
    own = hashlib.sha256(value.encode("utf-8", errors="replace")).hexdigest()[:HANDLE_LENGTH]
    name = key if key not in draft.transcript.entry_times else None
    draft.message("tool", "original", [block], id=name, at=at)
    if _HANDLE.match(key) is None:
        draft.problem("bad_id", f"the key {key[:80]} is not a hash of {HANDLE_LENGTH} digits", "info", entry=key[:200])
    elif own != key:
        text = f"the text under {key} has another hash ({own}): it is not the original it is filed as"
        draft.problem("hash_mismatch", text, entry=key, value=own)


def _name(connection: sqlite3.Connection, probe: Probe, taken: dict[str, int]) -> str:
    """An id that stays while the store grows: from its first session, else its first original."""
    query = f"SELECT key FROM {TABLE} ORDER BY ns = '{REFS}', rowid LIMIT 1"
    first = next(iter(connection.execute(query)), None)
    seed = probe.basename if first is None else str(first[0])
    name = f"{ENGINE}-" + hashlib.sha256(seed.encode("utf-8", errors="replace")).hexdigest()[:16]
    return _free(name, taken)
