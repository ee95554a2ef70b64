"""Reads logs for the lines of context engines: events by session, and the compactions that a log tells of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent, in_time_order
from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts, Session, SourceFile, Transcript
from contextviz.events.times import is_suspicious
from contextviz.sources.engine_log.lines import is_log_record, is_text_log, log_lines
from contextviz.sources.engine_log.words import CORTEXT, LOSSLESS, Said, said_by
from contextviz.sources.features import declared
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_int, told

FORMAT = "engine-log"
MOST_EVENTS = 50_000
# lossless-claw's word for what the host asks beside a session.
INTERNAL = "internal-session-effects"
NO_LINE = "a log without a line of a context engine"


@dataclass(slots=True)
class _Log:
    """One log while it is read. `session_of` is which session an engine's number of a conversation stands for."""

    name: str
    counts: LineCounts = field(default_factory=LineCounts)
    told: list[tuple[Said, EngineEvent]] = field(default_factory=list)
    session_of: dict[str, str] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    first: str = ""
    more: int = 0


class EngineLogReader:
    """Reader of lossless-claw's JSONL log, OpenClaw's log, and text logs with flowctx's or Cortext's lines."""

    name = "engine_log"
    declares = {FORMAT: declared("compactions engine_events", "title", cached="unwritten")}

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the shape of its records, or by a line that begins as an engine's own do."""
        if probe.tables is not None:
            return None
        if probe.records:
            is_log = all(is_log_record(record) for record in probe.records)
        else:
            is_log = probe.document is None and is_text_log(probe.head)
        return Detection(FORMAT, "trace") if is_log else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. A transcript for each session that a log names; what names none goes to the only one
        there is, else to a record of the log's own. Logs of one session are put together."""
        sessions: dict[str, Transcript] = {}
        for found in files:
            probe = found.probe
            log = _Log(probe.name)
            try:
                _fill(log, found, options)
            except OSError as error:
                text = f"{probe.name} cannot be read to its end: {error.strerror}"
                yield ReadProblem("unreadable_file", text, "error", probe.name)
            names = _spread(log, sessions)
            reason = None if log.told else NO_LINE
            only = next(iter(names)) if len(names) == 1 else None
            yield SourceFile(probe.name, FORMAT, "trace", bool(log.told), reason, probe.size, only)
            yield from _problems(log)
        for transcript in sessions.values():
            _finish(transcript)
            yield transcript


def _fill(log: _Log, found: Found, options: ReadOptions) -> None:
    for line in log_lines(found.probe.path, log.counts):
        said = said_by(line.message)
        if said is None:
            continue
        log.engines.add(said.engine)
        log.first = log.first or f"{line.at} {line.message[:200]}"
        if said.session and said.conversation:
            log.session_of.setdefault(said.conversation, said.session)
        if said.type is None:
            log.counts.read -= 1
            key = f"{said.engine}: {said.words}"
            log.counts.unknown_types[key] = log.counts.unknown_types.get(key, 0) + 1
            continue
        if len(log.told) == MOST_EVENTS:
            log.more += 1
            continue
        at = None if line.at is not None and is_suspicious(line.at, now=options.now) else line.at
        data = said.data | ({"level": line.level} if line.level in ("warn", "error") else {})
        event = EngineEvent(said.type, said.engine, at, log.name, line.line, "log", "exact", data)
        log.told.append((said, event))


def _spread(log: _Log, sessions: dict[str, Transcript]) -> set[str]:
    """Give a log's events to its sessions; their names. What the host does beside a session (a memory flush) has a name
    of its own, and belongs to the only session of the log where there is only one."""
    found = {name for said, _ in log.told if (name := _session(said, log)) is not None}
    named = {name for name in found if not name.startswith(INTERNAL)}
    seed = hashlib.sha256(log.first.encode("utf-8", errors="replace")).hexdigest()[:16]
    rest = next(iter(named)) if len(named) == 1 else f"log-{seed}"
    names: set[str] = set()
    for said, event in log.told:
        name = _session(said, log) or rest
        name = rest if name.startswith(INTERNAL) else name
        names.add(name)
        transcript = sessions.get(name)
        if transcript is None:
            title = f"Log of {', '.join(sorted(log.engines))}"
            transcript = sessions[name] = Transcript(Session(name, FORMAT, title=title), [])
        if log.name not in transcript.files:
            transcript.files.append(log.name)
        transcript.engine_events.append(event)
    if len(names) == 1:
        sessions[next(iter(names))].lines = log.counts
    return names


def _session(said: Said, log: _Log) -> str | None:
    return said.session or log.session_of.get(said.conversation or "")


def _problems(log: _Log) -> Iterator[ReadItem]:
    for number in log.counts.malformed[:20]:
        text = f"line {number} of {log.name} is malformed or longer than 1 MiB, and was skipped"
        yield ReadProblem("malformed_line", text, "warning", log.name, number)
    for kind, count in sorted(log.counts.unknown_types.items())[:20]:
        text = f"{told(count, 'line', 'lines')} with nothing that is known here, beginning like {kind[:80]!r}"
        yield ReadProblem("unknown_type", text, "info", log.name, value=kind[:80])
    if log.more:
        text = f"{log.more} more lines of engines in {log.name} are not shown"
        yield ReadProblem("more_findings", text, "info", log.name, value=log.more)


def _finish(transcript: Transcript) -> None:
    transcript.engine_events = in_time_order(transcript.engine_events)
    transcript.entries = len(transcript.engine_events)
    times = [event.at for event in transcript.engine_events if event.at is not None]
    transcript.session.started_at, transcript.session.ended_at = min(times, default=None), max(times, default=None)
    for event in transcript.engine_events:
        made = _compaction(event, len(transcript.compactions) + 1)
        if made is not None:
            transcript.compactions.append(made)


def _compaction(event: EngineEvent, number: int) -> Compaction | None:
    """A pass that wrote both its numbers, as a compaction; None for anything else."""
    before, after = as_int(event.data.get("tokensBefore")), as_int(event.data.get("tokensAfter"))
    strategy = event.data.get("strategy")
    is_pass = event.type == "compaction.finished" and strategy in ("sweep", "window") and event.data.get("compacted")
    if not is_pass or before is None or after is None or event.engine not in (LOSSLESS, CORTEXT):
        return None
    if event.engine == CORTEXT:
        note = f"{event.data.get('dropped')} messages archived to the engine's memory; it writes no summary"
        return Compaction(f"log-{event.line}", number, event.line, event.file, event.at, "trim", None, before, after,
                          producer=CORTEXT, summary_note=note)  # fmt: skip
    summary = event.data.get("createdSummaryId")
    note = f"{event.data.get('pass')} pass, level {event.data.get('level')}, made {summary}; told by the engine's log"
    return Compaction(f"log-{event.line}", number, event.line, event.file, event.at, "summary", None, before, after,
                      producer=LOSSLESS, summary_note=note)  # fmt: skip
