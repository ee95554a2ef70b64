"""Rows of an evaluation's output, a run of one instance each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Session, SourceFile, Transcript
from contextviz.sources.lines import JsonLines
from contextviz.sources.openhands.folder import free
from contextviz.sources.openhands.shapes import flattened, is_row, is_run, model_of
from contextviz.sources.openhands.talk import FORMAT, Talk, key_of
from contextviz.sources.openhands.usage import Ledger
from contextviz.sources.plain.load import MAX_DOCUMENT_BYTES, NotReadable, load, refused
from contextviz.sources.source import Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id, as_list, as_text, told

Json = Mapping[str, Any]
Numbered = tuple[int | None, Any, int]
COPY = "its runs are read from another file"


class _Rows:
    """The rows of one file, with what there is to say of them."""

    def __init__(self, found: Found, options: ReadOptions, taken: dict[str, int], seen: set[tuple[object, ...]]):
        self._found = found
        self._options = options
        self._taken = taken
        self._seen = seen
        self.problems: list[ReadProblem] = []
        self.copies = 0
        self.unread = 0
        self.names: list[str] = []

    def read(self, rows: Iterable[Numbered]) -> Iterator[Transcript]:
        """A transcript for each run that has a history."""
        for line, value, surrogates in rows:
            row = as_dict(value)
            if not is_run(row):
                self.unread += 1
                continue
            if not is_row(row) or not as_list(row.get("history")):
                self._without(row, line)
                continue
            key = key_of(row)
            if key is not None and key in self._seen:
                self.copies += 1
                continue
            if key is not None:
                self._seen.add(key)
            yield self._transcript(row, line, surrogates)

    def _without(self, row: Json, line: int | None) -> None:
        why = as_text(row.get("error"))
        text = f"the run of {(as_id(row.get('instance_id')) or '')[:100]} has no history of events"
        text += f": {why[:200]}" if why else ""
        self.problems.append(ReadProblem("empty_conversation", text, "info", self._found.probe.name, line))

    def _transcript(self, row: Json, line: int | None, surrogates: int) -> Transcript:
        instance = as_id(row.get("instance_id")) or "run"
        name = free(instance[:200], self._taken)
        self.names.append(name)
        ledger = Ledger()
        ledger.add(row.get("metrics"))
        session = Session(name, FORMAT, title=instance[:200])
        why = as_text(row.get("error"))
        if why:
            session.hints["error"] = why[:200]
        talk = Talk(session, self._found.probe.name, self._options, ledger, model_of(row.get("metadata")))
        talk.draft.note_surrogates(surrogates)
        for event, is_answer in flattened(as_list(row.get("history"))):
            talk.take(event, line=line, is_answer=is_answer)
        return talk.finish()


def read_rows(
    found: Found, options: ReadOptions, taken: dict[str, int], seen: set[tuple[object, ...]]
) -> Iterator[ReadItem]:
    """The runs of one output file, one at a time. A run that was read from another file already counts once."""
    probe = found.probe
    rows = _Rows(found, options, taken, seen)
    lines: JsonLines | None = None
    if probe.document is not None:
        try:
            value, surrogates = load(probe)
        except NotReadable as why:
            yield from refused(found, str(why))
            return
        values: Iterable[Numbered] = [(1, value, surrogates)]
    else:
        lines = JsonLines(probe.path, probe.name, id_of=_id_of, max_line=MAX_DOCUMENT_BYTES)
        values = ((record.line, record.value, record.surrogates) for record in lines)
    waiting: Transcript | None = None
    try:
        for transcript in rows.read(values):
            if waiting is not None:
                yield waiting
            waiting = transcript
    except OSError as error:
        yield ReadProblem("unreadable_file", f"{probe.name} cannot be read: {error.strerror}", "error", probe.name)
    yield _file_of(found, rows)
    yield from _problems(found, rows, lines)
    if waiting is not None:
        yield waiting


def begun(probe: Probe) -> tuple[str, int, bytes]:
    """What files of rows are ordered by: when the first run began that has events, then what is in them."""
    for row in filter(is_row, probe.records):
        for event, _ in flattened(as_list(row.get("history"))[:1]):
            if at := as_text(as_dict(event).get("timestamp")):
                return at, -probe.size, probe.head
    return "", -probe.size, probe.head


def _file_of(found: Found, rows: _Rows) -> SourceFile:
    probe = found.probe
    if rows.names:
        return SourceFile(probe.name, FORMAT, "session", True, None, probe.size,
                          rows.names[0] if len(rows.names) == 1 else None)  # fmt: skip
    if rows.copies:
        return SourceFile(probe.name, FORMAT, "duplicate", False, COPY, probe.size)
    return SourceFile(probe.name, FORMAT, "session", False, "no run with a history in it", probe.size)


def _problems(found: Found, rows: _Rows, lines: JsonLines | None) -> Iterator[ReadProblem]:
    name = found.probe.name
    if lines is not None:
        # Half emoji are told with the run that has them.
        yield from (one for one in lines.problems if one.code != "lone_surrogate")
    yield from rows.problems
    if rows.unread:
        said = told(rows.unread, "record is no run and is", "records are no runs and are")
        text = f"{name}: {said} not shown"
        yield ReadProblem("unknown_type", text, "info", name, value=rows.unread)
    if rows.copies and rows.names:
        said = told(rows.copies, "run was", "runs were")
        text = f"{name}: {said} read from another place already, and counted once"
        yield ReadProblem("duplicate_conversation", text, "info", name, value=rows.copies)


def _id_of(record: dict[str, Any]) -> str | None:
    return as_id(record.get("instance_id"))
