"""From paths to what was read: walk, look at each file, give every reader its files together."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile, Transcript
from contextviz.sources.attach import attach
from contextviz.sources.checking import check_tokens, confirm
from contextviz.sources.checkpoints import Choice, choose
from contextviz.sources.configuration import ConfigurationReader
from contextviz.sources.configuration.beside import configure
from contextviz.sources.configuration.document import is_never_opened
from contextviz.sources.configuration.reader import FORMAT as CONFIGURATION
from contextviz.sources.configuration.reader import NOTHING, configurations
from contextviz.sources.cortext import CortextReader
from contextviz.sources.engine_log import EngineLogReader
from contextviz.sources.flowctx import FlowctxReader
from contextviz.sources.joining import LOG_FORMAT, Waiting, is_part
from contextviz.sources.lines import BOM, bounded_lines, parse_object
from contextviz.sources.lossless_claw import LosslessClawReader
from contextviz.sources.plain.growing import SESSION_IDS
from contextviz.sources.plain.load import first_elements
from contextviz.sources.recognise import WatchedMemory, WatchedPool, recognise
from contextviz.sources.registry import READERS, detect
from contextviz.sources.source import Found, Probe, ReadItem, ReadOptions
from contextviz.sources.sqlite import MAGIC, UnreadableStore, table_columns

HEAD_BYTES = 64 * 1024
PROBE_RECORDS = 50
PROBE_BYTES = 8 * 1024 * 1024
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 32
# Readers of engines' stores and logs, which belong to the session of their name where that is there too.
# What is told of a conversation from outside its transcript.
TELLING_READERS = ("context-events", "otlp")
STORE_READERS = (LosslessClawReader.name, FlowctxReader.name, CortextReader.name, EngineLogReader.name,
                 *TELLING_READERS)  # fmt: skip
# Other programs use these names too.
STORE_NAMES = {"lcm.db": "lossless-claw's store", "flowctx.sqlite": "flowctx's store", "opencode.db": "OpenCode's",
               "openclaw-agent.sqlite": "OpenClaw's store"}  # fmt: skip
MANY_FILES = 500
LONGEST_KEPT = 512
KEPT_HEAD = 4096
_EMPTY_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\]\s*")


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A file and the name people know it by (relative to what they named, `/` between parts)."""

    path: Path
    name: str


def walk(path: Path) -> Iterator[NamedPath]:
    """The regular files at or below `path`, in name order. Symbolic links inside a folder are not followed,
    special files and anything deeper than 32 folders are left out."""
    if path.is_file():
        yield NamedPath(path, path.name)
    elif path.is_dir():
        yield from _walk_folder(path, "", 0)


def _walk_folder(folder: Path, prefix: str, depth: int) -> Iterator[NamedPath]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = printable(f"{prefix}{entry.name}")
        if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
            yield from _walk_folder(Path(entry.path), f"{name}/", depth + 1)
        elif entry.is_file(follow_symlinks=False):
            yield NamedPath(Path(entry.path), name)


def printable(name: str) -> str:
    """A file name that can be stored and shown whatever bytes the file system gave."""
    return name.encode("utf-8", errors="replace").decode("utf-8").replace("\x00", "\ufffd")


def probe(path: Path, name: str | None = None) -> Probe:
    """Look at a file: its head, its first records, its tables. Raises OSError where it cannot be opened."""
    size = path.stat().st_size
    with open(path, "rb") as raw:
        head = raw.read(HEAD_BYTES)
    shown = printable(path.name) if name is None else name
    if head.startswith(MAGIC):
        try:
            return Probe(path, shown, size, head, tables=table_columns(path))
        except UnreadableStore:
            return Probe(path, shown, size, head, tables={})
    document = _document(path, size, head)
    records = (document,) if document is not None else first_records(path)
    return Probe(path, shown, size, head, records=records, document=document)


def first_records(path: Path) -> tuple[dict[str, Any], ...]:
    """The first parsable JSON objects of a file, at most 50, looking at its first 8 MiB."""
    found: list[dict[str, Any]] = []
    looked = 0
    with open(path, "rb") as raw:
        for line, _ended, is_too_long in bounded_lines(raw, PROBE_BYTES):
            looked += len(line)
            body = line.replace(b"\x00", b"").removeprefix(BOM).strip()
            parsed = None if is_too_long or not body.startswith(b"{") else parse_object(body)
            if parsed is not None:
                found.append(parsed[0])
            if len(found) >= PROBE_RECORDS or looked > PROBE_BYTES:
                break
    return tuple(found)


def _document(path: Path, size: int, head: bytes) -> dict[str, Any] | None:
    body = head.removeprefix(BOM).lstrip()
    if not body.startswith(b"{") or size > MAX_DOCUMENT_BYTES:
        return None
    first, _, rest = body.partition(b"\n")
    if rest.strip() and parse_object(first.strip()) is not None:
        return None
    parsed = parse_object(path.read_bytes().removeprefix(BOM))
    return None if parsed is None else parsed[0]


def read_paths(paths: Sequence[NamedPath], options: ReadOptions) -> Iterator[ReadItem]:
    """Read files that were named together: a SourceFile for each, transcripts one at a time, problems.

    Files no reader knows come out as ignored, with the reason. A summary store is attached to the session of
    the same id where that is among them; else it is a session of its own. What context engines left in messages is
    recognised in every format (sources.recognise). Of transcripts that checkpoints hold again and again the longest
    of each session is read (sources.checkpoints).
    """
    with choose(paths) as choice:
        yield from choice.problems
        given = replace(options, extra={**options.extra, SESSION_IDS: choice.session_ids})
        for item in _read_named(paths, given, choice):
            yield choice.settled(item)
            del item  # one transcript at a time


def _read_named(paths: Sequence[NamedPath], options: ReadOptions, choice: Choice) -> Iterator[ReadItem]:
    by_reader: dict[str, list[Found]] = {reader.name: [] for reader in READERS}
    for named in paths:
        if named.name in choice.left_out:
            yield choice.left_out[named.name]
            continue
        if is_never_opened(named.name):
            yield SourceFile(named.name, CONFIGURATION, "ignored", False, NOTHING, _size_of(named.path))
            continue
        try:
            looked = probe(choice.instead.get(named.name, named.path), named.name)
        except OSError as error:
            yield ReadProblem(
                "unreadable_file", f"{named.name} cannot be opened: {error.strerror}", "error", named.name
            )
            continue
        known = detect(looked)
        if known is None:
            yield SourceFile(named.name, None, "ignored", False, why_ignored(looked), looked.size)
        else:
            by_reader[known[0].name].append(Found(_slim(looked) if len(paths) > MANY_FILES else looked, known[1]))
    pool = WatchedPool(options.pool)
    memory = options.memory if _may_go_on(by_reader) else None
    watched = None if memory is None else WatchedMemory(memory, pool)
    for item in _read_attached(by_reader, replace(options, pool=pool, memory=watched)):
        if isinstance(item, Transcript):
            recognise(item, pool)
            check_tokens(item)
        yield item
        del item  # one transcript at a time: the next is not read while this name holds the last


def _may_go_on(by_reader: Mapping[str, Sequence[Found]]) -> bool:
    """Whether readers may go on from what they read before: what is put into a session from beside it (a store, a
    trace) changes what its own reader made, so such a session is read whole."""
    told = any(by_reader[name] for name in TELLING_READERS)
    if told and any(files for name, files in by_reader.items() if name not in TELLING_READERS):
        return False
    return all(found.detection.role not in ("store", "trace") for files in by_reader.values() for found in files)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _slim(looked: Probe) -> Probe:
    """The probe without long texts in its first records: 20,000 of them would not fit into memory, and readers look
    there for ids, times and kinds only."""
    return replace(looked, head=looked.head[:KEPT_HEAD], records=tuple(_cut(record) for record in looked.records))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_KEPT]
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return [_cut(item) for item in value] if isinstance(value, list) else value


def _read_attached(by_reader: dict[str, list[Found]], options: ReadOptions) -> Iterator[ReadItem]:
    waiting = Waiting()
    beside = configurations(by_reader[ConfigurationReader.name])
    for name in STORE_READERS:
        for item in _read(name, by_reader, options):
            if isinstance(item, Transcript):
                configure(item, beside)
            if isinstance(item, Transcript) and is_part(item):
                waiting.add(item)
            else:
                yield item
    for reader in READERS:
        if reader.name in STORE_READERS:
            continue
        for item in _read(reader.name, by_reader, options):
            if isinstance(item, Transcript):
                configure(item, beside)
            if isinstance(item, Transcript):
                for part in waiting.take(item.session):
                    attach(item, part, options.pool)
                confirm(item, options.pool)
            yield item
            del item  # one transcript at a time: the next is not read while this name holds the last
    for parts in waiting.left():
        yield from _by_themselves(parts, options)


def _by_themselves(parts: list[Transcript], options: ReadOptions) -> Iterator[Transcript]:
    """Stores and logs without their host's session: each store is a session, what names the same one is a part of it,
    and a log goes to the first of them."""
    kept = parts[:1]
    for part in parts[1:]:
        same = next((one for one in kept if one.session.key == part.session.key), None)
        if same is not None or part.session.format == LOG_FORMAT:
            attach(same or kept[0], part, options.pool)
        else:
            kept.append(part)
    yield from kept


def _read(name: str, by_reader: dict[str, list[Found]], options: ReadOptions) -> Iterable[ReadItem]:
    files = by_reader[name]
    reader = next(reader for reader in READERS if reader.name == name)
    return _bounded(reader.read(files, options), files) if files else ()


def _bounded(items: Iterable[ReadItem], files: Sequence[Found]) -> Iterator[ReadItem]:
    """What a reader gives, up to where the nesting of a value is beyond Python's stack."""
    try:
        yield from items
    except RecursionError:
        names = ", ".join(found.probe.name for found in files[:3])
        text = f"reading ended early, since something in {names} is nested too deeply"
        yield ReadProblem("unreadable_file", text, "error", files[0].probe.name)


def why_ignored(looked: Probe) -> str:
    """In a few words, why no reader takes a file."""
    if looked.size == 0:
        return "empty file"
    if looked.head.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer, not the file itself"
    if looked.tables is not None:
        return _why_not_ours(looked) if looked.tables else "a SQLite database that is empty or damaged"
    start = looked.head[:512].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "an HTML page, not a transcript"
    if looked.records or first_elements(looked, 1):
        return "JSON of a kind that no reader knows"
    if _EMPTY_LIST.fullmatch(looked.head):
        return "an empty JSON list: no records in it"
    if b"\x00" in looked.head or _looks_binary(looked.head):
        return "a binary file"
    number = _first_long_line(looked.path)
    if number:
        return (
            f"line {number:,} is longer than {PROBE_BYTES // 1024 // 1024} MiB, too long for a record, and no "
            "line is one; write one record a line, and import it again"
        )
    return "not a transcript: no JSON records in it"


def _first_long_line(path: Path) -> int:
    """The number of the first line that is too long to look into, 0 without one; looks as far as `first_records`."""
    looked = 0
    with open(path, "rb") as raw:
        for number, (line, _ended, is_too_long) in enumerate(bounded_lines(raw, PROBE_BYTES), start=1):
            looked += len(line)
            if is_too_long:
                return number
            if looked > PROBE_BYTES:
                break
    return 0


def _why_not_ours(looked: Probe) -> str:
    whose = STORE_NAMES.get(looked.basename)
    if whose is None:
        return "a SQLite database of another program"
    tables = ", ".join(name[:40] for name in sorted(looked.tables or ())[:3])
    return f"a SQLite database of another program: it is called like {whose}, but its tables are others ({tables})"


def _looks_binary(head: bytes) -> bool:
    sample = head[:4096]
    controls = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    return bool(sample) and controls / len(sample) > 0.05


def is_special(path: Path) -> bool:
    """Whether `path` is neither a regular file nor a folder (a pipe, a device, a socket)."""
    mode = path.stat().st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
