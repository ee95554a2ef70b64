"""JSON lines, read safely: every line accounted for, damaged ones mended where a whole record is in them.

Rules: formats.md section 0.1. Split at LF only, bounded lines, BOM and UTF-16 tolerated, NUL padding stripped
and listed, glued and spliced records recovered, lone surrogates replaced and counted.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from contextviz.events.frozen import frozen
from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts
from contextviz.events.text import sanitised
from contextviz.sources.values import MOST_NESTED, TOO_DEEP, is_too_deep

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_SPLICE_TRIES = 200
BOM = b"\xef\xbb\xbf"
_LONG_INTEGER = re.compile(rb"[:\[,]\s*-?\d{19,}")
# Every digit as "0": whether a line has 19 in a row is then one search for bytes, five times as fast as the pattern.
_DIGITS_AS_ZERO = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))
_LONG_RUN = b"0" * 19
READ_BUFFER = 1024 * 1024
NO_END = 2**62
_RECORD_START = re.compile(
    r'\{\s*"(?:parentUuid|timestamp|type|uuid|sessionId|id|logicalParentUuid|isSidechain|record_type)"'
)
Json = dict[str, Any]


@frozen
class Record:
    """One JSON object of a file: its line (from 1), its bytes' length, and whether it was recovered from a
    malformed line. `surrogates` counts the lone surrogates replaced in it."""

    line: int
    value: Json
    size: int
    recovered: bool = False
    surrogates: int = 0


class JsonLines:
    """Iterate over a file's records while `counts` and `problems` fill; once through, or on from where it ended.

    `id_of` names a record's entry (for the list of what was recovered from a malformed line). `size` is how many bytes
    belong to the file: what is written behind them meanwhile is for the next time.

    After a pass `offset` is where the last whole line ends. `can_go_on` says whether what the lines told so far is
    what these bytes tell: where a last line without its end held a record, that record is of no whole line. `go_on`
    then takes back what was noted of the unfinished line, and the next pass reads only what is new.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        *,
        id_of: Callable[[Json], str | None],
        max_line: int = MAX_LINE_BYTES,
        size: int | None = None,
    ):
        self.path = path
        self.name = name
        self.counts = LineCounts()
        self.problems: list[ReadProblem] = []
        self.offset = 0
        self.can_go_on = True
        self._id_of = id_of
        self._max_line = max_line
        self._size = size
        self._whole_lines = 0
        self._open_line: Literal["blank", "in_progress"] | None = None

    def __iter__(self) -> Iterator[Record]:
        with open(self.path, "rb", buffering=READ_BUFFER) as raw:
            stream = _as_utf8(raw)
            if stream is not raw:
                self.can_go_on = False
            elif self.offset:
                raw.seek(self.offset)
            size = None if self._size is None or stream is not raw else self._size - self.offset
            lines = bounded_lines(stream, self._max_line, size)
            for number, (line, is_ended, is_too_long) in enumerate(lines, start=self._whole_lines + 1):
                self.counts.total += 1
                if is_ended:
                    self._whole_lines = number
                    self.offset = stream.tell() if is_too_long else self.offset + len(line) + 1
                elif is_too_long:
                    self.can_go_on = False
                body = line.removeprefix(BOM) if number == 1 else line
                if is_too_long:
                    self._malformed(number, f"longer than {self._max_line // 1024 // 1024} MiB, skipped")
                else:
                    yield from self._records_of(number, body.rstrip(b"\r"), is_ended)

    def go_on(self, path: Path, size: int) -> None:
        """Read on at `path`, whose first `offset` bytes are those that were read here; `size` is how many it has now.

        Only where `can_go_on`. `problems` must end with what was noted here last.
        """
        self.path, self._size = path, size
        if self._open_line is not None:
            self.counts.total -= 1
            if self._open_line == "blank":
                self.counts.blank -= 1
            else:
                self.counts.in_progress = None
                self.problems.pop()
        self._open_line = None

    def mark_unknown(self, record: Record, kind: str) -> None:
        """Count a record whose type the reader does not know; it is kept, not dropped."""
        if not record.recovered:
            self.counts.read -= 1
            self.counts.unknown_types[kind] = self.counts.unknown_types.get(kind, 0) + 1

    def _records_of(self, number: int, line: bytes, is_ended: bool) -> Iterator[Record]:
        if not line.strip(b" \t\r\x0b\x0c"):
            self.counts.blank += 1
            self._open_line = None if is_ended else "blank"
            return
        if b"\x00" in line:
            self.can_go_on = self.can_go_on and is_ended
            yield from self._from_padding(number, line)
            return
        parsed = parse_object(line)
        if parsed is not None:
            self.can_go_on = self.can_go_on and is_ended
            yield self._read(number, parsed[0], len(line), parsed[1], recovered=False)
            return
        found = recovered_objects(line)
        if not found and not is_ended:
            self._open_line = "in_progress"
            self.counts.in_progress = number
            self._problem("in_progress", number, "the last line is not finished yet; it is read when it is", "info")
            return
        self.can_go_on = self.can_go_on and is_ended
        self._malformed(number, _why_not(line) + (f", {len(found)} recovered from it" if found else ""))
        for value, surrogates in found:
            yield self._recovered(number, value, len(line), surrogates)

    def _from_padding(self, number: int, line: bytes) -> Iterator[Record]:
        body = line.replace(b"\x00", b"").strip()
        self._malformed(number, "NUL padding")
        if not body:
            return
        parsed = parse_object(body)
        for value, surrogates in [parsed] if parsed else recovered_objects(body):
            yield self._recovered(number, value, len(body), surrogates)

    def _read(self, number: int, value: Json, size: int, surrogates: int, *, recovered: bool) -> Record:
        if surrogates:
            self.counts.lone_surrogates += surrogates
            self.counts.surrogate_lines.append(number)
            self._problem("lone_surrogate", number, f"{surrogates} half emoji replaced by U+FFFD", "info", surrogates)
        if not recovered:
            self.counts.read += 1
        return Record(number, value, size, recovered, surrogates)

    def _recovered(self, number: int, value: Json, size: int, surrogates: int) -> Record:
        entry = self._id_of(value)
        self.counts.recovered.setdefault(number, []).append(entry or "")
        self.problems.append(
            ReadProblem("recovered_record", "a whole record was recovered from a malformed line", "info",
                        self.name, number, entry)
        )  # fmt: skip
        return self._read(number, value, size, surrogates, recovered=True)

    def _malformed(self, number: int, reason: str) -> None:
        self.counts.malformed.append(number)
        self.counts.recovered.setdefault(number, [])
        self._problem("malformed_line", number, f"line {number} is malformed: {reason}", "warning", reason)

    def _problem(self, code: str, line: int, message: str, severity: Any, value: str | int | None = None) -> None:
        self.problems.append(ReadProblem(code, message, severity, self.name, line, None, value))


def bounded_lines(stream: IO[bytes], limit: int, size: int | None = None) -> Iterator[tuple[bytes, bool, bool]]:
    """Physical lines (without their LF) as (bytes, ended by LF, cut because longer than `limit`), of the next `size`
    bytes where given.

    A line over the limit is skipped to its end without being held in memory.
    """
    left = NO_END if size is None else size
    while left > 0:
        line = stream.readline(min(limit + 1, left))
        if not line:
            return
        left -= len(line)
        if line.endswith(b"\n"):
            yield line[:-1], True, False
        elif len(line) <= limit:
            yield line, False, False
        else:
            skipped, is_ended = _skip_rest(stream, limit, left)
            left -= skipped
            yield b"", is_ended, True


def _skip_rest(stream: IO[bytes], limit: int, left: int) -> tuple[int, bool]:
    """Pass by the rest of a line, of at most `left` bytes: how many, and whether it has an end."""
    skipped = 0
    while skipped < left:
        rest = stream.readline(min(limit, left - skipped))
        if not rest:
            break
        skipped += len(rest)
        if rest.endswith(b"\n"):
            return skipped, True
    return skipped, False


def _as_utf8(raw: IO[bytes]) -> IO[bytes]:
    head = raw.read(4)
    raw.seek(0)
    encoding = None
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif len(head) == 4 and head[1:4:2] == b"\x00\x00" and head[0] and head[2]:
        encoding = "utf-16-le"
    elif len(head) == 4 and head[0:3:2] == b"\x00\x00" and head[1] and head[3]:
        encoding = "utf-16-be"
    if encoding is None:
        return raw
    return io.BytesIO(raw.read().decode(encoding, errors="replace").encode("utf-8", errors="replace"))


def parse_object(line: bytes) -> tuple[Json, int] | None:
    """`line` as one JSON object and the lone surrogates replaced in it, or None.

    orjson first; on any refusal the standard library, which takes lone surrogates, NaN (read as null) and
    integers beyond 64 bits. What is nested deeper than 200 levels is refused: it could not be kept.
    """
    found = _parsed(line)
    return None if found is None or (_may_be_deep(line) and is_too_deep(found[0])) else found


def _may_be_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") >= MOST_NESTED  # a search for bytes; walking the value is far dearer


def _why_not(line: bytes) -> str:
    try:
        return TOO_DEEP if _may_be_deep(line) and is_too_deep(orjson.loads(line)) else "not one JSON object"
    except orjson.JSONDecodeError as error:
        return TOO_DEEP if "depth limit" in str(error) else "not one JSON object"


def _parsed(line: bytes) -> tuple[Json, int] | None:
    if _LONG_RUN not in line.translate(_DIGITS_AS_ZERO) or _LONG_INTEGER.search(line) is None:
        try:
            value = orjson.loads(line)
            return (value, 0) if isinstance(value, dict) else None
        except orjson.JSONDecodeError:
            pass
    text = line.decode("utf-8", errors="replace").strip()
    try:
        value = json.loads(text, parse_constant=lambda _name: None)
    except (ValueError, RecursionError):
        return None
    return clean(value) if isinstance(value, dict) else None


def clean(value: Any) -> tuple[Any, int]:
    """`value` with lone surrogates in every key and string replaced by U+FFFD, and how many there were."""
    if isinstance(value, str):
        return sanitised(value)
    if isinstance(value, list):
        pairs = [clean(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        total = 0
        result: Json = {}
        for key, item in value.items():
            good_key, in_key = sanitised(key)
            result[good_key], in_item = clean(item)
            total += in_key + in_item
        return result, total
    return value, 0


def recovered_objects(line: bytes) -> list[tuple[Json, int]]:
    """Whole records found in a malformed line: glued ones, and a complete one after a cut-off one.

    A candidate counts only where its object reaches the end of the line or the start of another record, so
    that an inner object of a cut-off record is never taken for a record.
    """
    text = line.decode("utf-8", errors="replace").strip()
    found: list[tuple[Json, int]] = []
    position, tries = 0, 0
    while position < len(text) and tries < MAX_SPLICE_TRIES:
        start = _RECORD_START.search(text, position)
        if start is None:
            break
        tries += 1
        value, end = _decode_at(text, start.start())
        rest = text[end:].lstrip() if value is not None else ""
        if value is not None and (not rest or rest.startswith("{")):
            found.append(clean(value))
            position = end
        else:
            position = start.start() + 1
    return found


def _decode_at(text: str, start: int) -> tuple[Json | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start
    is_taken = isinstance(value, dict) and not (end - start > MOST_NESTED and is_too_deep(value))
    return (value, end) if is_taken else (None, start)


_DECODER = json.JSONDecoder(parse_constant=lambda _name: None)
