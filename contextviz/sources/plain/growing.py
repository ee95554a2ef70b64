"""A JSONL file read on from where it ended: its lines, and what is made of their records, kept together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.sources.lines import JsonLines, Record
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id

TITLE_CHARS = 120
# In ReadOptions.extra: the ids of sessions by their files' names.
SESSION_IDS = "session_ids"


class Script(Protocol):
    """What makes one transcript of a file's records, in their order."""

    draft: Draft

    def feed(self, record: Record) -> str | None:
        """Take one record; the name of its type where that is not known, None where it was understood."""
        ...

    def end(self) -> None:
        """Put in what only the end of the file tells. It is called again when more was fed, so it sets and never
        adds; findings added here are taken back."""
        ...


@dataclass(slots=True)
class Growing:
    """The lines of one file and the script that they are fed to."""

    lines: JsonLines
    script: Script


def read_growing(
    reader: str, found: Found, options: ReadOptions, begin: Callable[[Probe], Script], *,
    id_of: Callable[[dict[str, Any]], str | None], is_alone: bool,
) -> tuple[Transcript, list[ReadItem]]:  # fmt: skip
    """Read a file, or what came to it since `options.memory` held it; the transcript, and problems of the file that
    cannot be read to its end. Only a file that `is_alone` (nothing else decides what it counts) is read on."""
    growing, broken = grown(reader, found, options, begin, id_of=id_of, is_alone=is_alone)
    return finished(growing), broken


def grown(
    reader: str, found: Found, options: ReadOptions, begin: Callable[[Probe], Script], *,
    id_of: Callable[[dict[str, Any]], str | None], is_alone: bool,
) -> tuple[Growing, list[ReadItem]]:  # fmt: skip
    """As `read_growing`, for a reader that puts more into what `finished` gives."""
    probe = found.probe
    memory = options.memory if is_alone else None
    kept = memory.take(reader, probe) if memory is not None else None
    if kept is None:
        lines = JsonLines(probe.path, probe.name, id_of=id_of, size=probe.size)
        growing = Growing(lines, begin(probe))
    else:
        growing = kept
        growing.script.draft.go_on(options)
        growing.lines.go_on(probe.path, probe.size)
    broken = list(feed(growing))
    has_future = growing.script.draft.has_future
    if memory is not None and growing.lines.can_go_on and not broken and not has_future:
        memory.keep(reader, probe, growing.lines.offset, growing)
    return growing, broken


def feed(growing: Growing) -> Iterator[ReadItem]:
    """Feed the lines to their script; a problem where the file cannot be read to its end."""
    lines = growing.lines
    try:
        for record in lines:
            unknown = growing.script.feed(record)
            if unknown is not None:
                lines.mark_unknown(record, unknown[:80])
    except OSError as error:
        text = f"{lines.name} could not be read to its end: {error.strerror}; what came before is shown"
        yield ReadProblem("unreadable_file", text, "error", lines.name)


def finished(growing: Growing) -> Transcript:
    """The transcript so far; feeding more records afterwards does not change what was given out."""
    lines, draft = growing.lines, growing.script.draft
    whole = draft.transcript
    known = len(whole.problems)
    whole.lines = lines.counts
    whole.entries = lines.counts.read + lines.counts.unknown + sum(map(len, lines.counts.recovered.values()))
    whole.context_at_end = []
    growing.script.end()
    for kind, count in lines.counts.unknown_types.items():
        text = f"{count} record(s) of the unknown type {kind}; they are kept and not understood"
        whole.problems.append(ReadProblem("unknown_type", text, "info", lines.name, value=kind))
    draft.finish()
    session = whole.session
    found = replace(
        whole, session=replace(session, hints=dict(session.hints), counters=dict(session.counters)),
        files=list(whole.files), messages=list(whole.messages), calls=list(whole.calls), pairs=list(whole.pairs),
        orphan_results=list(whole.orphan_results), compactions=list(whole.compactions), log=whole.log.copy(),
        subagents=list(whole.subagents), context_at_end=list(whole.context_at_end),
        entry_times=dict(whole.entry_times), problems=[*lines.problems, *whole.problems],
    )  # fmt: skip
    del whole.problems[known:]
    return found


def title_of(text: str) -> str | None:
    """A session's title from its first prompt: the first line that says something, None where none does."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first[:TITLE_CHARS] or None


def told_id(options: ReadOptions, name: str) -> str | None:
    """The id of the session in the file of this name, where something beside the file tells it."""
    return as_id(as_dict(options.extra.get(SESSION_IDS)).get(name))
