"""A session's own row, and the detail that only its pages read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

import orjson
import zstandard

from contextviz.events.compaction import SummaryStore
from contextviz.events.session import COST_HINT, Configuration, LineCounts, Session, SubAgent, Transcript, TreeFacts
from contextviz.events.usage import TokenUsage
from contextviz.store.bulk import bounded, chunks, clean, clean_deep
from contextviz.store.models.session import SessionRecord
from contextviz.store.values import ClientTotal

# Fields of Session that are columns of the same name: text, and the rest.
_TEXT = ("format", "format_version", "generation", "agent", "title", "cwd", "model", "parent", "forked_from",
         "window_basis", "compaction_threshold_basis")  # fmt: skip
_PLAIN = ("generation_at", "started_at", "ended_at", "replayed_lines", "first_own_line", "window",
          "compaction_threshold")  # fmt: skip
FILLED = frozenset((*_TEXT, *_PLAIN, "source_id"))
MAX_DETAIL_BYTES = 1 << 30
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ENTRIES_AT_ONCE = 4096
LONG_OF_TREE = ("active_path", "abandoned")


def key_of(session: Session) -> str:
    """The hash of what makes it one session."""
    parts = [part.isoformat() if isinstance(part, datetime) else part for part in session.key]
    return hashlib.sha256(orjson.dumps(clean_deep(parts))).hexdigest()


def fill(record: SessionRecord, session: Session) -> None:
    """Write the session's fields into its row."""
    record.source_id = bounded(session.id, 255)
    for name in _TEXT:
        limit = getattr(SessionRecord._meta.get_field(name), "max_length", None)
        value = getattr(session, name)
        setattr(record, name, bounded(value, limit) if limit else clean(value))
    for name in _PLAIN:
        setattr(record, name, getattr(session, name))


def to_session(record: SessionRecord, detail: dict[str, Any]) -> Session:
    """The session behind a row; hints and counters come from its detail."""
    fields: dict[str, Any] = {name: getattr(record, name) or None for name in _TEXT}
    # The row's may be made from the first prompt, or from what the last call reported.
    fields |= {"title": detail["title"], "window": detail["window"]}
    fields |= {name: getattr(record, name) for name in _PLAIN}
    beside = detail.get("configuration")  # sessions that were saved before it was kept have none
    if beside is not None:
        fields["configuration"] = Configuration(**beside | {"files": tuple(beside["files"])})
    return Session(id=record.source_id, hints=detail["hints"], counters=detail["counters"], **fields)


def pack_detail(transcript: Transcript) -> bytes:
    """Everything of a transcript that no table holds, as zstd of JSON: four bytes that tell the size of the first
    part, the part that pages need, and the lists that are as long as the session."""
    store = transcript.store
    body: dict[str, Any] = {
        "title": transcript.session.title,
        "window": transcript.session.window,
        "hints": transcript.session.hints,
        "counters": transcript.session.counters,
        "configuration": asdict(transcript.session.configuration) if transcript.session.configuration else None,
        "files": transcript.files,
        "lines": _fields_of(transcript.lines),
        "entries": transcript.entries,
        "failed_calls": transcript.failed_calls,
        "orphan_results": transcript.orphan_results,
        "subagents": [asdict(agent) for agent in transcript.subagents],
        "tree": _fields_of(transcript.tree) if transcript.tree else None,
        "context_at_end": transcript.context_at_end,
        "entry_times": {},
        "unlogged_usage": asdict(transcript.unlogged_usage) if transcript.unlogged_usage else None,
        "store": None if store is None else {
            "engine": store.engine, "file": store.file, "conversations": store.conversations, "facts": store.facts,
        },
    }  # fmt: skip
    tree = body["tree"] or {}
    long = {"context_at_end": body["context_at_end"]} | {name: tree[name] for name in LONG_OF_TREE if name in tree}
    short = body | {"context_at_end": []}
    if tree:
        short["tree"] = tree | {name: [] for name in LONG_OF_TREE}
    first = _compressed(lambda: [_json(short)])
    return len(first).to_bytes(4, "big") + first + _compressed(lambda: _lists(transcript, long))


def _lists(transcript: Transcript, long: dict[str, Any]) -> Iterator[bytes]:
    """One JSON object of the long lists, a piece at a time: as one text it would be the most memory of a save."""
    yield b'{"entry_times":{'
    mark = b""
    for part in chunks(transcript.entry_times.items(), ENTRIES_AT_ONCE):
        yield mark + _json({name: _micros(at) for name, at in part})[1:-1]
        mark = b","
    yield b"}"
    for name, values in long.items():
        yield b"," + _json(name) + b":" + _json(values)
    yield b"}"


def _fields_of(value: LineCounts | TreeFacts) -> dict[str, Any]:
    # Not asdict, which copies every entry of lists that are as long as the session.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _json(value: Any) -> bytes:
    options = orjson.OPT_NON_STR_KEYS
    try:
        return orjson.dumps(value, option=options)
    except TypeError:
        return orjson.dumps(clean_deep(value), option=options)


def _compressed(pieces: Callable[[], Iterable[bytes]]) -> bytes:
    # The size first: a reader that does not find it there makes room for the most there may be.
    packer = zstandard.ZstdCompressor(level=3).compressobj(size=sum(map(len, pieces())))
    return b"".join([*map(packer.compress, pieces()), packer.flush()])


def unpack_detail(body: bytes | memoryview, *, with_lists: bool = True) -> dict[str, Any]:
    """The detail as plain values; `fill_transcript` makes events of them. Without `with_lists` those that are as long
    as the session are empty: reading them takes longer than all else on a page."""
    raw = bytes(body)
    if raw.startswith(zstandard.FRAME_HEADER):  # as it was written before the lists stood apart
        return _unpacked(raw)
    start = 4 + int.from_bytes(raw[:4], "big")
    detail = _unpacked(raw[4:start])
    if with_lists:
        rest = _unpacked(raw[start:])
        if detail["tree"]:
            detail["tree"] |= {name: rest.pop(name) for name in LONG_OF_TREE if name in rest}
        detail |= rest
    return detail


def tells_same(one: bytes | memoryview, other: bytes | memoryview) -> bool:
    """Whether two details say the same of a session, whatever its files are called in them."""
    return bytes(one) == bytes(other) or _without_names(one) == _without_names(other)


def _without_names(body: bytes | memoryview) -> dict[str, Any]:
    detail = unpack_detail(body)
    for name, key in (("configuration", "files"), ("store", "file")):
        if detail.get(name):
            del detail[name][key]
    return {name: value for name, value in detail.items() if name != "files"}


def _unpacked(packed: bytes) -> dict[str, Any]:
    raw = zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_DETAIL_BYTES)
    detail: dict[str, Any] = orjson.loads(raw)
    return detail


def fill_transcript(session: Session, detail: dict[str, Any]) -> Transcript:
    """A transcript with everything that the detail holds; the tables' lists are still empty."""
    store = detail["store"]
    return Transcript(
        session=session,
        files=detail["files"],
        lines=line_counts(detail["lines"]),
        entries=detail["entries"],
        failed_calls=detail["failed_calls"],
        orphan_results=detail["orphan_results"],
        subagents=[SubAgent(**agent) for agent in detail["subagents"]],
        tree=TreeFacts(**detail["tree"]) if detail["tree"] else None,
        context_at_end=detail["context_at_end"],
        entry_times={name: _instant(micros) for name, micros in detail["entry_times"].items()},
        unlogged_usage=TokenUsage(**detail["unlogged_usage"]) if detail["unlogged_usage"] else None,
        store=SummaryStore(**store) if store else None,
    )


def client_total(detail: dict[str, Any]) -> ClientTotal:
    """What the client says of the session as a whole, from the detail."""
    beyond, cost = detail["unlogged_usage"], detail["hints"].get(COST_HINT)
    return ClientTotal(TokenUsage(**beyond) if beyond else None, float(cost) if cost else None)


def line_counts(packed: dict[str, Any]) -> LineCounts:
    """The line counts behind the detail; JSON made text of the line numbers in `recovered`."""
    counts = LineCounts(**packed)
    counts.recovered = {int(line): names for line, names in counts.recovered.items()}
    return counts


def _micros(at: datetime | None) -> int | None:
    # In whole numbers: as a float the last moment of the year 9999 is rounded into the year 10000, which is no time.
    if at is None:
        return None
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime.fromtimestamp(micros // 1_000_000, UTC).replace(
        microsecond=micros % 1_000_000
    )  # fmt: skip
