"""Reads Copilot CLI's session logs, and the documents of its first versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextviz.events.session import SourceFile
from contextviz.sources.copilot_cli.kinds import FORMAT, is_event, is_old_document
from contextviz.sources.copilot_cli.old import read_old
from contextviz.sources.copilot_cli.session import SessionLog
from contextviz.sources.features import declared
from contextviz.sources.plain.growing import read_growing
from contextviz.sources.plain.load import read_whole
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id

LOG_NAME = "events.jsonl"


@dataclass(frozen=True, slots=True)
class _Named:
    """A file with the session that it is of."""

    found: Found
    id: str


class CopilotCliReader:
    """Reader of `session-state/<id>/events.jsonl` (or `<id>.jsonl`) and `history-session-state/*.json`."""

    name = "copilot_cli"
    declares = {
        FORMAT: declared(
            "messages times tool_pairs thinking images system_prompt injected calls cache_reads cache_writes reasoning "
            "failed_calls window compactions trigger summary branches subagents",
            "title rebuilt", cached="inside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the envelope of most of the first events, or the keys of the old document."""
        if probe.document is not None and is_old_document(probe.document):
            return Detection(FORMAT, "session")
        own = sum(map(is_event, probe.records))
        return Detection(FORMAT, "session") if own and own * 2 > len(probe.records) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of several files of one session the largest counts."""
        largest: dict[str, _Named] = {}
        named = [_Named(found, _id_of(found.probe)) for found in files]
        for one in named:
            other = largest.get(one.id)
            if other is None or one.found.probe.size > other.found.probe.size:
                largest[one.id] = one
        for one in named:
            if largest[one.id] is one:
                yield from _read(one, options, is_alone=len(files) == 1)
                continue
            probe = one.found.probe
            reason = f"a shorter record of the session in {largest[one.id].found.probe.name}"
            yield SourceFile(probe.name, FORMAT, "duplicate", False, reason, probe.size, one.id)


def _read(one: _Named, options: ReadOptions, *, is_alone: bool) -> Iterator[ReadItem]:
    found, probe = one.found, one.found.probe
    if probe.document is not None and is_old_document(probe.document):
        yield from read_whole(found, lambda: read_old(found, options))
        return
    transcript, broken = read_growing(
        CopilotCliReader.name, found, options, lambda looked: SessionLog(looked, one.id, options),
        id_of=lambda record: as_id(record.get("id")), is_alone=is_alone,
    )  # fmt: skip
    yield from broken
    yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, transcript.session.id)
    yield transcript


def _id_of(probe: Probe) -> str:
    """A session's id: what its first event or the document says, else the name of its folder or file."""
    if probe.document is not None and is_old_document(probe.document):
        return as_id(probe.document.get("sessionId")) or probe.basename
    for record in probe.records:
        if record.get("type") == "session.start":
            name = as_id(as_dict(record.get("data")).get("sessionId"))
            if name is not None:
                return name
    folders = probe.name.split("/")
    return folders[-2] if probe.basename == LOG_NAME and len(folders) > 1 else probe.basename.rsplit(".", 1)[0]
