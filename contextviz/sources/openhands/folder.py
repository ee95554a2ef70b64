"""Conversations that are folders of events, a file each, with what lies beside them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from contextviz.events.session import Session, SourceFile
from contextviz.events.times import instant
from contextviz.sources.joining import HASHED
from contextviz.sources.openhands.shapes import Part, folder_of, generation_of, model_of, place_of
from contextviz.sources.openhands.talk import FORMAT, Talk, stats_of, title_of
from contextviz.sources.openhands.usage import Ledger
from contextviz.sources.plain.load import NotReadable, load, refused
from contextviz.sources.source import ALONE, BESIDE, Found, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_int, as_list, as_text

COPIES = "a page of events that are read from their own files"
HINTS: dict[str, Callable[[Any], int | str | None]] = {
    "prompt_tokens": as_int, "completion_tokens": as_int, "execution_status": as_text,
}  # fmt: skip
Place = tuple[int, str]
_BARE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(slots=True)
class Conversation:
    """The files of one folder. `pages` are the application's own copies of many events in one file."""

    events: list[Found] = field(default_factory=list)
    pages: list[Found] = field(default_factory=list)
    beside: list[Found] = field(default_factory=list)


@dataclass(slots=True)
class _Step:
    """One event to be read: a file of its own, or (with `value`) one of a page's."""

    place: Place
    found: Found
    value: Any = None


def conversations(files: Iterable[tuple[Found, Part | None]]) -> list[tuple[str, Conversation]]:
    """The conversations that files belong to by folder, in the order they were named; a file without a part is a
    page."""
    talks: dict[str, Conversation] = {}
    for found, part in files:
        talk = talks.setdefault(folder_of(found.probe.name), Conversation())
        (talk.pages if part is None else talk.events if part == "event" else talk.beside).append(found)
    return list(talks.items())


def read_folder(folder: str, talk: Conversation, options: ReadOptions, taken: dict[str, int]) -> Iterator[ReadItem]:
    """One conversation: its files, then its transcript. Events are read one after another, and let go."""
    steps = [_Step(place_of(one.probe.basename, one.probe.document), one) for one in talk.events]
    from_pages, items = _pages(talk, {step.place[0] for step in steps})
    steps = sorted([*steps, *from_pages], key=lambda step: step.place)
    if not steps:
        yield from items
        for one in talk.beside:
            yield SourceFile(one.probe.name, FORMAT, "index", False, ALONE, one.probe.size)
        return
    reading, name = _begin(folder, talk, steps[0], options, taken)
    for one in talk.beside:
        yield SourceFile(one.probe.name, FORMAT, "index", False, BESIDE, one.probe.size, name)
    yield from items
    told: set[str] = set()
    for step in steps:
        probe, value = step.found.probe, step.value
        if value is None:
            try:
                value, surrogates = load(probe)
            except NotReadable as why:
                yield from refused(step.found, str(why))
                continue
            reading.draft.note_surrogates(surrogates)
        if probe.name not in told:
            told.add(probe.name)
            yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, name)
        reading.draft.file = probe.name
        reading.take(value)
    reading.draft.transcript.files[:] = [*told, *(one.probe.name for one in talk.beside)]
    yield reading.finish()


def _pages(talk: Conversation, known: set[int]) -> tuple[list[_Step], list[ReadItem]]:
    """The events that only pages hold, and what is to be said of the pages that hold none."""
    steps: list[_Step] = []
    items: list[ReadItem] = []
    for found in talk.pages:
        probe = found.probe
        try:
            values = as_list(load(probe)[0])
        except NotReadable as why:
            items.extend(refused(found, str(why)))
            continue
        own = [_Step(place_of("", as_dict(one)), found, one) for one in values]
        new = [step for step in own if step.place[0] not in known]
        known.update(step.place[0] for step in new)
        steps.extend(new)
        if not new:
            items.append(SourceFile(probe.name, FORMAT, "duplicate", False, COPIES, probe.size))
    return steps, items


def _begin(
    folder: str, talk: Conversation, first: _Step, options: ReadOptions, taken: dict[str, int]
) -> tuple[Talk, str]:
    """A conversation's transcript before its first event: what its state and metadata say, allow-listed, since the
    agent's keys may stand in them."""
    states = [as_dict(one.probe.document) for one in talk.beside]
    ids = [as_id(one.get(key)) for one in states for key in ("conversation_id", "id")]
    name = next(filter(None, ids), None) or folder.rpartition("/")[2] or _hashed(first)
    name = free(_as_written(name, first)[:200], taken)
    ledger = Ledger()
    for state in states:
        stats_of(state, ledger)
    models = [model_of(one.get("agent")) or as_text(one.get("llm_model")) for one in states]
    session = Session(name, FORMAT, title=title_of(states))
    folders = [as_text(as_dict(one.get("workspace")).get("working_dir")) for one in states]
    session.cwd = next(filter(None, folders), None)
    created = [at for one in states if (at := instant(one.get("created_at"))) is not None and at <= options.now]
    session.started_at = min(created, default=None)
    for state in states:
        for key, coerce in HINTS.items():
            value = coerce(state.get(key))
            if value is not None:
                session.hints[key] = value[:100] if isinstance(value, str) else value
    model = next(filter(None, models), None)
    return Talk(session, first.found.probe.name, options, ledger, model), name


def _event_of(step: _Step) -> Any:
    return step.value if step.value is not None else step.found.probe.document


def _as_written(name: str, first: _Step) -> str:
    """A conversation's id as the SDK writes it into the state, though its folder is called after it without dashes: the
    state may come later than the events, or be half-written when they are read."""
    is_bare = _BARE_ID.fullmatch(name) is not None and generation_of(_event_of(first)) == "v1"
    return str(UUID(name)) if is_bare else name


def _hashed(first: _Step) -> str:
    """A name from the first event, which stays the first while the conversation grows."""
    return hashed(_event_of(first))


def hashed(event: Any) -> str:
    """A session's name that follows from its first event."""
    found = as_dict(event)
    seed = "\n".join(str(found.get(key))[:200] for key in ("id", "timestamp", "source", "message"))
    return HASHED + hashlib.sha256(seed.encode("utf-8", errors="replace")).hexdigest()[:16]


def free(name: str, taken: dict[str, int]) -> str:
    """`name`, numbered where another session has it already."""
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"
