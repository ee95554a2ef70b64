"""Files of OpenVole's paw-session: transcripts that are JSON lines despite their name (engines document, 2.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextviz.events.javascript import DOT, parse, trim

TRANSCRIPT, META = "transcript.md", "meta.json"
MOST_BYTES = 64 * 1024 * 1024
# Before JSON lines came: `[HH:MM:SS] role: content`; a tool's role has a colon of its own.
_LEGACY = re.compile(r"\[([^\]]+)\] (user|brain|tool:[^\s:]*|[^:]+): ?(" + DOT + r"*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One entry. `at` is an ISO instant, or the bare time of day of a legacy line; `role` is user, brain, in, out or
    `tool:<name>`."""

    at: str
    role: str
    content: str

    def plain(self) -> dict[str, str]:
        """By the names of the file."""
        return {"ts": self.at, "role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session's folder: its name, its entries, and its meta data (None where they cannot be read)."""

    id: str
    entries: tuple[SessionEntry, ...]
    meta: dict[str, Any] | None


def parse_transcript(text: str) -> list[SessionEntry]:
    """The entries of a transcript; torn, blank and other lines are left out."""
    return [entry for line in text.split("\n") if (entry := parse_line(line)) is not None]


def parse_line(line: str) -> SessionEntry | None:
    """One line, None where it is no entry."""
    if not trim(line):
        return None
    if line.startswith("{"):
        try:
            record = parse(line)
        except ValueError:
            return None
        role, content = record.get("role"), record.get("content")
        if not isinstance(role, str) or not isinstance(content, str):
            return None
        at = record.get("ts")
        return SessionEntry(at if isinstance(at, str) else "", role, content)
    found = _LEGACY.fullmatch(line)
    return SessionEntry(found[1], found[2], found[3]) if found else None


def last_entries(entries: Sequence[SessionEntry], most: int | None = None) -> list[SessionEntry]:
    """The newest `most`, all where none or 0 is asked for."""
    return list(entries[-most:]) if most else list(entries)


def session_folder_name(session: str) -> str:
    """The name of a session's folder: nothing in it leads elsewhere."""
    return session.replace("/", "_").replace("\\", "_").replace("..", "_")


def read_sessions(folder: Path) -> list[StoredSession]:
    """The sessions in a folder of paw-session, by name. What cannot be read is empty; links are not followed."""
    found = []
    for child in sorted(folder.iterdir(), key=lambda one: one.name.encode("utf-8", "surrogateescape")):
        if not child.is_dir() or child.is_symlink():
            continue
        try:
            meta = parse(_text(child / META))
        except ValueError:
            meta = None
        entries = parse_transcript(_text(child / TRANSCRIPT))
        found.append(StoredSession(child.name, tuple(entries), meta if isinstance(meta, dict) else None))
    return found


def _text(path: Path) -> str:
    try:
        if path.is_symlink() or path.stat().st_size > MOST_BYTES:
            return ""
        # Decoded from bytes: line ends stay as they are.
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
