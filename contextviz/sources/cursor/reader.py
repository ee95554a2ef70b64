"""Reads Cursor's agent transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextviz.events.session import SourceFile
from contextviz.sources.cursor.lines import FORMAT, CursorLines, is_line, is_message
from contextviz.sources.features import declared
from contextviz.sources.plain.growing import read_growing, told_id
from contextviz.sources.source import Detection, Found, Probe, ReadItem, ReadOptions

INNER = "subagents"


class CursorReader:
    """Reader of `~/.cursor/projects/<project>/agent-transcripts/<id>.jsonl` (or `<id>/<id>.jsonl`)."""

    name = "cursor"
    declares = {FORMAT: declared("messages injected failed_calls subagents", "title", cached="unwritten")}

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By most of the first lines."""
        own = sum(map(is_line, probe.records))
        is_ours = any(map(is_message, probe.records)) and own * 2 > len(probe.records)
        return Detection(FORMAT, "session") if is_ours else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of several files of one session the largest counts."""
        largest: dict[str, Found] = {}
        for found in files:
            name = _id_of(found.probe, options)
            other = largest.get(name)
            if other is None or found.probe.size > other.probe.size:
                largest[name] = found
        for found in files:
            probe, name = found.probe, _id_of(found.probe, options)
            if largest[name] is not found:
                reason = f"a shorter record of the session in {largest[name].probe.name}"
                yield SourceFile(probe.name, FORMAT, "duplicate", False, reason, probe.size, name)
                continue
            transcript, broken = read_growing(
                self.name, found, options,
                lambda looked: CursorLines(looked, _id_of(looked, options), _parent(looked), options),
                id_of=lambda record: None, is_alone=len(files) == 1,
            )  # fmt: skip
            yield from broken
            yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, name)
            yield transcript


def _id_of(probe: Probe, options: ReadOptions) -> str:
    """The session's id stands in the file's name only, unless something beside the file tells it."""
    return told_id(options, probe.name) or probe.basename.removesuffix(".jsonl")


def _parent(probe: Probe) -> str | None:
    """The session that called a sub-agent: the folder above `subagents`."""
    parts = probe.name.split("/")
    return parts[-3] if len(parts) > 2 and parts[-2] == INNER else None
