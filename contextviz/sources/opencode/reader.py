"""Reads OpenCode's exports; a sub-agent's export is part of its parent's session where both are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.session import Session, SourceFile, SubAgent
from contextviz.sources.opencode.session import SessionReader
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.load import NotReadable, load, refused
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_text

FORMAT = "opencode"
LOOKED_AT = 5


@dataclass(slots=True)
class _Export:
    """An export with its file and the exports of its sub-agents, in the order they were named."""

    found: Found
    document: Mapping[str, Any]
    id: str
    parent: str | None
    surrogates: int
    children: list[_Export] = field(default_factory=list)

    @property
    def messages(self) -> list[Any]:
        """Its messages as written."""
        return as_list(self.document.get("messages"))

    def family(self) -> Iterator[_Export]:
        """Its sub-agents and theirs."""
        for child in self.children:
            yield child
            yield from child.family()


class OpenCodeReader:
    """Reader of `opencode export` files."""

    name = "opencode"

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. An object of `info` and `messages`, each of which is `info` and `parts`."""
        document = probe.document
        if document is None or not isinstance(document.get("info"), Mapping):
            return None
        messages = document.get("messages")
        if not isinstance(messages, list) or "trajectory_format" in document:
            return None
        info = document["info"]
        if not messages:
            is_ours = str(info.get("id", "")).startswith("ses_")
        else:
            is_ours = all(_is_message(one) for one in messages[:LOOKED_AT])
        return Detection(FORMAT, "session") if is_ours else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of two exports of one session the one with more messages counts."""
        exports: dict[str, _Export] = {}
        for found in files:
            try:
                value, surrogates = load(found.probe)
            except NotReadable as why:
                yield from refused(found, str(why))
                continue
            one = _export(found, as_dict(value), surrogates)
            other = exports.get(one.id)
            if other is not None:
                short, one = (one, other) if len(other.messages) >= len(one.messages) else (other, one)
                yield _duplicate(short)
            exports[one.id] = one
        placed = _placed(exports)
        for one in exports.values():
            if one.id not in placed:
                yield from _read(one, options)


def _is_message(value: Any) -> bool:
    info = as_dict(as_dict(value).get("info"))
    return info.get("role") in ("user", "assistant") and isinstance(as_dict(value).get("parts"), list)


def _export(found: Found, document: Mapping[str, Any], surrogates: int) -> _Export:
    info = as_dict(document.get("info"))
    name = as_id(info.get("id")) or f"opencode-{found.probe.basename.rsplit('.', 1)[0]}"
    return _Export(found, document, name, as_id(info.get("parentID")), surrogates)


def _placed(exports: dict[str, _Export]) -> set[str]:
    """Put every export under its parent's; a circle of parents has no root, so its members stay alone."""
    placed: set[str] = set()
    for one in exports.values():
        seen, at = {one.id}, one.parent
        while at in exports and at not in seen:
            seen.add(at)
            at = exports[at].parent
        if one.parent in exports and at not in seen:
            exports[one.parent].children.append(one)
            placed.add(one.id)
    return placed


def _duplicate(one: _Export) -> SourceFile:
    probe = one.found.probe
    reason = "an older export of a session that is read from another file"
    return SourceFile(probe.name, FORMAT, "duplicate", False, reason, probe.size, one.id)


def _read(one: _Export, options: ReadOptions) -> Iterator[ReadItem]:
    info = as_dict(one.document.get("info"))
    session = Session(
        one.id, FORMAT, as_text(info.get("version")), title=as_text(info.get("title")),
        cwd=as_text(info.get("directory")), parent=one.parent,
    )  # fmt: skip
    draft = Draft(session, one.found.probe.name, options)
    draft.time(as_dict(info.get("time")).get("created"), "the session")
    transcript = draft.transcript
    reader = SessionReader(draft, None)
    reader.read(one.messages, as_id(as_dict(info.get("revert")).get("messageID")))
    reader.settle()
    for child in one.family():
        _subagent(draft, child)
    for part in [one, *one.family()]:
        transcript.entries += len(part.messages)
        transcript.lines.total += len(part.messages)
        if part.surrogates:
            transcript.lines.lone_surrogates += part.surrogates
            text = f"{part.surrogates} half emoji replaced by U+FFFD"
            draft.problem("lone_surrogate", text, "info", value=part.surrogates)
        probe = part.found.probe
        yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, one.id)
    yield draft.finish()


def _subagent(draft: Draft, child: _Export) -> None:
    transcript, info = draft.transcript, as_dict(child.document.get("info"))
    reader = SessionReader(draft, child.id)
    reader.read(child.messages, as_id(as_dict(info.get("revert")).get("messageID")))
    reader.settle()
    transcript.files.append(child.found.probe.name)
    spawned = next(
        (message.id for message in transcript.messages if message.agent is None and _started(message, child.id, draft)),
        None,
    )
    task = as_text(info.get("title"))
    transcript.subagents.append(SubAgent(child.id, as_text(info.get("agent")), task, spawned, len(child.messages)))


def _started(message: Any, child: str, draft: Draft) -> bool:
    return any(b.kind == "tool_result" and b.tool_name == "task" and child in draft.pool.get(b.text)
               for b in message.blocks)  # fmt: skip
