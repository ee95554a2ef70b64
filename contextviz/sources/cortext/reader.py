"""Reads Cortext's files: the compaction state of all scopes, and one memory for each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from contextviz.events.compaction import Compaction
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.sources.cortext.memory import TABLES, is_memory, read_memory
from contextviz.sources.cortext.state import (
    ENGINE,
    STATE_NAME,
    Anchor,
    State,
    changes,
    in_order,
    is_state,
    state_of,
)
from contextviz.sources.features import declared
from contextviz.sources.plain.load import NotReadable, load
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import UnreadableStore, open_store

FORMAT = "cortext"
NOTHING = "no scope in it: no window was moved, or every anchor was cleared"


class CortextReader:
    """Reader of compaction.json and of `<scope>.sqlite`."""

    name = "cortext"
    declares = {FORMAT: declared("compactions engine_events", "title", cached="unwritten")}

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. A memory by its tables, a state by its scope keys and anchors; an empty or broken state
        has no content to tell it by, so there its name decides."""
        if probe.tables is not None:
            return Detection(FORMAT, "store") if is_memory(probe.tables) else None
        document = probe.document
        if document is not None and is_state(document):
            return Detection(FORMAT, "store")
        is_named = probe.basename == STATE_NAME
        if is_named and document is not None and not document:
            return Detection(FORMAT, "store", NOTHING)
        is_broken = is_named and document is None and b'"textPrefix"' in probe.head
        return Detection(FORMAT, "store", "it is not whole JSON") if is_broken else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. One transcript for each scope, by its key; its state and its memory together."""
        scopes: dict[str, Transcript] = {}
        for found in files:
            if found.probe.tables is not None:
                yield from _read_memory(found, scopes)
        states: list[State] = []
        for found in files:
            if found.probe.tables is None:
                yield from _read_state(found, states)
        _add_changes(in_order(states), scopes)
        yield from scopes.values()


def _read_memory(found: Found, scopes: dict[str, Transcript]) -> Iterator[ReadItem]:
    probe = found.probe
    scope = probe.basename.rpartition(".")[0] or probe.basename
    try:
        with open_store(probe.path, TABLES) as connection:
            transcript = read_memory(connection, scope, probe.name)
    except (UnreadableStore, sqlite3.Error) as error:
        yield SourceFile(probe.name, FORMAT, "store", False, str(error), probe.size)
        yield ReadProblem("unreadable_store", f"{probe.name}: {error}", "error", probe.name)
        return
    if scope in scopes:
        text = f"a second memory of the scope {scope[:80]} is among the files; only the first is shown"
        yield SourceFile(probe.name, FORMAT, "duplicate", False, text, probe.size, scope)
        return
    yield SourceFile(probe.name, FORMAT, "store", True, None, probe.size, scope)
    scopes[scope] = transcript


def _read_state(found: Found, states: list[State]) -> Iterator[ReadItem]:
    probe = found.probe
    try:
        document, surrogates = load(probe)
    except NotReadable as error:
        text = f"{probe.name} is not read: {error}. Cortext itself takes such a file for empty"
        yield SourceFile(probe.name, FORMAT, "store", False, str(error), probe.size)
        yield ReadProblem("malformed_line", text, "error", probe.name)
        return
    if surrogates:
        text = f"{surrogates} half emoji replaced by U+FFFD"
        yield ReadProblem("lone_surrogate", text, "info", probe.name, value=surrogates)
    state = state_of(document if isinstance(document, dict) else {}, probe.name)
    states.append(state)
    for scope in state.bad:
        text = f"the scope {scope[:80]} has no anchor that can be read (role, textPrefix and dropped)"
        yield ReadProblem("malformed_entry", text, "warning", probe.name, entry=scope[:200])
    only = next(iter(state.anchors)) if len(state.anchors) == 1 else None
    has_any = bool(state.anchors)
    yield SourceFile(probe.name, FORMAT, "store", has_any, None if has_any else NOTHING, probe.size, only)


def _add_changes(states: list[State], scopes: dict[str, Transcript]) -> None:
    for scope in dict.fromkeys(name for state in states for name in state.anchors):
        transcript = scopes.get(scope)
        if transcript is None:
            transcript = scopes[scope] = Transcript(Session(scope, FORMAT, title=f"Cortext window of {scope}"))
        found = list(changes(states, scope))
        transcript.engine_events.extend(event for event, _ in found)
        transcript.entries += len(found)
        moved = [(event.file, anchor) for event, anchor in found if anchor is not None]
        transcript.compactions = [_compaction(file, anchor, at) for at, (file, anchor) in enumerate(moved, start=1)]
        told = {event.file for event, _ in found}
        own = [state.file for state in states if scope in state.anchors or state.file in told]
        transcript.files.extend(name for name in own if name not in transcript.files)
        _times(transcript)


def _compaction(file: str, anchor: Anchor, number: int) -> Compaction:
    note = f"{anchor.dropped} messages before the window were archived to the engine's memory; it writes no summary"
    return Compaction(
        f"anchor-{number}", number, None, file, anchor.at, "trim", None, None, None, producer=ENGINE, summary_note=note
    )


def _times(transcript: Transcript) -> None:
    session = transcript.session
    times = [one.at for one in transcript.compactions if one.at is not None]
    known = [at for at in (session.started_at, session.ended_at) if at is not None]
    session.started_at = min([*times, *known], default=None)
    session.ended_at = max([*times, *known], default=None)
