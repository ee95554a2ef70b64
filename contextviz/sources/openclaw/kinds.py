"""What a file beside an OpenClaw or pi transcript is (formats.md A.1 and 0.2)."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import zstandard

from contextviz.events.session import GenerationState
from contextviz.events.times import instant
from contextviz.sources.lines import parse_object
from contextviz.sources.openclaw.traces.cache_trace import is_cache_trace
from contextviz.sources.openclaw.traces.exported import is_branch
from contextviz.sources.openclaw.traces.trajectory import is_trajectory
from contextviz.sources.source import Detection, Probe
from contextviz.sources.values import as_text

OPENCLAW, PI, SQLITE = "openclaw", "pi", "openclaw-sqlite"
# What all three write (sources.features).
WRITTEN = (
    "messages times title tool_pairs thinking images calls cache_reads cache_writes reasoning cost failed_calls "
    "compactions summary branches forks"
)
ROLES = frozenset({"user", "assistant", "toolResult", "system", "bashExecution", "custom", "hookMessage"})
CACHE_TRACE = "the client's log of its requests: it checks the windows of its sessions"
TRAJECTORY = "same messages as the transcript: it checks the windows of its session"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
PEEK_BYTES, PEEK_RECORDS = 256 * 1024, 50
STORE_COLUMNS = frozenset({"session_id", "seq", "event_json"})

_ARCHIVE = re.compile(
    r"^(?P<id>.+)\.jsonl\.(?P<state>reset|deleted|bak)\.(?P<at>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d{3})?Z)"
    r"(?:\.[0-9a-f]{32})?(?:\.zst)?$"
)
_BACKUP = re.compile(r"\.jsonl\.bak(?:[.-].*)?$")
_CHECKPOINT = re.compile(r"\.checkpoint\.[0-9A-Fa-f-]+\.jsonl$")
_BOOKKEEPING = re.compile(
    r"(?:\.jsonl\.lock|^sessions\.json\.[^/]*\.tmp|^sessions\.json\.bak(?:\.\d+)?|\.jsonl\.migrated(?:\.\d+)?"
    r"|\.pre-doctor-[^/]*\.bak)$"
)
_PI_NAME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_(?P<id>.+)\.jsonl$")
_AGENT = re.compile(r"(?:^|/)agents/([^/]+)/(?:sessions|agent|session-sqlite-import-archive)/")
_PI_TYPES = frozenset({"context_edit", "usage", "branch_summary"})


@dataclass(frozen=True, slots=True)
class Generation:
    """Which generation of a session id a file holds, and when it was set aside."""

    state: GenerationState = "active"
    at: datetime | None = None


def detect(probe: Probe) -> Detection | None:
    """What `probe` is to this reader; the content decides, the name tells copies from originals."""
    if probe.tables is not None:
        return _store(probe.tables)
    base = probe.basename
    if base == "sessions.json" and (probe.document is None or is_index(probe.document)):
        return Detection(OPENCLAW, "index", "the session index: hints only")
    if _BOOKKEEPING.search(base):
        return Detection(OPENCLAW, "ignored", "the client's own bookkeeping")
    trace = _trace(probe)
    if trace is not None:
        return trace
    name = _format(probe, packed_records(probe.head) if is_packed(probe) else probe.records)
    return _transcript(probe, name) if name is not None else None


def _store(tables: Mapping[str, frozenset[str]]) -> Detection | None:
    columns = tables.get("transcript_events", frozenset())
    is_ours = STORE_COLUMNS - {"event_json"} <= columns and bool({"event_json", "event_zstd"} & columns)
    return Detection(SQLITE, "store") if is_ours else None


def is_index(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a sessions.json: session keys to entries that name a sessionId."""
    if not document:
        return True
    return any(isinstance(entry, dict) and "sessionId" in entry for entry in list(document.values())[:20])


def is_packed(probe: Probe) -> bool:
    """Whether the file is a zstd frame."""
    return probe.head.startswith(ZSTD_MAGIC)


def packed_records(head: bytes) -> tuple[dict[str, Any], ...]:
    """The first JSON objects inside a zstd frame, from the head of its file."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(head)) as reader:
            lines = reader.read(PEEK_BYTES).split(b"\n")[:PEEK_RECORDS]
    except zstandard.ZstdError:
        return ()
    parsed = (parse_object(line) for line in lines if line.startswith(b"{"))
    return tuple(found[0] for found in parsed if found is not None)


def _trace(probe: Probe) -> Detection | None:
    if any(is_cache_trace(record) for record in probe.records[:3]):
        return Detection(OPENCLAW, "trace", CACHE_TRACE)
    if any(is_trajectory(record) for record in probe.records[:3]):
        return Detection(OPENCLAW, "trace", TRAJECTORY)
    if probe.basename.endswith(".trajectory-path.json"):
        return Detection(OPENCLAW, "trace", "says where a trajectory lies")
    if probe.basename.endswith(".trajectory.jsonl"):
        return Detection(OPENCLAW, "trace", TRAJECTORY)
    folder = probe.name.rsplit("/", 2)[-2] if "/" in probe.name else ""
    is_exported = folder.startswith("openclaw-trajectory-") and probe.document is not None
    if is_exported or is_branch(probe.document):
        return Detection(OPENCLAW, "trace", "part of an exported trajectory; same messages as the transcript")
    return None


def _format(probe: Probe, records: tuple[dict[str, Any], ...]) -> str | None:
    """`pi` or `openclaw` where the records are a transcript's, else None."""
    header = next((record for record in records if _is_header(record)), None)
    if header is None and not any(_is_entry(record) for record in records):
        return None
    if _PI_NAME.match(probe.basename) or (header is not None and _is_pi_header(header)):
        return PI
    return PI if any(_is_pi_entry(record) for record in records) else OPENCLAW


def _is_header(record: Mapping[str, Any]) -> bool:
    has_id = isinstance(record.get("id"), str)
    return record.get("type") == "session" and has_id and ("cwd" in record or "timestamp" in record)


def _is_entry(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    is_placed = "parentId" in record or "timestamp" in record or "id" in record
    return (
        record.get("type") == "message"
        and isinstance(message, dict)
        and as_text(message.get("role")) in ROLES
        and is_placed
    )


def _is_pi_header(header: Mapping[str, Any]) -> bool:
    parent = header.get("parentSession")
    is_pi_file = isinstance(parent, str) and _PI_NAME.match(basename_of(parent)) is not None
    return is_pi_file or ("modelId" in header and "provider" in header)


def _is_pi_entry(record: Mapping[str, Any]) -> bool:
    if as_text(record.get("type")) in _PI_TYPES or "systemMessage" in record:
        return True
    message = record.get("message")
    return isinstance(message, dict) and message.get("role") == "system" and "sections" in message


def _transcript(probe: Probe, name: str) -> Detection:
    base = probe.basename
    archive = _ARCHIVE.match(base)
    if (archive and archive["state"] == "bak") or _BACKUP.search(base):
        return Detection(name, "duplicate", "a backup of the transcript")
    if _CHECKPOINT.search(base):
        return Detection(name, "duplicate", "a checkpoint: a copy from before a compaction")
    if "session-sqlite-import-archive/" in probe.name:
        return Detection(name, "duplicate", "an imported original: its rows are in the SQLite store")
    return Detection(name, "archive" if archive else "session")


def generation_of(basename: str) -> Generation:
    """The generation that a file's name tells: reset and deleted transcripts carry their time."""
    found = _ARCHIVE.match(basename)
    if found is None or found["state"] == "bak":
        return Generation()
    date, _, clock = found["at"].partition("T")
    at = instant(f"{date}T{clock.replace('-', ':')}")
    return Generation("reset" if found["state"] == "reset" else "deleted", at)


def session_id_of(name: str) -> str:
    """The session id that a file's name tells, for transcripts without a header (formats.md A.2)."""
    base = basename_of(name)
    pi = _PI_NAME.match(base)
    return pi["id"] if pi else base.split(".jsonl")[0]


def topic_of(basename: str) -> str | None:
    """The id of a forum-topic transcript: a session of its own beside the one its header names."""
    stem = basename.split(".jsonl")[0]
    return stem if "-topic-" in stem else None


def agent_of(name: str) -> str | None:
    """The agent whose folder a file lies in."""
    found = _AGENT.search(name)
    return found[1] if found else None


def basename_of(path: str) -> str:
    """The last part of a path of any system (formats.md A.9: paths may be another host's)."""
    return re.split(r"[\\/]", path)[-1]
