"""transcript.md: JSON lines despite its name, with lines of an older form among them (engines.md 2.7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from contextviz.sources.lines import JsonLines, Record

_LEGACY = re.compile(rb"^\[(\d\d:\d\d:\d\d)\] (user|brain|in|out|error|tool:[^\s:]{1,100}): ?(.*)$", re.DOTALL)
ROLE = re.compile(r"^(?:user|brain|in|out|error|tool:.{1,200})$", re.DOTALL)


class TranscriptLines(JsonLines):
    """A transcript's records. A line `[HH:MM:SS] role: text` becomes a record with `clock` in place of `ts`."""

    def _records_of(self, number: int, line: bytes, is_ended: bool) -> Iterator[Record]:
        found = _LEGACY.match(line)
        if found is None:
            yield from super()._records_of(number, line, is_ended)
            return
        clock, role, content = (part.decode("utf-8", errors="replace") for part in found.groups())
        yield self._read(number, {"clock": clock, "role": role, "content": content}, len(line), 0, recovered=False)


def is_entry(record: dict[str, Any]) -> bool:
    """Whether a JSON record is a line of such a transcript: a time, a role of OpenVole's and text, nothing else."""
    role = record.get("role")
    has_all = "ts" in record and isinstance(role, str) and isinstance(record.get("content"), str)
    return has_all and ROLE.match(role or "") is not None and len(record) <= 4


def is_legacy(head: bytes) -> bool:
    """Whether a file begins with lines of the older form only."""
    lines = [line for line in head[:8192].split(b"\n")[:5] if line.strip()]
    return bool(lines) and all(_LEGACY.match(line.rstrip(b"\r")) for line in lines[:2])
