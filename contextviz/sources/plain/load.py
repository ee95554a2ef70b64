"""Whole JSON documents and arrays, read within limits; JSON lines are sources.lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.lines import BOM, clean
from contextviz.sources.source import Found, Probe, ReadItem

MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
LOOK_BYTES = 4 * 1024 * 1024
_SPACE = re.compile(r"[\s,]*")
_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
_DECODER = json.JSONDecoder(parse_constant=lambda _name: None)


class NotReadable(Exception):
    """A document that cannot be read; the text is a sentence for a person."""


def load(probe: Probe) -> tuple[Any, int]:
    """A file's whole JSON value and the lone surrogates replaced in it; raises NotReadable."""
    if probe.size > MAX_DOCUMENT_BYTES:
        raise NotReadable(f"{probe.size / 1024 / 1024:.0f} MB: one JSON document is read up to 64 MB")
    try:
        raw = probe.path.read_bytes().removeprefix(BOM)
    except OSError as error:
        raise NotReadable(f"it cannot be opened: {error.strerror}") from error
    return loads(raw)


def loads(raw: bytes) -> tuple[Any, int]:
    """JSON bytes as a value with every lone surrogate replaced; raises NotReadable."""
    if _SURROGATE.search(raw) is None:
        try:
            return orjson.loads(raw), 0
        except orjson.JSONDecodeError:
            pass
    try:
        value = json.loads(raw.decode("utf-8", errors="replace"), parse_constant=lambda _name: None)
    except (ValueError, RecursionError) as error:
        raise NotReadable("it is not whole JSON") from error
    return clean(value)


def refused(found: Found, why: str) -> Iterator[ReadItem]:
    """What a reader yields for a file it knows but cannot read."""
    probe = found.probe
    yield SourceFile(probe.name, found.detection.format, "ignored", False, why, probe.size)
    yield ReadProblem("unreadable_file", f"{probe.name} was not read: {why}", "error", probe.name)


def read_whole(found: Found, read: Callable[[], Transcript]) -> Iterator[ReadItem]:
    """A file that is one session in one document, as `read` gives it; as refused where it raises NotReadable."""
    try:
        transcript = read()
    except NotReadable as why:
        yield from refused(found, str(why))
        return
    probe = found.probe
    yield SourceFile(probe.name, found.detection.format, "session", True, None, probe.size, transcript.session.id)
    yield transcript


def first_elements(probe: Probe, most: int = 5) -> list[dict[str, Any]]:
    """The first objects of a file that is one JSON array, looking at its first 4 MiB; none for anything else."""
    if not probe.head.removeprefix(BOM).lstrip().startswith(b"["):
        return []
    found = _elements(probe.head, most)
    if not found and probe.size > len(probe.head) and b"{" in probe.head[:256]:
        found = _elements(_start_of(probe.path), most)
    return found


def _start_of(path: Path) -> bytes:
    try:
        with path.open("rb") as raw:
            return raw.read(LOOK_BYTES)
    except OSError:
        return b""


def _elements(raw: bytes, most: int) -> list[dict[str, Any]]:
    text = raw.removeprefix(BOM).decode("utf-8", errors="replace")
    place = text.find("[") + 1
    found: list[dict[str, Any]] = []
    while len(found) < most:
        start = _SPACE.match(text, place)
        place = start.end() if start else place
        if not text.startswith("{", place):
            break
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found
