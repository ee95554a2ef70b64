"""Reads Codex rollouts that were named together; forks, copies and sub-agents are told apart across files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.events.times import instant
from contextviz.sources.codex import records as kinds
from contextviz.sources.codex.fork import Print, prints_of, relations
from contextviz.sources.codex.records import FORMAT, Line, line_of, thread_id
from contextviz.sources.codex.thread import Thread
from contextviz.sources.features import declared
from contextviz.sources.lines import JsonLines
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store
from contextviz.sources.values import as_id, as_int

_ROLLOUT_NAME = re.compile(r"rollout-.*?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_COMPARE_BYTES = 1024 * 1024
ALONE_WITH = frozenset({"session", "index", "ignored"})
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Rollout:
    found: Found
    id: str
    started: datetime | None
    # The thread whose lines this file may begin with, None where nothing says that it repeats any.
    repeats: str | None

    @property
    def name(self) -> str:
        return self.found.probe.name


@dataclass(slots=True)
class _Shared:
    """What the files of one read know of each other."""

    by_id: dict[str, _Rollout]
    claims: dict[str, int]
    is_alone: bool = False
    counted: set[str] = field(default_factory=set)
    prints: dict[str, list[Print]] = field(default_factory=dict)


class CodexReader:
    """The reader of OpenAI Codex CLI rollouts: bare, wrapped and 2026 (formats.md C and I)."""

    name = "codex"
    declares = {
        FORMAT: declared(
            "messages times tool_pairs thinking images system_prompt injected calls cache_reads cache_writes reasoning "
            "failed_calls window tool_definitions compactions summary branches forks subagents",
            "title rebuilt trigger", cached="inside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect; by shape, the file name is never asked."""
        return kinds.detect(probe)

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. One transcript a thread; calls that a fork or a copy repeats are counted once."""
        rollouts: list[_Rollout] = []
        claims: dict[str, int] = {}
        for found in files:
            if found.detection.role == "session":
                rollouts.append(_rollout(found))
                continue
            yield _listed(found)
            claims.update(_claims(found))
        kept, copies = _without_copies(rollouts)
        for copy, original in copies:
            yield from _copy(copy, original)
        is_alone = len(rollouts) == 1 and all(one.detection.role in ALONE_WITH for one in files)
        shared = _Shared({rollout.id: rollout for rollout in kept}, claims, is_alone)
        # Parents before their forks, so that the earliest file owns a call.
        for rollout in sorted(kept, key=lambda one: (one.started or _NEVER, one.name)):
            yield from _read(rollout, shared, options)


def _read(rollout: _Rollout, shared: _Shared, options: ReadOptions) -> Iterator[ReadItem]:
    probe = rollout.found.probe
    # What other rollouts hold decides what is counted here, so only one that is read alone is read on from its end.
    memory = options.memory if shared.is_alone else None
    kept = memory.take(CodexReader.name, probe) if memory is not None else None
    lines, thread = _begun(rollout, shared, options) if kept is None else kept
    if kept is not None:
        thread.go_on(options)
        lines.go_on(probe.path, probe.size)
    parent = _parent_prints(rollout, shared)
    try:
        for record in lines:
            unknown = thread.feed(record.line, line_of(record.value))
            if thread.cut is not None and thread.cut.parent is None:
                thread.cut.parent = parent
            if unknown is not None:
                lines.mark_unknown(record, unknown)
    except OSError as error:
        lines.can_go_on = False
        text = f"{rollout.name} could not be read to its end: {error.strerror}; what came before is shown"
        yield ReadProblem("unreadable_file", text, "error", rollout.name)
    if memory is not None and lines.can_go_on and not thread.notes.has_future:
        memory.keep(CodexReader.name, probe, lines.offset, (lines, thread))
    transcript = thread.finish()
    transcript.lines = lines.counts
    transcript.entries = lines.counts.read + lines.counts.unknown + sum(map(len, lines.counts.recovered.values()))
    transcript.problems[:0] = lines.problems
    _unknown_lines(transcript.problems, lines)
    claim = shared.claims.get(transcript.session.id)
    if claim is not None:
        transcript.session.hints["total_tokens"] = claim
    yield SourceFile(rollout.name, FORMAT, "session", True, None, probe.size, transcript.session.id)
    yield transcript


def _begun(rollout: _Rollout, shared: _Shared, options: ReadOptions) -> tuple[JsonLines, Thread]:
    probe = rollout.found.probe
    lines = JsonLines(probe.path, rollout.name, id_of=thread_id, size=probe.size)
    return lines, Thread(rollout.name, options, rollout.id, counted=shared.counted)


def _unknown_lines(problems: list[ReadProblem], lines: JsonLines) -> None:
    for kind, count in lines.counts.unknown_types.items():
        if not kind.startswith(f"{kinds.ITEM}/"):
            text = f"{count} line(s) of type {kind} are kept but not understood"
            problems.append(ReadProblem("unknown_type", text, "info", lines.name, value=kind))


def _rollout(found: Found) -> _Rollout:
    probe = found.probe
    meta = next((line for line in map(line_of, probe.records) if line.kind == kinds.META), None)
    payload = {} if meta is None else meta.payload
    by_name = _ROLLOUT_NAME.search(probe.basename)
    own = as_id(payload.get("id")) or (by_name.group(1) if by_name else probe.basename)
    started = instant(payload.get("timestamp")) or (None if meta is None else instant(meta.timestamp))
    return _Rollout(found, own, started, _repeated_thread(probe, own, payload))


def _repeated_thread(probe: Probe, own: str, meta: dict[str, Any]) -> str | None:
    _, forked = relations(meta)
    if forked is not None:
        return forked
    ids = (as_id(line.payload.get("id")) for line in map(line_of, probe.records) if line.kind == kinds.META)
    return next((name for name in ids if name not in (None, own)), None)


def _parent_prints(rollout: _Rollout, shared: _Shared) -> list[Print] | None:
    parent = shared.by_id.get(rollout.repeats or "")
    if parent is None or parent is rollout:
        return None
    if parent.id not in shared.prints:
        try:
            shared.prints[parent.id] = prints_of(_lines(parent.found.probe.path, parent.name))
        except OSError:
            shared.prints[parent.id] = []
    return shared.prints[parent.id]


def _lines(path: Path, name: str) -> Iterator[Line]:
    for record in JsonLines(path, name, id_of=thread_id):
        yield line_of(record.value)


def _without_copies(rollouts: list[_Rollout]) -> tuple[list[_Rollout], list[tuple[_Rollout, _Rollout]]]:
    """One rollout a thread: the longest, and the others with the one that stands for them."""
    longest: dict[str, _Rollout] = {}
    for rollout in sorted(rollouts, key=lambda one: (-one.found.probe.size, one.name)):
        longest.setdefault(rollout.id, rollout)
    copies = [(one, longest[one.id]) for one in rollouts if longest[one.id] is not one]
    return list(longest.values()), copies


def _copy(copy: _Rollout, original: _Rollout) -> Iterator[ReadItem]:
    probe = copy.found.probe
    reason = f"a copy of the beginning of {original.name}: the same thread"
    if not _is_beginning(probe.path, original.found.probe.path):
        reason = f"the same thread as {original.name}, which is longer and is the one that counts"
        text = f"{copy.name} and {original.name} hold the same thread with different lines; only the longer one counts"
        yield ReadProblem("count_mismatch", text, "warning", copy.name)
    yield SourceFile(copy.name, FORMAT, "duplicate", False, reason, probe.size, original.id)


def _is_beginning(short: Path, long: Path) -> bool:
    try:
        with short.open("rb") as first, long.open("rb") as second:
            while part := first.read(_COMPARE_BYTES):
                if second.read(len(part)) != part:
                    return False
    except OSError:
        return False
    return True


def _listed(found: Found) -> SourceFile:
    probe, detection = found.probe, found.detection
    return SourceFile(probe.name, FORMAT, detection.role, False, detection.reason, probe.size)


def _claims(found: Found) -> dict[str, int]:
    """The tokens that Codex's own index claims for each thread: a hint, never a count."""
    if "threads" not in (found.probe.tables or {}):
        return {}
    try:
        with open_store(found.probe.path, frozenset({"threads"})) as connection:
            rows = connection.execute("SELECT id, tokens_used FROM threads").fetchall()
    except UnreadableStore:
        return {}
    pairs = ((as_id(row["id"]), as_int(row["tokens_used"])) for row in rows)
    return {name: tokens for name, tokens in pairs if name is not None and tokens}
