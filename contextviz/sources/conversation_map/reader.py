"""Reads conversation maps with the memory folder around them: one transcript a map."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.events.topic import TopicEvent
from contextviz.sources.conversation_map.contextlog import read_log
from contextviz.sources.conversation_map.document import MapReading, read_map
from contextviz.sources.conversation_map.merge import merge_log
from contextviz.sources.conversation_map.repair import read_document
from contextviz.sources.features import declared
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions

FORMAT = "conversation-map"
MAX_MAP_BYTES = 64 * 1024 * 1024
MAX_NOTE_BYTES = 4 * 1024 * 1024
MAP, LOG, THREAD, STATUS, STATE = "map", "log", "thread", "status", "state"
_TOPIC_FILE = re.compile(r"(?:^|/)contexts/([^/]+)/(THREAD|THREAD_ARCHIVE|STATUS)\.md$")
_LOG_FILE = re.compile(r"(?:^|/)CONTEXT_LOG(?:_ARCHIVE)?\.md$")
_LOG_MARK = re.compile(rb"\[(?:CONTEXT:|COMPACTION\])|^# Context Log", re.MULTILINE)
_ACTIVE = re.compile(r"^[\s*_#-]{0,8}Active context:[\s*_`]{0,8}([\w.-]{1,200})", re.MULTILINE | re.IGNORECASE)
_UPDATED = re.compile(r"^[\s*_#-]{0,8}Last updated:[\s*_`]{0,8}([\d :TZ.+-]{8,40})", re.MULTILINE | re.IGNORECASE)


@dataclass(slots=True)
class _Folder:
    """The files of one memory folder, by what they are."""

    path: str
    map: Probe | None = None
    logs: list[Probe] = field(default_factory=list)
    notes: list[tuple[str, str, Probe]] = field(default_factory=list)
    state: Probe | None = None

    @property
    def name(self) -> str:
        """What people call it: the workspace, where the folder is a `memory` inside one."""
        parts = [part for part in self.path.split("/") if part]
        return parts[-2] if len(parts) > 1 and parts[-1] == "memory" else (parts[-1] if parts else "memory")


class ConversationMapReader:
    """The reader of the context-memory skill's files (formats.md E.4, engines.md 6)."""

    name = "conversation_map"
    declares = {FORMAT: declared("topics", "title", cached="unwritten")}

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A map is known by its keys; the notes beside it by their place and their words."""
        part = _part_of(probe)
        if part is None:
            return None
        return Detection(FORMAT, "session", None if part == MAP else "belongs to the conversation map of its folder")

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Maps larger than 64 MB are refused with a sentence; a log without a map is read alone."""
        for folder in _folders(files):
            if folder.map is not None and folder.map.size > MAX_MAP_BYTES:
                yield from _refused(folder.map)
                folder.map = None
            if folder.map is None and not folder.logs:
                yield from _without_map(folder)
                continue
            yield from _read(folder, options)


def _read(folder: _Folder, options: ReadOptions) -> Iterator[ReadItem]:
    main = folder.map or folder.logs[0]
    reading = MapReading(main.name, options.now)
    document: Mapping[str, Any] = {}
    if folder.map is not None:
        loaded = _document(folder.map, reading)
        if loaded is None:
            text = f"{main.name} is not JSON and could not be mended; put it right by hand and import it again"
            yield ReadProblem("malformed_line", text, "error", main.name)
            yield SourceFile(main.name, FORMAT, "ignored", False, "not readable as JSON", main.size)
            folder.map = None
            if not folder.logs:
                yield from _without_map(folder)
                return
        else:
            document = loaded
            read_map(loaded, reading)
    for log in folder.logs:
        merge_log(read_log(_text(log)), reading, log.name)
    transcript = _transcript(folder, document, reading, options)
    for probe in _all(folder):
        yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, transcript.session.id)
    yield transcript


def _without_map(folder: _Folder) -> Iterator[ReadItem]:
    for probe in _all(folder):
        reason = "notes of a memory folder without a conversation map"
        yield SourceFile(probe.name, FORMAT, "ignored", False, reason, probe.size)


def _document(probe: Probe, reading: MapReading) -> dict[str, Any] | None:
    try:
        repaired = read_document(probe.path.read_bytes())
    except OSError:
        return None
    for sentence in repaired.repairs:
        reading.problem("repaired_json", f"the map is not valid JSON: {sentence}")
    if repaired.surrogates:
        text = f"{repaired.surrogates} half emoji replaced by U+FFFD"
        reading.problem("lone_surrogate", text, "info", value=repaired.surrogates)
    return repaired.document


def _transcript(folder: _Folder, document: Mapping[str, Any], reading: MapReading, options: ReadOptions) -> Transcript:
    threads: dict[str, list[tuple[bool, str]]] = {}
    for slug, kind, probe in folder.notes:
        topic = reading.topics.get(slug)
        if topic is None:
            text = f"the folder contexts/{slug} is of a topic that the map does not declare"
            reading.problem("undeclared_topic", text, "info", entry=slug, file=probe.name)
            topic = reading.topic(slug)
        if kind == STATUS:
            topic.status_note = options.pool.put(_text(probe))
        else:
            threads.setdefault(slug, []).append((probe.basename != "THREAD.md", _text(probe)))
    for slug, parts in threads.items():
        # The archive holds what was moved out of the thread, so it stands behind it.
        text = "\n\n".join(part for _, part in sorted(parts, key=lambda part: part[0]))
        reading.topics[slug].thread = options.pool.put(text)
    if folder.notes:
        _missing_notes(reading)
    version = document.get("version")
    session = Session(
        _session_id(folder, document, reading),
        FORMAT,
        str(version)[:20] if isinstance(version, int | float | str) else None,
        title=f"Conversation map of {folder.name}",
    )
    times = [event.at for event in reading.events if event.at is not None and event.at <= options.now]
    session.started_at, session.ended_at = min(times, default=None), max(times, default=None)
    if folder.state is not None:
        _read_state(_text(folder.state), folder.state, session, reading)
    if reading.hidden:
        text = f"{reading.hidden} more findings of this map are not listed"
        reading.problems.append(ReadProblem("more_findings", text, "info", reading.file, value=reading.hidden))
    return Transcript(
        session,
        files=[probe.name for probe in _all(folder)],
        entries=len(reading.events),
        topics=list(reading.topics.values()),
        topic_events=in_order(reading.events),
        problems=reading.problems,
    )


def _read_state(text: str, probe: Probe, session: Session, reading: MapReading) -> None:
    """What the agent wrote down before a compaction (engines.md 6.2): a hint, never truth."""
    active, updated = _ACTIVE.search(text), _UPDATED.search(text)
    if updated is not None:
        session.hints["state_updated"] = updated.group(1).strip()
    if active is None:
        said = f"{probe.name} names no active context"
        reading.problem("missing_key", said, "info", file=probe.name)
        return
    slug = active.group(1)
    session.hints["active_context"] = slug
    if slug not in reading.topics:
        said = f"{probe.name} names the active context {slug[:80]}, which the map does not declare"
        reading.problem("undeclared_topic", said, "info", entry=slug, file=probe.name)


def in_order(events: list[TopicEvent]) -> list[TopicEvent]:
    """Events by time, sub-agents after what started them; those without a time stay behind the one before them."""
    keyed = []
    last = None
    for number, event in enumerate(events):
        last = event.at or last
        keyed.append(((last is not None, last, number), event))
    timed = sorted((pair for pair in keyed if pair[0][0]), key=lambda pair: pair[0][1:])
    return [event for _, event in (*(pair for pair in keyed if not pair[0][0]), *timed)]


def _missing_notes(reading: MapReading) -> None:
    for slug, topic in reading.topics.items():
        if topic.is_declared and topic.thread is None and topic.status_note is None:
            text = f"the topic {slug} has neither THREAD.md nor STATUS.md"
            reading.problem("missing_notes", text, "info", entry=slug)


def _session_id(folder: _Folder, document: Mapping[str, Any], reading: MapReading) -> str:
    """An id that stays while the map grows and wherever it lies: from its first topic and its first event, or the
    folder's name where it has neither."""
    first = reading.events[0] if reading.events else None
    contexts = document.get("contexts")
    slug = next(iter(contexts), "") if isinstance(contexts, dict) else ""
    topic = reading.topics.get(slug)
    seed = [slug, str(topic.created_at) if topic else ""]
    seed += [first.id or "", str(first.at)] if first else []
    if not any(seed):
        seed = [folder.name]
    return "map-" + hashlib.sha256("\n".join(seed).encode("utf-8", errors="replace")).hexdigest()[:16]


def _refused(probe: Probe) -> Iterator[ReadItem]:
    size = f"{probe.size / 1024 / 1024:.0f} MB"
    reason = f"{size}: a map is one JSON document, and those are read up to 64 MB"
    yield ReadProblem("too_large", f"{probe.name} was not read: {reason}", "error", probe.name)
    yield SourceFile(probe.name, FORMAT, "ignored", False, reason, probe.size)


def _folders(files: Sequence[Found]) -> list[_Folder]:
    folders: dict[str, _Folder] = {}
    for found in files:
        probe = found.probe
        part = _part_of(probe)
        topic = _TOPIC_FILE.search(probe.name)
        place = probe.name[: topic.start()] if topic else probe.name.rpartition("/")[0]
        folder = folders.setdefault(place, _Folder(place))
        if part == MAP and folder.map is None:
            folder.map = probe
        elif part == MAP:
            folders[f"{place}/{probe.basename}"] = _Folder(place, probe)
        elif part == LOG:
            folder.logs.append(probe)
        elif part == STATE:
            folder.state = probe
        elif topic is not None:
            folder.notes.append((topic.group(1), STATUS if topic.group(2) == "STATUS" else THREAD, probe))
    return list(folders.values())


def _all(folder: _Folder) -> list[Probe]:
    ones = [folder.map, *folder.logs, *(probe for _, _, probe in folder.notes), folder.state]
    return [probe for probe in ones if probe is not None]


def _part_of(probe: Probe) -> str | None:
    document = probe.document
    if document is not None:
        return MAP if _is_map(document) else None
    if probe.tables is not None:
        return None
    if probe.basename == "conversation-map.json":
        # Not valid JSON, or too large to be looked at whole: its words decide.
        return MAP if b'"contexts"' in probe.head or b'"events"' in probe.head else None
    if _LOG_FILE.search(probe.name) and _LOG_MARK.search(probe.head):
        return LOG
    if _TOPIC_FILE.search(probe.name):
        return THREAD
    if probe.basename == "session-state.md" and b"Active context:" in probe.head:
        return STATE
    return None


def _is_map(document: Mapping[str, Any]) -> bool:
    if "version" not in document and "contexts" not in document:
        return False
    has_both = isinstance(document.get("contexts"), dict) and isinstance(document.get("events"), list)
    return has_both and "resourceSpans" not in document


def _text(probe: Probe) -> str:
    try:
        with probe.path.open("rb") as raw:
            data = raw.read(MAX_NOTE_BYTES)
    except OSError:
        return ""
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
