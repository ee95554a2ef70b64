"""A chat file as the messages it ends with: the last version of each, patches and rewinds applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts
from contextviz.sources.lines import JsonLines, Record
from contextviz.sources.plain.load import load
from contextviz.sources.source import Probe
from contextviz.sources.values import as_dict, as_id, as_list, as_text

Json = dict[str, Any]
TYPES = frozenset({"user", "gemini", "info", "error", "warning"})


@dataclass(slots=True)
class Kept:
    """One message: its last version, the line it first stood on, and whether a rewind or a new list took it out."""

    value: Json
    line: int | None
    id: str | None
    is_gone: bool = False


@dataclass(slots=True)
class Cut:
    """Messages taken out of the conversation before message number `position` (in the order first written): by
    going back (`is_rewind`), or by a new list of messages."""

    line: int
    position: int
    gone: list[Kept]
    is_rewind: bool


@dataclass(slots=True)
class Chat:
    """A chat file: its header's fields (patches applied) and its messages in the order they were first written."""

    header: Json = field(default_factory=dict)
    messages: list[Kept] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    missing_rewinds: list[tuple[int, str]] = field(default_factory=list)
    lines: LineCounts = field(default_factory=LineCounts)
    problems: list[ReadProblem] = field(default_factory=list)
    entries: int = 0
    _live: dict[str, Kept] = field(default_factory=dict)

    def put(self, value: Json, line: int | None) -> None:
        """Add a message, or a later version of one: the last wins, the first position stays."""
        name = as_id(value.get("id"))
        known = self._live.get(name) if name is not None else None
        if known is not None:
            known.value = value
            return
        kept = Kept(value, line, name)
        self.messages.append(kept)
        if name is not None:
            self._live[name] = kept

    def rewind(self, name: str, line: int) -> None:
        """Go back to just before a message: it and what follows are off the active path."""
        place = next((n for n, one in enumerate(self.messages) if one.id == name and not one.is_gone), None)
        if place is None:
            self.missing_rewinds.append((line, name))
            return
        self._cut([one for one in self.messages[place:] if not one.is_gone], line, is_rewind=True)

    def _cut(self, gone: list[Kept], line: int, *, is_rewind: bool) -> None:
        for one in gone:
            one.is_gone = True
            if one.id is not None:
                self._live.pop(one.id, None)
        self.cuts.append(Cut(line, len(self.messages), gone, is_rewind))

    def patch(self, changes: Json, line: int) -> None:
        """Apply a `$set`: header fields, or the whole list of messages."""
        for key, value in changes.items():
            if key == "messages" and isinstance(value, list):
                self._replace([as_dict(one) for one in value], line)
            else:
                self.header[key] = value

    def _replace(self, values: list[Json], line: int) -> None:
        live = [one for one in self.messages if not one.is_gone]
        names = {as_id(value.get("id")) for value in values}
        gone = [one for one in live if one.id is None or one.id not in names]
        if gone:
            self._cut(gone, line, is_rewind=False)
        for value in values:
            self.put(value, line)


def read_lines(probe: Probe) -> Chat:
    """A JSONL chat; raises OSError."""
    lines = JsonLines(probe.path, probe.name, id_of=lambda record: as_id(record.get("id")))
    chat = Chat(lines=lines.counts, problems=lines.problems)
    for record in lines:
        chat.entries += 1
        _apply(record, chat, lines)
    return chat


def _apply(record: Record, chat: Chat, lines: JsonLines) -> None:
    value = record.value
    if "$set" in value:
        chat.patch(as_dict(value["$set"]), record.line)
    elif "$rewindTo" in value:
        chat.rewind(as_text(value["$rewindTo"]) or "", record.line)
    elif "sessionId" in value and "type" not in value:
        chat.header = {**value, **chat.header}
        for one in as_list(value.get("messages")):
            chat.put(as_dict(one), record.line)
    elif isinstance(value.get("type"), str) and ("content" in value or value["type"] in TYPES):
        chat.put(value, record.line)
        if value["type"] not in TYPES:
            lines.mark_unknown(record, value["type"])
    else:
        lines.mark_unknown(record, as_text(value.get("type")) or "no type")


def read_document(probe: Probe) -> Chat:
    """A JSON chat; raises NotReadable."""
    value, surrogates = load(probe)
    document = as_dict(value)
    chat = Chat(header={key: item for key, item in document.items() if key != "messages"})
    for one in as_list(document.get("messages")):
        chat.put(as_dict(one), None)
        chat.entries += 1
        chat.lines.total += 1
        kind = as_text(as_dict(one).get("type")) or "no type"
        if kind not in TYPES:
            chat.lines.unknown_types[kind] = chat.lines.unknown_types.get(kind, 0) + 1
    chat.lines.read = chat.lines.total - chat.lines.unknown
    chat.lines.lone_surrogates = surrogates
    if surrogates:
        text = f"{surrogates} half emoji replaced by U+FFFD"
        chat.problems.append(ReadProblem("lone_surrogate", text, "info", probe.name, value=surrogates))
    return chat
