"""Reads files of events: a session for each name in them, its events in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts, Session, SourceFile, Transcript
from contextviz.sources.context_events.assemble import Assembly
from contextviz.sources.context_events.envelope import Envelope, NoEvent, envelope_of, is_event
from contextviz.sources.features import declared
from contextviz.sources.lines import JsonLines
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_id

FORMAT = "events"
TWICE = "events that were there before (the same seq or id) are read once"


@dataclass(slots=True)
class _Gathered:
    """One session's events, by what makes each of them one, with the file and line that each came from."""

    events: dict[str, tuple[Envelope, str, int]] = field(default_factory=dict)
    repeated: int = 0
    files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Read:
    """What the files of one read hold."""

    sessions: dict[str, _Gathered] = field(default_factory=dict)
    counts: dict[str, LineCounts] = field(default_factory=dict)
    problems: dict[str, list[ReadProblem]] = field(default_factory=dict)


class ContextEventsReader:
    """Reader of event files (engines document, section 8)."""

    name = "context-events"
    declares = {
        FORMAT: declared(
            "messages times calls cache_reads compactions trigger summary window requests graph topics subagents "
            "engine_events system_prompt injected",
            "rebuilt",
            cached="either",
        )
    }

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the envelopes of the first records."""
        records = probe.records[:10]
        return Detection(FORMAT, "session") if records and all(is_event(one) for one in records) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Events of one session are one session, whichever files they are in."""
        found = _Read()
        for one in files:
            yield from _gather(one, found)
        told: set[str] = set()
        for name, gathered in found.sessions.items():
            yield _transcript(name, gathered, found, told, options)
            told.update(gathered.files)


def _gather(found: Found, into: _Read) -> Iterator[ReadItem]:
    probe = found.probe
    lines = JsonLines(probe.path, probe.name, id_of=lambda record: as_id(record.get("id")))
    into.problems[probe.name] = problems = []
    names: list[str] = []
    try:
        for record in lines:
            try:
                event = envelope_of(record.value)
            except NoEvent as why:
                lines.mark_unknown(record, "(no event)")
                text = f"line {record.line} is no event: {why}"
                problems.append(ReadProblem("not_an_event", text, "warning", probe.name, record.line))
                continue
            name = event.session or probe.basename
            names.append(name)
            gathered = into.sessions.setdefault(name, _Gathered())
            if probe.name not in gathered.files:
                gathered.files.append(probe.name)
            if event.identity in gathered.events:
                gathered.repeated += 1
            else:
                gathered.events[event.identity] = (event, probe.name, record.line)
    except OSError as error:
        yield SourceFile(probe.name, FORMAT, "session", False, f"it cannot be read: {error}", probe.size)
        yield ReadProblem("unreadable_file", f"{probe.name} cannot be read: {error}", "error", probe.name)
        return
    problems[:0] = lines.problems
    into.counts[probe.name] = lines.counts
    only = names[0] if len(set(names)) == 1 else None
    yield SourceFile(probe.name, FORMAT, "session", bool(names), None if names else "no event in it", probe.size, only)


def _transcript(name: str, gathered: _Gathered, found: _Read, told: set[str], options: ReadOptions) -> Transcript:
    """`told` are files whose lines and problems another session of them has told already."""
    ordered = in_order(list(gathered.events.values()))
    session = Session(name, FORMAT, format_version="1", agent=ordered[0][0].engine)
    draft = Draft(session, gathered.files[0], options)
    transcript = draft.transcript
    transcript.files = list(gathered.files)
    own = [file for file in gathered.files if file not in told]
    if len(own) == 1 and len(gathered.files) == 1:
        transcript.lines = found.counts[own[0]]
    else:
        transcript.lines.total = len(ordered) + gathered.repeated
    for file in own:
        transcript.problems.extend(found.problems[file])
    transcript.entries = len(ordered)
    if gathered.repeated:
        session.counters["repeated_events"] = gathered.repeated
        draft.problem("repeated_event", f"{gathered.repeated} {TWICE}", "info", value=gathered.repeated)
    assembly = Assembly(draft)
    for event, file, line in ordered:
        draft.file = file
        assembly.add(event, line)
    assembly.end()
    return draft.finish()


def in_order(events: list[tuple[Envelope, str, int]]) -> list[tuple[Envelope, str, int]]:
    """By their numbers; where any has none, in the order in which they came."""
    if any(one[0].seq is None for one in events):
        return events
    return sorted(events, key=lambda one: one[0].seq or 0)
