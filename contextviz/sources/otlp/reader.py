"""Reads OTLP/JSON files together: their calls by conversation, a transcript each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, SubAgent, Transcript
from contextviz.sources.features import declared
from contextviz.sources.lines import JsonLines
from contextviz.sources.otlp.agents import Told, assemble
from contextviz.sources.otlp.calls import Call, CallFinder
from contextviz.sources.otlp.content import Content
from contextviz.sources.otlp.envelope import Event, Span, logs_of, spans_of
from contextviz.sources.otlp.interest import talk_of
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.exchange import Exchange, RequestLog
from contextviz.sources.plain.load import NotReadable, load
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_text

FORMAT = "otlp"
KEYS = ("resourceSpans", "resourceLogs", "resourceMetrics")
NO_CONTENT = "the exporter wrote no messages, so what this call was given is not known"
CUT = "an attribute was cut off by the exporter: messages at its end are missing"


@dataclass(slots=True)
class _Gathered:
    """Everything in the files of one read, and how much of each file it was."""

    spans: list[Span] = field(default_factory=list)
    logs: list[Event] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    records: dict[str, int] = field(default_factory=dict)


class OtlpReader:
    """Reader of OTLP files: one envelope, or one a line as the file exporter writes them."""

    name = "otlp"
    declares = {
        FORMAT: declared(
            "messages times tool_pairs thinking images system_prompt tool_definitions calls cache_reads cache_writes "
            "reasoning cost failed_calls requests subagents",
            "rebuilt compactions", cached="either",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the envelope's keys."""
        values = [probe.document] if probe.document is not None else list(probe.records[:5])
        is_ours = bool(values) and all(_is_envelope(value) for value in values)
        if not is_ours:
            return None
        if all("resourceMetrics" in value for value in values) and not any(_has_calls(value) for value in values):
            return Detection(FORMAT, "ignored", "metrics only: sums without the calls they are of")
        return Detection(FORMAT, "session")

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. A span and the events of another file that name it are read as one."""
        gathered = _Gathered()
        for found in files:
            if found.detection.role != "ignored":
                _gather(found, gathered)
        finder = CallFinder(gathered.spans, gathered.logs)
        calls: dict[str, list[Call]] = {}
        for call in finder.calls():
            calls.setdefault(call.conversation, []).append(call)
        told = _told(gathered, finder, calls)
        names = [found.probe.name for found in files if gathered.records.get(found.probe.name)]
        for found in files:
            yield _listed(found, gathered, calls)
        yield from gathered.problems
        for number, (name, own) in enumerate(calls.items()):
            first = gathered if number == 0 else None
            yield _transcript(name, own, names, first, options, told.get(name, Told()))


def _is_envelope(value: Mapping[str, Any]) -> bool:
    return any(isinstance(value.get(key), list) for key in KEYS)


def _has_calls(value: Mapping[str, Any]) -> bool:
    return "resourceSpans" in value or "resourceLogs" in value


def _gather(found: Found, gathered: _Gathered) -> None:
    probe = found.probe
    try:
        if probe.document is not None:
            value, _ = load(probe)
            _take(as_dict(value), probe.name, gathered)
            return
        lines = JsonLines(probe.path, probe.name, id_of=lambda _record: None)
        for record in lines:
            _take(record.value, probe.name, gathered)
        gathered.problems.extend(lines.problems)
    except (NotReadable, OSError) as why:
        text = f"{probe.name} cannot be read: {why}"
        gathered.problems.append(ReadProblem("unreadable_file", text, "error", probe.name))


def _take(value: Mapping[str, Any], name: str, gathered: _Gathered) -> None:
    before = len(gathered.spans) + len(gathered.logs)
    gathered.spans.extend(spans_of(value))
    gathered.logs.extend(logs_of(value))
    made = len(gathered.spans) + len(gathered.logs) - before
    gathered.records[name] = gathered.records.get(name, 0) + made


def _listed(found: Found, gathered: _Gathered, calls: Mapping[str, list[Call]]) -> SourceFile:
    probe = found.probe
    if found.detection.role == "ignored":
        return SourceFile(probe.name, FORMAT, "ignored", False, found.detection.reason, probe.size)
    if not calls:
        why = "no model call among its spans and events"
        return SourceFile(probe.name, FORMAT, "ignored", False, why, probe.size)
    session = next(iter(calls)) if len(calls) == 1 else None
    has_any = bool(gathered.records.get(probe.name))
    reason = None if has_any else "no spans or log records in it"
    return SourceFile(probe.name, FORMAT, "session", has_any, reason, probe.size, session)


def _told(gathered: _Gathered, finder: CallFinder, calls: Mapping[str, list[Call]]) -> dict[str, Told]:
    """What agents' own records say of conversations that have calls."""
    told: dict[str, Told] = {}
    for event in gathered.logs:
        named = talk_of(event.attributes)
        if named is not None and named in calls:
            told.setdefault(named, Told()).logs.append(event)
    for span in gathered.spans:
        talk = finder.conversation_of(span)
        if talk in calls:
            told.setdefault(talk, Told()).spans.append(span)
    for run in finder.runs():
        own = calls.get(run.conversation, [])
        if any(not call.has_usage for call in own):
            told.setdefault(run.conversation, Told()).runs.append(run)
    return told


def _transcript(
    name: str, calls: list[Call], files: list[str], gathered: _Gathered | None, options: ReadOptions, told: Told
) -> Transcript:
    first = calls[0].attributes
    agent = first.get("gen_ai.agent.name") or first.get("openclaw.agent") or first.get("service.name")
    session = Session(name, FORMAT, agent=as_text(agent))
    draft = Draft(session, files[0] if files else "", options)
    transcript = draft.transcript
    transcript.files = list(files)
    if all(call.teller != "genai" for call in calls):
        assemble(draft, calls, told)
    else:
        _add_exchanges(draft, calls)
    if not transcript.messages:
        draft.problem("no_content", NO_CONTENT, "info")
    counts = Counter(message.agent for message in transcript.messages)
    for agent in dict.fromkeys(call.agent for call in transcript.calls if call.agent is not None):
        transcript.subagents.append(SubAgent(agent, "agent", None, None, counts[agent]))
    transcript.entries = transcript.lines.total = len(calls)
    if gathered is not None:
        session.counters["spans"] = len(gathered.spans)
        session.counters["log_records"] = len(gathered.logs)
    return draft.finish()


def _add_exchanges(draft: Draft, calls: list[Call]) -> None:
    """Calls that carry their whole window (the GenAI conventions)."""
    log = RequestLog(draft)
    counters = draft.session.counters
    for number, call in enumerate(calls, start=1):
        content = Content(draft.pool)
        content.read(call.attributes, call.events)
        what = f"call {number}"
        if call.at is not None:
            draft.time(int(call.at.timestamp() * 1000), what)
        log.add(
            Exchange(
                content.context, content.answer, call.usage, call.model, call.response_id, call.at, None, call.agent,
                has_request=bool(content.context), is_failed=call.is_error, is_partial=content.is_cut,
                note=CUT if content.is_cut else None,
            )
        )  # fmt: skip
        if content.is_cut:
            draft.problem("truncated_content", f"{what}: {CUT}", entry=call.response_id)
        if not call.has_usage and not call.is_error:
            counters["calls_without_usage"] = counters.get("calls_without_usage", 0) + 1
