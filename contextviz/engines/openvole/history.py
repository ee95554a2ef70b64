"""The history of a session that OpenVole's paw-session puts before a task (engines document, section 2.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextviz.engines.openvole.sessions import SessionEntry
from contextviz.events.javascript import length16, slice16, trim

MOST_ENTRIES = 50
MOST_CHARS = 8000  # UTF-16 units of all lines; the breaks between them are not counted
OLD, OLD_KEPT = 10, 150  # lines from the end, UTF-16 units


def history_lines(entries: Sequence[SessionEntry]) -> list[str]:
    """The last fifty entries as lines `[HH:MM:SS] role: content`, their line breaks made blanks (times are UTC)."""
    return [
        f"[{_clock(entry.at)}] {entry.role}: {entry.content}".replace("\n", " ") for entry in entries[-MOST_ENTRIES:]
    ]


def _clock(at: str) -> str:
    day, letter, time = at.partition("T")
    return time[:8] if letter else day


def inject_history(lines: Iterable[str]) -> str:
    """The history as it is injected: user's and brain's lines, old ones cut, the newest that fit.

    A line's age is told by the first line that equals it, so equal lines age together; tool lines count for the age
    and are not shown.
    """
    given = list(lines)
    first: dict[str, int] = {}
    for at, line in enumerate(given):
        first.setdefault(line, at)
    told = [shown for line in given if (shown := _shown(line, len(given) - first[line])) is not None]
    kept: list[str] = []
    total = 0
    for line in reversed(told):
        if total + length16(line) > MOST_CHARS:
            break
        kept.append(line)
        total += length16(line)
    return "\n".join(reversed(kept))


def _shown(line: str, age: int) -> str | None:
    parts = split_line(line)
    if parts is None or parts[1] not in ("user", "brain"):
        return None
    stamp, role, content = parts
    if age > OLD and length16(content) > OLD_KEPT:
        return f"{stamp} {role}: {slice16(content, 0, OLD_KEPT)}..."
    return line


def split_line(line: str) -> tuple[str, str, str] | None:
    """A line's stamp with its brackets, role and content; None where it has no bracket or no colon behind it."""
    bracket = line.find("]")
    if bracket < 0:
        return None
    role, colon, content = line[bracket + 2 :].partition(":")
    return (line[: bracket + 1], trim(role), trim(content)) if colon else None
