"""Reads Kiro's logs with the documents beside them, saved conversations, and sessions of the IDE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextviz.events.session import SourceFile
from contextviz.sources.features import declared
from contextviz.sources.kiro.kinds import FORMAT, is_ide, is_known_row, is_saved, is_sidecar
from contextviz.sources.kiro.log import KiroLog
from contextviz.sources.kiro.saved import id_of, read_saved
from contextviz.sources.kiro.sidecar import add
from contextviz.sources.plain.growing import finished, grown, told_id
from contextviz.sources.plain.load import read_whole
from contextviz.sources.source import ALONE, BESIDE, Detection, Found, Probe, ReadItem, ReadOptions
from contextviz.sources.values import as_dict, as_id


@dataclass(slots=True)
class _Opened:
    """A session's file, and the document beside it."""

    found: Found
    id: str
    sidecar: Probe | None = None


class KiroReader:
    """Reader of `~/.kiro/sessions/cli/<id>.jsonl` with `<id>.json`, `/chat save`, and the IDE's sessions."""

    name = "kiro"
    declares = {
        FORMAT: declared(
            "messages times title tool_pairs thinking images injected calls cache_reads cache_writes window "
            "compactions summary branches subagents",
            "rebuilt", cached="beside",
        )
    }  # fmt: skip

    def detect(self, probe: Probe) -> Detection | None:
        """See Reader.detect. By the kinds of the log's lines, or by the keys of the documents."""
        document = probe.document
        if document is not None and is_sidecar(document):
            return Detection(FORMAT, "index")
        if document is not None and (is_saved(document) or is_ide(document)):
            return Detection(FORMAT, "session")
        own = sum(map(is_known_row, probe.records))
        return Detection(FORMAT, "session") if own and own * 2 > len(probe.records) else None

    def read(self, files: Sequence[Found], options: ReadOptions) -> Iterator[ReadItem]:
        """See Reader.read. Of several files of one session the largest counts."""
        opened: dict[str, _Opened] = {}
        sidecars = [found for found in files if found.detection.role == "index"]
        names = {_stem(found.probe): _told(found.probe) for found in sidecars}
        for found in files:
            if found.detection.role != "session":
                continue
            probe = found.probe
            one = _Opened(found, names.get(_stem(probe)) or told_id(options, probe.name) or _id_of(probe))
            other = opened.get(one.id)
            if other is not None:
                short, one = (one, other) if other.found.probe.size >= probe.size else (other, one)
                place = short.found.probe
                reason = f"a shorter record of the session in {one.found.probe.name}"
                yield SourceFile(place.name, FORMAT, "duplicate", False, reason, place.size, short.id)
            opened[one.id] = one
        for beside in sidecars:
            looked = beside.probe
            owner = opened.get(_told(looked) or "")
            why = BESIDE if owner is not None else ALONE
            if owner is not None:
                owner.sidecar = looked
            yield SourceFile(looked.name, FORMAT, "index", False, why, looked.size, owner.id if owner else None)
        for one in opened.values():
            yield from _read(one, options, is_alone=len(opened) == 1)


def _stem(probe: Probe) -> str:
    return probe.name.rsplit(".", 1)[0]


def _told(probe: Probe) -> str | None:
    return as_id((probe.document or {}).get("session_id"))


def _id_of(probe: Probe) -> str:
    return id_of(probe) if _is_document(probe) else _stem(probe).rsplit("/", 1)[-1]


def _is_document(probe: Probe) -> bool:
    """Whether a file is one document; a log of one line is one too, as far as JSON goes."""
    return probe.document is not None and not is_known_row(probe.document)


def _read(one: _Opened, options: ReadOptions, *, is_alone: bool) -> Iterator[ReadItem]:
    found, probe = one.found, one.found.probe
    if _is_document(probe):
        yield from read_whole(found, lambda: read_saved(found, options))
        return
    growing, broken = grown(
        KiroReader.name, found, options, lambda looked: KiroLog(looked, one.id, options),
        id_of=lambda record: as_id(as_dict(record.get("data")).get("message_id")), is_alone=is_alone,
    )  # fmt: skip
    yield from broken
    transcript, script = finished(growing), growing.script
    if one.sidecar is not None and isinstance(script, KiroLog):
        add(transcript, as_dict(one.sidecar.document), script.marks)
    yield SourceFile(probe.name, FORMAT, "session", True, None, probe.size, transcript.session.id)
    yield transcript
