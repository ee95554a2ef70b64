"""flowctx's reducers: a shorter view of a text by its content type, or none (section 3.4)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from contextviz.engines.flowctx.cli_rules import reduce_output
from contextviz.engines.flowctx.clips import clip_line, compact_json
from contextviz.engines.flowctx.detection import ContentType, detect
from contextviz.engines.flowctx.explorers import explore_code, explore_json
from contextviz.events.javascript import LINE_ENDS, length16, parse

LARGE_ARRAY = 20
CHANGES_PER_HUNK = 8
LONGEST_CHANGE, LONGEST_HIT = 260, 320
_HEADERS = ("diff --git ", "index ", "--- ", "+++ ", "@@")
_LOG_HEAD = "// log collapsed (adjacent duplicates merged; full log via flowctx_retrieve)"
_DIGITS = re.compile("[0-9]+")
_ENDS = re.compile("[" + LINE_ENDS + "]")
_LOCATED = re.compile("[^" + LINE_ENDS + "]+?:[0-9]+[:-]")


@dataclass(frozen=True, slots=True)
class Structured:
    """What a text is and its shorter view; None where it has none and head and tail are kept instead."""

    content_type: ContentType
    text: str | None


def structured(text: str, tool_name: str | None = None, exit_code: int = 0) -> Structured:
    """Reduce a text by its type. A view that is not shorter in UTF-16 units is none."""
    content_type = detect(text, tool_name)
    view = _view(text, content_type, tool_name, exit_code)
    if view is not None and (view == text or length16(view) >= length16(text)):
        view = None
    return Structured(content_type, view)


def _view(text: str, content_type: ContentType, tool_name: str | None, exit_code: int) -> str | None:
    if content_type == "json":
        return reduce_json(text)
    if content_type == "diff":
        return reduce_diff(text)
    if content_type == "code":
        return explore_code(text, tool_name) if text.count("\n") >= 7 else None
    if content_type == "search":
        return reduce_search(text)
    if content_type == "log":
        return reduce_log(text)
    return reduce_output(text, exit_code) if content_type in ("test", "cli-output") else None


def reduce_json(text: str) -> str:
    """A long array by its shape; else without white space and clipped, its shape where that is not shorter."""
    value = parse(text)
    length = length16(text)
    if not (isinstance(value, list) and len(value) >= LARGE_ARRAY):
        compact = compact_json(text, max(1200, math.floor(length * 0.6)))
        if compact and length16(compact) < length:
            return compact
    return explore_json(text)


def reduce_diff(text: str) -> str:
    """Headers and the first changes of each hunk, long ones clipped; context lines go."""
    out: list[str] = []
    kept = left_out = 0
    for line in text.split("\n"):
        if line.startswith(_HEADERS):
            _tell_left_out(out, left_out)
            kept = left_out = 0
            out.append(line)
        elif line.startswith(("+", "-")):
            if kept < CHANGES_PER_HUNK:
                kept += 1
                out.append(clip_line(line, LONGEST_CHANGE))
            else:
                left_out += 1
    _tell_left_out(out, left_out)
    return "\n".join(out)


def _tell_left_out(out: list[str], number: int) -> None:
    if number:
        out.append(f"  …[{number} more changed line(s) in hunk omitted]…")


def reduce_search(text: str) -> str:
    """Hits with what stands behind their place clipped; other lines are clipped whole."""
    return "\n".join(_hit(line) for line in text.split("\n"))


def _hit(line: str) -> str:
    # The pattern ends at the end of the text, so a carriage return in the line keeps it from matching at all.
    found = _LOCATED.match(line) if _ENDS.search(line) is None else None
    if found is None:
        return clip_line(line, LONGEST_HIT)
    return found[0] + clip_line(line[found.end() :], LONGEST_HIT)


def reduce_log(text: str) -> str:
    """Every run of digits as #, and lines that are then the same as the one before merged; the numbers are lost."""
    out: list[str] = []
    before: str | None = None
    times = 0
    for line in [*map(_without_numbers, text.split("\n")), None]:
        if line is not None and line == before:
            times += 1
            continue
        if before is not None:
            out.append(f"{before}  (×{times})" if times > 1 else before)
        before, times = line, 1
    return "\n".join([_LOG_HEAD, *out])


def _without_numbers(line: str) -> str:
    return _DIGITS.sub("#", line)
