"""Reads OpenCode's exports, its storage folder and its database; a sub-agent is part of its parent's session where both
are there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import FileRole, Session, SourceFile, SubAgent
from contextviz.sources.features import declared
from contextviz.sources.opencode import second
from contextviz.sources.opencode.session import SessionReader
from contextviz.sources.opencode.stored import (
    TABLES,
    Tree,
    document_of,
    is_database,
    kind_of,
    message_counts,
    questions_of,
    session_infos,
)
from contextviz.sources.plain.draft import Draft
from contextviz.sources.plain.load import NotReadable, load, refused
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store
from contextviz.sources.values import as_dict, as_id, as_list, as_text

FORMAT = "opencode"
LOOKED_AT = 5
STARTING = frozenset({"task", "subagent"})  # the tools that begin a sub-agent


@dataclass(slots=True)
class _Export:
    """A session as it can be read, with the files it is in and its sub-agents, in the order they were named. `load`
    gives its messages when they are wanted, since a database may hold thousands of sessions."""

    files: list[Probe]
    info: Mapping[str, Any]
    id: str
    parent: str | None
    size: int
    load: Callable[[], list[Any]]
    surrogates: int = 0
    role: FileRole = "session"
    children: list[_Export] = field(default_factory=list)

    def family(self) -> Iterator[_Export]:
        """Its sub-agents and theirs."""
        for child in self.children:
            yield child
            yield from child.family()


class OpenCodeReader:
    """Reader of `opencode export` files, of the folder `storage` and of `opencode.db`."""

    name = "opencode"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking injected calls cache_reads cache_writes reasoning cost "
            "failed_calls compactions trigger summary subagents",
            "rebuilt", cached="beside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. An export is an object of `info` and `messages`, each of which is `info` and `parts`;
        files of the storage name their session; a database has the three tables."""
        if probe.tables is not None:
            return Detection(FORMAT, "store") if is_database(probe.tables) else None
        document = probe.document
        if document is None:
            return None
        is_ours = _is_export(document) or kind_of(document) is not None
        return Detection(FORMAT, "session") if is_ours else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of two records of one session the one with more messages counts."""
        sessions: dict[str, _Export] = {}
        with ExitStack() as open_stores:
            for one in _exports(files, open_stores):
                if not isinstance(one, _Export):
                    yield one
                    continue
                other = sessions.get(one.id)
                if other is not None:
                    short, one = (one, other) if other.size >= one.size else (other, one)
                    yield from _duplicate(short)
                sessions[one.id] = one
            placed = _placed(sessions)
            told: set[str] = set()
            for one in sessions.values():
                if one.id not in placed:
                    yield from _read(one, options, told)


def _is_export(document: Mapping[str, Any]) -> bool:
    info, messages = document.get("info"), document.get("messages")
    if not isinstance(info, Mapping) or not isinstance(messages, list) or "trajectory_format" in document:
        return False
    if not messages:
        return str(info.get("id", "")).startswith("ses_")
    return all(_is_message(one) for one in messages[:LOOKED_AT])


def _exports(files: Sequence[Found], open_stores: ExitStack) -> Iterator[_Export | ReadItem]:
    """Every session of the files, from whichever of the three they are in."""
    tree = Tree()
    for found in files:
        probe = found.probe
        if probe.tables is not None:
            yield from _of_database(probe, open_stores)
            continue
        try:
            value, surrogates = load(probe)
        except NotReadable as why:
            yield from refused(found, str(why))
            continue
        document = as_dict(value)
        kind = None if _is_export(document) else kind_of(document)
        if kind is not None:
            tree.add(kind, document, probe, surrogates)
        else:
            messages = as_list(document.get("messages"))
            name = f"opencode-{probe.basename.rsplit('.', 1)[0]}"
            yield _export(
                [probe], as_dict(document.get("info")), name, len(messages), partial(list, messages), surrogates
            )
    for name in tree.sessions():
        size = len(tree.messages.get(name, []))
        load_it = partial(_messages_of, tree, name)
        yield _export(
            tree.files[name], tree.infos.get(name, {"id": name}), name, size, load_it, tree.surrogates.get(name, 0)
        )
    for probe in tree.files.get("", []):
        yield SourceFile(probe.name, FORMAT, "ignored", False, "it names no session", probe.size)


def _messages_of(tree: Tree, name: str) -> list[Any]:
    return as_list(tree.document(name)["messages"])


def _of_database(probe: Probe, open_stores: ExitStack) -> Iterator[_Export | ReadItem]:
    try:
        connection = open_stores.enter_context(open_store(probe.path, TABLES))
        infos = session_infos(connection)
        counts, later = message_counts(connection), second.sessions_of(connection)
        # An upgrade takes the older rows over. Where it has not done that, they are the session.
        newer = {name for name in later.rows
                 if name not in counts or later.questions.get(name, 0) >= questions_of(connection, name)}  # fmt: skip
        counts.update((name, later.rows[name]) for name in newer)
    except (UnreadableStore, sqlite3.Error) as error:
        yield SourceFile(probe.name, FORMAT, "store", False, str(error), probe.size)
        yield ReadProblem("unreadable_store", f"{probe.name}: {error}", "error", probe.name)
        return
    with_messages = [info for info in infos if counts.get(info["id"])]
    only = with_messages[0]["id"] if len(with_messages) == 1 else None
    reason = None if with_messages else "no messages in it"
    yield SourceFile(probe.name, FORMAT, "store", bool(with_messages), reason, probe.size, only)
    for info in with_messages:
        load_it = partial(_rows_of, connection, info, is_second=str(info["id"]) in newer)
        yield _export([probe], info, str(info["id"]), int(counts[info["id"]]), load_it, role="store")


def _rows_of(connection: sqlite3.Connection, info: dict[str, Any], *, is_second: bool) -> list[Any]:
    try:
        if is_second:
            return second.messages_of(connection, str(info["id"]), is_fork="forkID" in info)
        return as_list(document_of(connection, info)["messages"])
    except sqlite3.Error:
        return []


def _export(
    files: list[Probe], info: Mapping[str, Any], name: str, size: int, load_it: Callable[[], list[Any]],
    surrogates: int = 0, role: FileRole = "session",
) -> _Export:  # fmt: skip
    return _Export(
        files, info, as_id(info.get("id")) or name, as_id(info.get("parentID")), size, load_it, surrogates, role
    )


def _is_message(value: Any) -> bool:
    info = as_dict(as_dict(value).get("info"))
    return info.get("role") in ("user", "assistant") and isinstance(as_dict(value).get("parts"), list)


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


def _duplicate(one: _Export) -> Iterator[SourceFile]:
    reason = "an older record of a session that is read from another file"
    if one.role == "store":
        return  # a database is listed once, whatever sessions of it count
    for probe in one.files:
        yield SourceFile(probe.name, FORMAT, "duplicate", False, reason, probe.size, one.id)


def _read(one: _Export, options: ReadOptions, told: set[str]) -> Iterator[ReadItem]:
    info = one.info
    session = Session(
        one.id, FORMAT, as_text(info.get("version")), title=as_text(info.get("title")),
        cwd=as_text(info.get("directory")), parent=one.parent, forked_from=as_id(info.get("forkID")),
    )  # fmt: skip
    draft = Draft(session, one.files[0].name, options)
    draft.time(as_dict(info.get("time")).get("created"), "the session")
    transcript = draft.transcript
    _messages(draft, one, None)
    for child in one.family():
        _subagent(draft, child)
    for part in [one, *one.family()]:
        draft.note_surrogates(part.surrogates)
        transcript.files.extend(probe.name for probe in part.files if probe.name not in transcript.files)
        for probe in part.files if part.role == "session" else []:
            if probe.name not in told:
                told.add(probe.name)
                yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, one.id)
    yield draft.finish()


def _messages(draft: Draft, one: _Export, agent: str | None) -> int:
    """Read a session's messages into the draft; how many there are."""
    messages = one.load()
    reader = SessionReader(draft, agent)
    reader.read(messages, as_id(as_dict(one.info.get("revert")).get("messageID")))
    reader.settle()
    draft.transcript.entries += len(messages)
    draft.transcript.lines.total += len(messages)
    return len(messages)


def _subagent(draft: Draft, child: _Export) -> None:
    transcript = draft.transcript
    count = _messages(draft, child, child.id)
    spawned = next(
        (message.id for message in transcript.messages if message.agent is None and _started(message, child.id, draft)),
        None,
    )
    task = as_text(child.info.get("title"))
    transcript.subagents.append(SubAgent(child.id, as_text(child.info.get("agent")), task, spawned, count))


def _started(message: Any, child: str, draft: Draft) -> bool:
    return any(b.kind == "tool_result" and b.tool_name in STARTING and child in draft.pool.get(b.text)
               for b in message.blocks)  # fmt: skip
