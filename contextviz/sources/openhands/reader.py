"""Reads what OpenHands leaves: rows of evaluations, lists and folders of events, the SDK's conversations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.sources.features import declared
from contextviz.sources.openhands.folder import conversations, free, hashed, read_folder
from contextviz.sources.openhands.rows import begun, read_rows
from contextviz.sources.openhands.shapes import CACHE_FOLDER, are_rows, is_event, mostly, part_of
from contextviz.sources.openhands.talk import FORMAT, Talk
from contextviz.sources.openhands.usage import Ledger
from contextviz.sources.plain.growing import read_growing
from contextviz.sources.plain.load import first_elements, load, read_whole
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list

Layout = Literal["event", "row", "rows", "state", "metadata", "trajectory", "list", "page", "lines"]
# A first row longer than what detection parses: its keys begin so in every version.
_ROW_HEAD = re.compile(rb'^\s*\{"instance_id":\s*"[^"]{1,300}",\s*"(?:attempt|test_result|instruction)":')


class OpenHandsReader:
    """Reader of the application's and of the SDK's events, wherever they are kept."""

    name = "openhands"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images system_prompt tool_definitions injected calls cache_reads "
            "cache_writes reasoning cost failed_calls window compactions trigger summary subagents",
            "rebuilt", cached="either",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the shape of events, alone, in lists, lines or rows of an evaluation; the files beside
        them by their keys."""
        layout = _layout(probe)
        if layout is None:
            return None
        return Detection(FORMAT, "index" if layout in ("state", "metadata") else "session")

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Files of one conversation's folder are read together; a run that two files have counts
        once."""
        taken: dict[str, int] = {}
        seen: set[tuple[object, ...]] = set()
        layouts = [(found, _layout(found.probe)) for found in files]
        # Which of two runs of one instance has its name alone must not depend on the order in which files come.
        for found, layout in sorted(layouts, key=lambda one: begun(one[0].probe)):
            if layout in ("row", "rows"):
                yield from read_rows(found, options, taken, seen)
            elif layout in ("list", "trajectory"):
                yield from read_whole(found, partial(_list, found.probe, options, taken))
            elif layout == "lines":
                yield from _lines(found, options, taken, is_alone=len(files) == 1)
        parts = [
            (found, None if layout == "page" else part_of(as_dict(found.probe.document)))
            for found, layout in layouts
            if layout in ("event", "state", "metadata", "page")
        ]
        for folder, talk in conversations(parts):
            yield from read_folder(folder, talk, options, taken)


def _layout(probe: Probe) -> Layout | None:
    if probe.tables is not None:
        return None
    if probe.document is not None:
        return part_of(probe.document)
    elements = first_elements(probe)
    if elements:
        is_page = CACHE_FOLDER in probe.name.split("/")[-2:-1]
        return ("page" if is_page else "list") if mostly(is_event, elements) else None
    if probe.records:
        if are_rows(probe.records):
            return "rows"
        return "lines" if sum(map(is_event, probe.records)) * 2 > len(probe.records) else None
    return "rows" if _ROW_HEAD.match(probe.head) else None


def _list(probe: Probe, options: ReadOptions, taken: dict[str, int]) -> Transcript:
    """A JSON list of events, or an object that holds one; raises NotReadable."""
    value, surrogates = load(probe)
    events = as_list(value) or as_list(as_dict(value).get("trajectory"))
    name = free(hashed(events[0] if events else None), taken)
    talk = Talk(Session(name, FORMAT), probe.name, options, Ledger())
    talk.draft.note_surrogates(surrogates)
    for event in events:
        talk.take(event)
    return talk.finish()


def _lines(found: Found, options: ReadOptions, taken: dict[str, int], *, is_alone: bool) -> Iterator[ReadItem]:
    """JSON lines, an event each: read on where the file grew."""
    name = free(hashed(next(filter(is_event, found.probe.records), None)), taken)

    def begin(probe: Probe) -> Talk:
        return Talk(Session(name, FORMAT), probe.name, options, Ledger())

    try:
        transcript, broken = read_growing(OpenHandsReader.name, found, options, begin, id_of=_id_of, is_alone=is_alone)
    except OSError as error:
        text = f"{found.probe.name} cannot be opened: {error.strerror}"
        yield ReadProblem("unreadable_file", text, "error", found.probe.name)
        return
    yield SourceFile(found.probe.name, FORMAT, "session", True, None, found.probe.size, transcript.session.id)
    yield from broken
    yield transcript


def _id_of(record: dict[str, Any]) -> str | None:
    return as_id(record.get("id"))
