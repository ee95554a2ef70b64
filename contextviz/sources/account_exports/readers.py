"""The readers of ChatGPT's and claude.ai's exports: a session for each conversation, the same one once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.events.times import EARLIEST
from contextviz.sources.account_exports import chatgpt, claude_ai
from contextviz.sources.account_exports.documents import Export, Json, is_export, open_export
from contextviz.sources.account_exports.members import chatgpt_member, claude_ai_member
from contextviz.sources.account_exports.talk import updated_of
from contextviz.sources.features import declared
from contextviz.sources.plain.load import MAX_DOCUMENT_BYTES, NotReadable, refused
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import told

_SAID = "messages times title tool_pairs thinking images branches"
TOO_LARGE = (
    "it is larger than 64 MB, the most that is read of one document; split its list of conversations into several "
    "files, each a list"
)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What differs between the two."""

    format: str
    looks: Callable[[Json], bool]
    id_of: Callable[[Json], str]
    size_of: Callable[[Json], int]
    updated_key: str
    transcript_of: Callable[[Json, str, ReadOptions], Transcript]


@dataclass(slots=True)
class _Index:
    """One file's conversations by their place: id, how many messages each has, and when it changed last."""

    found: Found
    names: list[tuple[str, int, datetime | None]]
    own: set[int] = field(default_factory=set)


class ChatGptExportReader:
    """Reader of `conversations.json` and `conversations-<number>.json` of ChatGPT's export."""

    name = "chatgpt_export"
    declares = {chatgpt.FORMAT: declared(f"{_SAID} injected", "rebuilt", cached="unwritten")}
    _kind = _Kind(chatgpt.FORMAT, chatgpt.looks, chatgpt.id_of, chatgpt.size_of, chatgpt.UPDATED_KEY,
                  chatgpt.transcript_of)  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A list of conversations by the keys of the first; the export's other files as such."""
        return _detection(self._kind, probe, chatgpt_member)

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of one conversation in several files the longest counts, then the one that changed last."""
        yield from _read(self._kind, files, options)


class ClaudeAiExportReader:
    """Reader of `conversations.json` of claude.ai's export."""

    name = "claude_ai_export"
    declares = {claude_ai.FORMAT: declared(_SAID, "rebuilt", cached="unwritten")}
    _kind = _Kind(claude_ai.FORMAT, claude_ai.looks, claude_ai.id_of, claude_ai.size_of, claude_ai.UPDATED_KEY,
                  claude_ai.transcript_of)  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A list of conversations by the keys of the first; the export's other files as such."""
        return _detection(self._kind, probe, claude_ai_member)

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of one conversation in several files the longest counts, then the one that changed last."""
        yield from _read(self._kind, files, options)


def _detection(kind: _Kind, probe: Probe, member_of: Callable[[Probe], str | None]) -> Detection | None:
    if is_export(probe, kind.looks):
        return Detection(kind.format, "session")
    reason = member_of(probe)
    return None if reason is None else Detection(kind.format, "ignored", reason)


def _read(kind: _Kind, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
    indexes: list[_Index] = []
    kept: Export | None = None
    is_only = sum(found.detection.role != "ignored" for found in files) == 1
    for found in files:
        probe, detection = found.probe, found.detection
        if detection.role == "ignored":
            yield SourceFile(probe.name, kind.format, "ignored", False, detection.reason, probe.size)
            continue
        try:
            export = open_export(probe, kind.looks)
        except NotReadable as why:
            yield from refused(found, TOO_LARGE if probe.size > MAX_DOCUMENT_BYTES else str(why))
            continue
        indexes.append(_Index(found, [_name(kind, one, options) for one in export.conversations]))
        yield from _told(probe, export)
        kept = export if is_only else None
        del export  # a document of 64 MB is several hundred MB of values: one at a time
    _share_out(indexes)
    for index in indexes:
        try:
            yield from _of_file(kind, index, kept or open_export(index.found.probe, kind.looks), options)
        except NotReadable as why:  # it was readable a moment ago
            yield from refused(index.found, str(why))


def _name(kind: _Kind, value: Json, options: ReadOptions) -> tuple[str, int, datetime | None]:
    return kind.id_of(value), kind.size_of(value), updated_of(value.get(kind.updated_key), now=options.now)


def _share_out(indexes: Sequence[_Index]) -> None:
    """Give each conversation to the file that has most of it; of equal ones to that where it changed last, then to the
    first."""
    owners: dict[str, tuple[tuple[int, datetime], _Index, int]] = {}
    for index in indexes:
        for place, (name, size, updated) in enumerate(index.names):
            rank = (size, updated or EARLIEST)
            if size and (name not in owners or owners[name][0] < rank):
                owners[name] = (rank, index, place)
    for _, index, place in owners.values():
        index.own.add(place)


def _told(probe: Probe, export: Export) -> Iterator[ReadProblem]:
    """What is wrong with a document as a whole."""
    if export.broken_after is not None:
        what = told(export.broken_after, "conversation, which is", "conversations, which are")
        text = f"{probe.name} is cut off or damaged behind its first {what} read"
        yield ReadProblem("malformed_document", text, "error", probe.name, value=export.broken_after)
    if export.passed:
        what = told(export.passed, "element is no conversation that is known, and is",
                    "elements are no conversations that are known, and are")  # fmt: skip
        text = f"{probe.name}: {what} not shown"
        yield ReadProblem("unknown_type", text, "info", probe.name, value=export.passed)
    if export.surrogates:
        text = f"{export.surrogates} half emoji replaced by U+FFFD"
        yield ReadProblem("lone_surrogate", text, "info", probe.name, value=export.surrogates)


def _of_file(kind: _Kind, index: _Index, export: Export, options: ReadOptions) -> Iterator[ReadItem]:
    probe = index.found.probe
    empty = sum(not size for _, size, _ in index.names)
    again = len(index.names) - empty - len(index.own)
    if empty:
        text = f"of {probe.name}: {_counted(empty)} without a message, so there is nothing to show"
        yield ReadProblem("empty_conversation", text, "info", probe.name, value=empty)
    if again:
        text = f"of {probe.name}: {_counted(again)} read from another place, which has at least as much"
        yield ReadProblem("duplicate_conversation", text, "info", probe.name, value=again)
    if index.own:
        session = index.names[next(iter(index.own))][0] if len(index.own) == 1 else None
        yield SourceFile(probe.name, kind.format, "session", True, None, probe.size, session)
    elif again:
        reason = "all of its conversations are read from other files, which have at least as much of them"
        yield SourceFile(probe.name, kind.format, "duplicate", False, reason, probe.size)
    else:
        yield SourceFile(probe.name, kind.format, "session", False, "no conversation with messages in it", probe.size)
    conversations: list[Any] = export.conversations
    for place in sorted(index.own):
        yield kind.transcript_of(conversations[place], probe.name, options)
        conversations[place] = None  # read: its values are not needed any longer


def _counted(count: int) -> str:
    return "1 conversation is" if count == 1 else f"{count} conversations are"
