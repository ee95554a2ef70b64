"""One file, read once from front to back into rows, request records and facts; texts go to the pool at once."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from contextviz.events.message import Block
from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts
from contextviz.events.text import TextPool, TextRef
from contextviz.events.times import instant
from contextviz.events.usage import TokenUsage
from contextviz.sources.claude_code.blocks import content_blocks, dump, last_text
from contextviz.sources.claude_code.detect import CHAIN_TYPES, FLAT_TYPES, REQUEST_TYPES, agent_of_name
from contextviz.sources.claude_code.rows import Row, row_of
from contextviz.sources.claude_code.usage import cost_state_usage, iterations_of
from contextviz.sources.lines import Json, JsonLines, Record
from contextviz.sources.source import Found, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text, told

OPEN_ANSWERS = 64
READER = "claude_code"


@dataclass(frozen=True, slots=True)
class Request:
    """An api-request row: its messages are the base request's first `keep` and then `tail` (hashes)."""

    id: str
    agent: str | None
    line: int
    base: str | None
    keep: int
    tail: tuple[bytes, ...]
    shape: str | None


@dataclass(frozen=True, slots=True)
class Blob:
    """A message as it was sent, by its hash."""

    role: str
    blocks: tuple[Block, ...]
    line: int


@dataclass(slots=True)
class Loaded:
    """Everything read of one file."""

    name: str
    size: int
    agent: str | None
    counts: LineCounts = field(default_factory=LineCounts)
    problems: list[ReadProblem] = field(default_factory=list)
    entries: int = 0
    rows: list[Row] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    blobs: dict[bytes, Blob] = field(default_factory=dict)
    answers: dict[bytes, tuple[Row, ...]] = field(default_factory=dict)
    shapes: dict[str, tuple[tuple[TextRef, ...], TextRef | None]] = field(default_factory=dict)
    session_ids: list[str] = field(default_factory=list)
    version: str | None = None
    cwd: str | None = None
    forked_from: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summaries: list[tuple[str, str]] = field(default_factory=list)
    bill: TokenUsage | None = None
    replacements: dict[str, TextRef] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def is_agent_file(self) -> bool:
        """Whether the whole file is one sub-agent's."""
        return self.agent is not None and bool(self.rows) and all(row.is_sidechain for row in self.rows)

    def session_id(self) -> str:
        """The session the file belongs to: its own name where the lines say so, else what they say last."""
        stem = self.name.rsplit("/", 1)[-1].split(".jsonl")[0]
        if stem in self.session_ids or not self.session_ids:
            return stem
        return self.session_ids[-1]


def load(found: Found, options: ReadOptions) -> Loaded:
    """Read one transcript file, or what came to it since `options.memory` held it; what is wrong in it is in
    `problems`, never raised."""
    memory = options.memory
    kept: _Loader | None = memory.take(READER, found.probe) if memory is not None else None
    loader = _Loader(found, options) if kept is None else kept
    if kept is not None:
        loader.go_on(found, options)
    loaded = loader.run()
    if memory is not None and loader.can_go_on:
        memory.keep(READER, found.probe, loader.offset, loader)
    return loaded


class _Loader:
    """The state of one pass: open answers (to see growing ones) and the hash of each answer so far."""

    def __init__(self, found: Found, options: ReadOptions):
        self._pool: TextPool = options.pool
        self._with_requests = options.with_snapshots
        self._lines = JsonLines(found.probe.path, found.probe.name, id_of=_uuid_of, size=found.probe.size)
        self._file = Loaded(found.probe.name, found.probe.size, agent_of_name(found.probe.name))
        self._by_uuid: dict[str, int] = {}
        self._growing: OrderedDict[str, tuple[str, str, int | None]] = OrderedDict()
        self._hashes: OrderedDict[str, tuple[Any, tuple[Row, ...]]] = OrderedDict()

    @property
    def can_go_on(self) -> bool:
        """Whether more lines may follow in another reading."""
        return self._lines.can_go_on and not self._file.problems

    @property
    def offset(self) -> int:
        """Where the last whole line ends."""
        return self._lines.offset

    def go_on(self, found: Found, options: ReadOptions) -> None:
        """Take more lines after `run`, in another reading: what the session's other rows told is forgotten."""
        self._pool = options.pool
        self._file.size = found.probe.size
        self._lines.go_on(found.probe.path, found.probe.size)
        for row in self._file.rows:
            row.take_apart()

    def run(self) -> Loaded:
        """Read the file to its end; what is given back stays as it is when more is read."""
        try:
            for record in self._lines:
                self._file.entries += 1
                self._take(record)
        except OSError as error:
            message = f"{self._file.name} could not be read to its end: {error.strerror}"
            self._file.problems.append(ReadProblem("unreadable_file", message, "error", self._file.name))
        counts = self._lines.counts
        problems = [*self._lines.problems, *self._file.problems, *self._unknown(counts)]
        return replace(self._file, counts=counts, problems=problems, rows=list(self._file.rows))

    def _take(self, record: Record) -> None:
        value = record.value
        kind = as_text(value.get("type")) or ""
        self._identity(value)
        if kind in REQUEST_TYPES:
            if self._with_requests:
                self._take_request(kind, value, record.line)
        elif kind in FLAT_TYPES:
            self._take_flat(kind, value)
        elif kind in CHAIN_TYPES or as_id(value.get("uuid")):
            self._take_row(kind, record)
        if kind not in CHAIN_TYPES and kind not in FLAT_TYPES and kind not in REQUEST_TYPES:
            self._lines.mark_unknown(record, kind or "(no type)")

    def _identity(self, value: Json) -> None:
        session = as_id(value.get("sessionId"))
        if session and (not self._file.session_ids or self._file.session_ids[-1] != session):
            if session in self._file.session_ids:
                self._file.session_ids.remove(session)
            self._file.session_ids.append(session)
        self._file.version = as_id(value.get("version")) or self._file.version
        self._file.cwd = self._file.cwd or as_id(value.get("cwd"))
        fork = as_dict(value.get("forkedFrom"))
        if fork and self._file.forked_from is None:
            self._file.forked_from = as_id(fork.get("sessionId"))

    def _take_row(self, kind: str, record: Record) -> None:
        row = row_of(record.value, record.line, self._file.name, self._pool)
        if kind == "assistant":
            message = as_dict(record.value.get("message"))
            self._watch_growth(row, message.get("content"))
            if self._with_requests:
                self._hash_answer(row, message)
            if as_list(as_dict(message.get("context_management")).get("applied_edits")):
                self._file.counters["server_context_edits"] = self._file.counters.get("server_context_edits", 0) + 1
            if iterations_of(message.get("usage")) > 1:
                self._file.counters["iterated_answers"] = self._file.counters.get("iterated_answers", 0) + 1
        known = self._by_uuid.get(row.uuid) if row.uuid else None
        if known is None:
            row.order = len(self._file.rows)
            if row.uuid:
                self._by_uuid[row.uuid] = row.order
            self._file.rows.append(row)
        else:  # written again: first position, last content (formats.md B.6)
            row.order, row.line = known, self._file.rows[known].line
            row.parent = row.parent if row.parent != row.uuid else self._file.rows[known].parent
            row.is_rewrite = self._file.rows[known].is_rewrite
            self._file.rows[known].order = known  # requests may still name it
            self._file.rows[known] = row
            self._file.counters["rewritten_lines"] = self._file.counters.get("rewritten_lines", 0) + 1

    def _watch_growth(self, row: Row, content: Any) -> None:
        ending = last_text(content)
        if row.message_id is None:
            return
        before = self._growing.pop(row.message_id, None)
        if ending is None:
            return
        kind, text = ending
        if before is not None and len(row.blocks) == 1 and before[0] == kind and before[2] == row.block_index:
            row.is_rewrite = bool(before[1]) and text.startswith(before[1])
        self._growing[row.message_id] = (kind, text, row.block_index)
        if len(self._growing) > OPEN_ANSWERS:
            self._growing.popitem(last=False)

    def _hash_answer(self, row: Row, message: Json) -> None:
        """Keep the hash of the answer as far as it is written: requests name answers by it (formats.md I)."""
        key = row.message_id or row.uuid or ""
        content = message.get("content")
        if not isinstance(content, list) or not key:
            return
        state, rows = self._hashes.pop(key, (None, ()))
        if state is None:
            state = hashlib.sha256(b'{"content":[')
        for number, part in enumerate(content):
            state.update((b"," if rows or number else b"") + canonical(part))
        whole = state.copy()
        whole.update(b'],"role":"assistant"}')
        rows = (*rows, row)
        self._file.answers[whole.digest()] = rows
        self._hashes[key] = (state, rows)
        if len(self._hashes) > OPEN_ANSWERS:
            self._hashes.popitem(last=False)

    def _take_request(self, kind: str, value: Json, line: int) -> None:
        if kind == "api-request-blob":
            key, message = _digest(value.get("hash")), as_dict(value.get("message"))
            if key is not None and key not in self._file.blobs:
                blocks = content_blocks(message.get("content"), self._pool)
                self._file.blobs[key] = Blob(as_text(message.get("role")) or "user", blocks, line)
        elif kind == "api-request-shape":
            self._take_shape(value)
        else:
            tail = tuple(_digest(one) or b"" for one in as_list(value.get("tail")))
            request = Request(
                id=as_id(value.get("id")) or f"line {line}",
                agent=as_id(value.get("agentId")),
                line=line,
                base=as_id(value.get("base")),
                keep=as_int(value.get("keep")) or 0,
                tail=tail,
                shape=as_id(value.get("shapeHash")),
            )
            self._file.requests.append(request)

    def _take_shape(self, value: Json) -> None:
        key, shape = as_id(value.get("shapeHash")), as_dict(value.get("shape"))
        if key is None or key in self._file.shapes:
            return
        system = shape.get("system")
        parts = [system] if isinstance(system, str) else [as_dict(one).get("text") for one in as_list(system)]
        tools = as_list(shape.get("tools"))
        self._file.shapes[key] = (
            tuple(self._pool.put(part) for part in parts if isinstance(part, str)),
            self._pool.put(dump(tools)) if tools else None,
        )

    def _take_flat(self, kind: str, value: Json) -> None:
        file = self._file
        if kind == "custom-title":
            file.custom_title = as_id(value.get("customTitle")) or as_id(value.get("title")) or file.custom_title
        elif kind == "ai-title":
            file.ai_title = as_id(value.get("aiTitle")) or as_id(value.get("title")) or file.ai_title
        elif kind == "summary":
            leaf, text = as_id(value.get("leafUuid")), as_id(value.get("summary"))
            if leaf and text:
                file.summaries.append((leaf, text))
        elif kind == "cost-state":
            file.bill = cost_state_usage(value) or file.bill
        elif kind == "content-replacement":
            for one in map(as_dict, as_list(value.get("replacements"))):
                call, text = as_id(one.get("toolUseId")), as_text(one.get("replacement"))
                if call and text is not None:
                    file.replacements[call] = self._pool.put(text)

    def _unknown(self, counts: LineCounts) -> Iterator[ReadProblem]:
        for kind, count in counts.unknown_types.items():
            message = f"{told(count, 'line', 'lines')} of the unknown type {kind!r}: kept in the tree, not interpreted"
            yield ReadProblem("unknown_type", message, "info", self._file.name, value=kind)


def _uuid_of(value: Json) -> str | None:
    return as_id(value.get("uuid"))


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, no spaces and raw UTF-8: what the client hashes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")


def _digest(value: Any) -> bytes | None:
    text = as_text(value)
    try:
        return bytes.fromhex(text) if text else None
    except ValueError:
        return None


def first_time(found: Found) -> datetime | None:
    """The earliest time among the first records of a file: a fork's are replayed, its original's begin earlier."""
    times = [at for at in (instant(record.get("timestamp")) for record in found.probe.records) if at is not None]
    return min(times, default=None)
