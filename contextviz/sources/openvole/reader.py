"""Reads OpenVole's sessions: a transcript each, its meta.json, and the log's tasks that belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from contextviz.events.message import Block, Message, Role
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.events.times import instant
from contextviz.sources.features import declared
from contextviz.sources.joining import UNNAMED
from contextviz.sources.openvole.compact import HISTORY_ENTRIES
from contextviz.sources.openvole.lines import ROLE, TranscriptLines, is_entry, is_legacy
from contextviz.sources.openvole.log import Task, VoleLog, is_log, read_log
from contextviz.sources.openvole.replay import TaskReplay
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import ALONE, BESIDE, Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_int, as_text, told

FORMAT = "openvole"
META_KEYS = {"createdAt", "lastActive", "messageCount"}
ROLES: dict[str, Role] = {"user": "user", "in": "user", "brain": "assistant", "out": "assistant", "error": "tool"}
NEAR = timedelta(minutes=2)
BLANK = b"\xef\xbb\xbf \t\r\n"
COMPARED_CHARS = 120


@dataclass(slots=True)
class _Open:
    """A session while its log is looked for: its draft, its folder, and which tasks were given to it."""

    draft: Draft
    place: str
    tasks: list[tuple[VoleLog, Task]] = field(default_factory=list)


class OpenVoleReader:
    """Reader of paw-session's folders and of vole.log."""

    name = "openvole"
    declares = {
        FORMAT: declared(
            "messages times calls cost window engine_events", "rebuilt compactions trigger summary", cached="unwritten"
        )
    }

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. Transcripts by the form of their lines, logs by theirs, meta.json by its keys."""
        if probe.tables is not None:
            return None
        if probe.document is not None and probe.document.keys() >= META_KEYS and "source" in probe.document:
            return Detection(FORMAT, "index")
        if _is_transcript(probe):
            return Detection(FORMAT, "session")
        if not probe.records and is_legacy(probe.head):
            return Detection(FORMAT, "session")
        return Detection(FORMAT, "trace") if is_log(probe.head) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. A log's task belongs to the session that holds its user line; where only one session
        is among the files, all of them are its."""
        opened = [_open(found, options) for found in files if found.detection.role == "session"]
        for found in files:
            if found.detection.role == "index":
                yield _meta(found, opened)
        logs: list[tuple[Found, VoleLog]] = []
        for found in files:
            if found.detection.role == "trace":
                try:
                    logs.append((found, read_log(found.probe.path, found.probe.name)))
                except OSError as error:
                    text = f"{found.probe.name} cannot be opened: {error.strerror}"
                    yield ReadProblem("unreadable_file", text, "error", found.probe.name)
        for found, log in logs:
            yield from _given(found, log, opened, options)
        for found in files:
            if found.detection.role == "session":
                one = next(one for one in opened if one.draft.file == found.probe.name)
                yield SourceFile(
                    found.probe.name, FORMAT, "session", True, None, found.probe.size, one.draft.session.id
                )
        for one in opened:
            yield _finish(one)


def _is_transcript(probe: Probe) -> bool:
    own = [record["role"] for record in probe.records if is_entry(record)]
    is_named = probe.basename == "transcript.md"
    return len(own) * 2 > len(probe.records) and (is_named or any(role not in ("user", "error") for role in own))


def _open(found: Found, options: ReadOptions) -> _Open:
    probe = found.probe
    parts = probe.name.split("/")
    lines = TranscriptLines(probe.path, probe.name, id_of=lambda record: as_text(record.get("ts")))
    name = parts[-2] if len(parts) > 1 else _id_of(probe)
    draft = Draft(Session(name, FORMAT, title=None), probe.name, options)
    clocks = 0
    try:
        for record in lines:
            value = record.value
            role = as_text(value.get("role"))
            if role is None or not isinstance(value.get("content"), str) or ROLE.match(role) is None:
                lines.mark_unknown(record, role or "no role")
                continue
            clocks += "clock" in value
            at = draft.time(value.get("ts"), f"line {record.line}", line=record.line)
            _add(draft, role, value["content"], at, record.line)
    except OSError as error:
        draft.problem("unreadable_file", f"{probe.name} cannot be read to its end: {error.strerror}", "error")
    if clocks:
        what = told(clocks, "line of the older form has", "lines of the older form have")
        text = f"{what} a clock and no date: the day is not known"
        draft.problem("unreadable_time", text, "info", value=clocks)
    for kind, count in lines.counts.unknown_types.items():
        text = f"{told(count, 'line', 'lines')} of the unknown role {kind[:80]}"
        draft.problem("unknown_type", text, "info", value=kind[:80])
    draft.transcript.lines = lines.counts
    draft.transcript.problems.extend(lines.problems)
    draft.transcript.entries = len(draft.transcript.messages) + lines.counts.unknown
    return _Open(draft, "/".join(parts[:-1]))


def _add(draft: Draft, role: str, content: str, at: datetime | None, line: int) -> None:
    if role.startswith("tool:") or role == "error":
        name = role.partition(":")[2] or None
        block = Block("tool_result", draft.pool.put(content), name, is_error=role == "error")
        draft.message("tool", role, [block], id=f"line-{line}", at=at, line=line)
        return
    block = Block("text", draft.pool.put(content))
    draft.message(ROLES[role], role, [block], id=f"line-{line}", at=at, line=line)


def _id_of(probe: Probe) -> str:
    # The first line stays as the file grows; what follows it within the first bytes does not.
    first = probe.head.lstrip(BLANK).partition(b"\n")[0]
    return UNNAMED + hashlib.sha256(first[:512]).hexdigest()[:16]


def _meta(found: Found, opened: list[_Open]) -> SourceFile:
    probe, document = found.probe, found.probe.document or {}
    place = probe.name.rpartition("/")[0]
    owner = next((one for one in opened if one.place == place), None)
    if owner is None:
        return SourceFile(probe.name, FORMAT, "index", False, ALONE, probe.size)
    session = owner.draft.session
    session.hints["message_count"] = as_int(document.get("messageCount"))
    session.hints["last_active"] = as_text(document.get("lastActive"))
    session.agent = as_text(document.get("source")) or None
    created = instant(document.get("createdAt"))
    if session.started_at is None:
        session.started_at = created
    owner.draft.transcript.files.append(probe.name)
    return SourceFile(probe.name, FORMAT, "index", False, BESIDE, probe.size, session.id)


def _given(found: Found, log: VoleLog, opened: list[_Open], options: ReadOptions) -> Iterator[ReadItem]:
    """Give the log's tasks to their sessions; those of none become a session of the log's own."""
    own: _Open | None = None
    taken: set[int] = set()
    owners: list[_Open] = []
    for task in log.tasks:
        owner = opened[0] if len(opened) == 1 else _owner(task, opened, taken)
        if owner is None and task.calls:
            if own is None:
                session = Session(_id_of(found.probe), FORMAT, title=f"Tasks of {found.probe.basename}")
                own = _Open(Draft(session, found.probe.name, options), "")
            owner = own
        if owner is not None:
            owner.tasks.append((log, task))
            if owner not in owners:
                owners.append(owner)
    for owner in owners:
        if found.probe.name not in owner.draft.transcript.files:
            owner.draft.transcript.files.append(found.probe.name)
    if log.cut:
        what = told(log.cut, "line is longer than 1 MiB and was", "lines are longer than 1 MiB and were")
        text = f"{found.probe.name}: {what} skipped"
        yield ReadProblem("malformed_line", text, "warning", found.probe.name, value=log.cut)
    reason = None if owners else "no model call in it"
    session_id = owners[0].draft.session.id if len(owners) == 1 else None
    yield SourceFile(found.probe.name, FORMAT, "trace", bool(owners), reason, found.probe.size, session_id)
    if own is not None:
        yield _finish(own)


def _owner(task: Task, opened: list[_Open], taken: set[int]) -> _Open | None:
    for one in opened:
        for message in one.draft.transcript.messages:
            if message.role == "user" and id(message) not in taken and _is_of(task, message, one.draft):
                taken.add(id(message))
                return one
    return None


def _is_of(task: Task, message: Message, draft: Draft) -> bool:
    if task.text is None or not message.blocks:
        return False
    if task.at is not None and message.at is not None and abs(task.at - message.at) > NEAR:
        return False
    text = draft.pool.get(message.blocks[0].text).partition("\n")[0][:COMPARED_CHARS]
    return bool(text) and (task.text.startswith(text) or text.startswith(task.text.rstrip(".")[:COMPARED_CHARS]))


def _finish(one: _Open) -> Transcript:
    draft, messages = one.draft, one.draft.transcript.messages
    place = 0
    for log, task in one.tasks:
        start = next(
            (n for n in range(place, len(messages)) if messages[n].role == "user" and _is_of(task, messages[n], draft)),
            None,
        )
        if start is None:
            TaskReplay(draft, messages[max(0, place - HISTORY_ENTRIES) : place], [], log.name).play(task)
            continue
        end = next((n for n in range(start + 1, len(messages)) if messages[n].role == "user"), len(messages))
        before = messages[max(0, start - HISTORY_ENTRIES) : start]
        TaskReplay(draft, before, messages[start:end], log.name).play(task)
        place = end
    counted, transcript = draft.transcript.lines, draft.transcript
    transcript.context_at_end = [message.id or "" for message in messages if message.role != "tool"][-50:]
    finished = draft.finish()
    finished.lines = counted
    # Calls of tools are in no line of a transcript, so a result without one is nothing odd.
    finished.orphan_results = []
    return finished
