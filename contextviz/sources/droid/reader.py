"""Reads Droid's sessions with the settings beside them; a sub-agent is part of its parent's session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, SubAgent, Transcript
from contextviz.sources.droid.rows import FORMAT, is_message, is_settings, is_start
from contextviz.sources.droid.session import SessionRows
from contextviz.sources.droid.totals import Settings, add_last_call, contradiction, own_total, settings_of, unlogged
from contextviz.sources.features import declared
from contextviz.sources.lines import JsonLines
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.growing import Growing, feed, finished, grown, title_of
from contextviz.sources.source import ALONE, BESIDE, Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_id, as_text

SETTINGS = ".settings.json"
BACKUP = "a backup of the settings beside a session"
COPY = "a shorter record of a session that is read from another file"


@dataclass(slots=True)
class _Opened:
    """A session's file with what its first row says, its settings, and its sub-agents."""

    found: Found
    id: str
    forked_from: str | None
    called_by: str | None
    call: str | None
    title: str | None
    settings: Settings | None = None
    settings_file: str | None = None
    children: list[_Opened] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """The file's name without its ending: settings are named after it."""
        return self.found.probe.name.removesuffix(".jsonl")


class DroidReader:
    """Reader of `~/.factory/sessions/**/<id>.jsonl` and `<id>.settings.json`."""

    name = "droid"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images injected calls cache_reads failed_calls compactions "
            "summary forks subagents",
            "rebuilt", cached="beside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A session by its first row, or by messages as only Droid writes them."""
        if probe.document is not None and is_settings(probe.document, probe.basename):
            is_backup = probe.basename.endswith(".bak")
            return Detection(FORMAT, "ignored", BACKUP) if is_backup else Detection(FORMAT, "index")
        is_ours = any(map(is_start, probe.records)) or any(map(is_message, probe.records))
        is_other = any(record.get("type") == "session" for record in probe.records)
        return Detection(FORMAT, "session") if is_ours and not is_other else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of several files of one session the largest counts."""
        opened: dict[str, _Opened] = {}
        for found in files:
            probe = found.probe
            if found.detection.role == "ignored":
                yield SourceFile(probe.name, FORMAT, "ignored", False, found.detection.reason, probe.size)
            if found.detection.role != "session":
                continue
            one = _opened(found)
            other = opened.get(one.id)
            if other is not None:
                short, one = (one, other) if other.found.probe.size >= probe.size else (other, one)
                place = short.found.probe
                yield SourceFile(place.name, FORMAT, "duplicate", False, COPY, place.size, one.id)
            opened[one.id] = one
        yield from _settings(files, opened)
        placed = _placed(opened)
        for one in opened.values():
            if one.id not in placed:
                yield from _read(one, opened, options, is_alone=len(opened) == 1)


def _opened(found: Found) -> _Opened:
    probe = found.probe
    start = next((record for record in probe.records if is_start(record)), {})
    name = as_id(start.get("id")) or probe.basename.removesuffix(".jsonl")
    return _Opened(
        found, name, as_id(start.get("parent")), as_id(start.get("callingSessionId")),
        as_id(start.get("callingToolUseId")), title_of(as_text(start.get("sessionTitle")) or ""),
    )  # fmt: skip


def _settings(files: Sequence[Found], opened: dict[str, _Opened]) -> Iterator[ReadItem]:
    """Give each session its settings; they are listed, and count for what the session's rows do not tell."""
    by_stem = {one.stem: one for one in opened.values()}
    by_name = {one.stem.rsplit("/", 1)[-1]: one for one in opened.values()}
    for found in files:
        if found.detection.role != "index":
            continue
        probe = found.probe
        stem = probe.name.removesuffix(SETTINGS)
        owner = by_stem.get(stem) or by_name.get(stem.rsplit("/", 1)[-1])
        if owner is not None and probe.document is not None:
            owner.settings, owner.settings_file = settings_of(probe.document), probe.name
        reason = BESIDE if owner is not None else ALONE
        yield SourceFile(probe.name, FORMAT, "index", False, reason, probe.size, owner.id if owner else None)


def _placed(opened: dict[str, _Opened]) -> set[str]:
    """Put every sub-agent under the session at the root of those that called it; a circle has none."""
    placed: set[str] = set()
    for one in opened.values():
        seen, at = {one.id}, one.called_by
        root = None
        while at in opened and at not in seen:
            seen.add(at)
            root, at = opened[at], opened[at].called_by
        if root is not None and at not in seen:
            root.children.append(one)
            placed.add(one.id)
    return placed


def _read(one: _Opened, opened: dict[str, _Opened], options: ReadOptions, *, is_alone: bool) -> Iterator[ReadItem]:
    growing, broken = grown(
        DroidReader.name, one.found, options,
        lambda probe: SessionRows(Draft(Session(one.id, FORMAT), probe.name, options)),
        id_of=_id_of, is_alone=is_alone,
    )  # fmt: skip
    yield from broken
    draft = growing.script.draft
    family: list[tuple[_Opened, Growing]] = [(one, growing)]
    for child in one.children:
        inner = _growing(child.found.probe, SessionRows(draft, child.id))
        before = len(draft.transcript.messages)
        yield from feed(inner)
        count = len(draft.transcript.messages) - before
        draft.transcript.subagents.append(_subagent(draft, child, count))
        draft.transcript.files.append(child.found.probe.name)
        draft.transcript.problems.extend(inner.lines.problems)
        family.append((child, inner))
    transcript = finished(growing)
    for _, inner in family[1:]:
        _add_lines(transcript, inner.lines)
    _add_tokens(transcript, family, opened)
    for member, _ in family:
        place = member.found.probe
        yield SourceFile(place.name, FORMAT, "session", True, None, place.size, transcript.session.id)
    yield transcript


def _id_of(record: dict[str, Any]) -> str | None:
    return as_id(record.get("id"))


def _growing(probe: Probe, rows: SessionRows) -> Growing:
    lines = JsonLines(probe.path, probe.name, id_of=_id_of, size=probe.size)
    return Growing(lines, rows)


def _subagent(draft: Draft, child: _Opened, count: int) -> SubAgent:
    calls = (
        message.id
        for message in draft.transcript.messages
        for block in message.blocks
        if block.kind == "tool_call" and block.tool_call_id == child.call
    )
    kind, colon, task = (child.title or "").partition(":")
    is_kind = bool(colon) and " " not in kind
    return SubAgent(child.id, kind if is_kind else "subagent", task.strip() if is_kind else child.title,
                    next(calls, None) if child.call else None, count)  # fmt: skip


def _add_lines(transcript: Transcript, more: JsonLines) -> None:
    """The lines of a sub-agent's file add to the counts; its damaged ones are told in its own problems."""
    lines, counts = transcript.lines, more.counts
    lines.total += counts.total
    lines.read += counts.read + len(counts.malformed) + (counts.in_progress is not None)
    lines.blank += counts.blank
    lines.lone_surrogates += counts.lone_surrogates
    for kind, count in counts.unknown_types.items():
        lines.unknown_types[kind] = lines.unknown_types.get(kind, 0) + count
        text = f"{count} record(s) of the unknown type {kind}; they are kept and not understood"
        transcript.problems.append(ReadProblem("unknown_type", text, "info", more.name, value=kind))
    transcript.entries += counts.read + counts.unknown


def _add_tokens(transcript: Transcript, family: list[tuple[_Opened, Growing]], opened: dict[str, _Opened]) -> None:
    """Calls and totals from the settings. What is added here is added to what is given out, not to what is kept."""
    parts = []
    for member, growing in family:
        settings, rows = member.settings, growing.script
        if settings is None or not isinstance(rows, SessionRows):
            continue
        agent = None if member is family[0][0] else member.id
        add_last_call(transcript, settings, rows.last, rows.basis)
        before = opened.get(member.forked_from or "")
        if settings.total is not None and member.forked_from is not None and before is None:
            text = (
                "its tokens begin with those of the session it was made from, which is not among these files; so a "
                "part of what is shown as unlogged may be that session's"
            )
            transcript.problems.append(ReadProblem("carried_total", text, "info", member.found.probe.name))
        against = contradiction(settings, member.settings_file or member.found.probe.name)
        if against is not None:
            transcript.problems.append(against)
        total = own_total(settings, before.settings if before is not None else None)
        parts.append((total, [call for call in transcript.calls if call.agent == agent]))
        if agent is None:
            transcript.session.model = transcript.session.model or settings.model
            if settings.total is not None:
                transcript.session.hints["total_tokens"] = settings.total.total_tokens
            if settings.thinking:
                transcript.session.counters["thinking_tokens"] = settings.thinking
    transcript.unlogged_usage = unlogged(parts)
