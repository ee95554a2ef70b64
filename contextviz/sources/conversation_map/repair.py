"""A hand-edited or half-written JSON document, read as far as it can be (engines.md 6.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from contextviz.sources.lines import BOM, parse_object

# A text that never ends reaches to the end of the document, so that nothing in it is taken for structure.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)'
_STRING_OR_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
# A whole value followed by the start of another without a comma: after a bracket, a text, a number or a word.
_MISSING_COMMA = re.compile(
    rf"({_STRING})(?:(\s*)(?=\"))?|([}}\]])(\s*)(?=[{{\"\[])|(\b(?:\d+|true|false|null))(\s+)(?=\")", re.DOTALL
)
_STRING_OR_BRACKET = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}
MAX_DEPTH = 200


@dataclass(slots=True)
class Repaired:
    """A document and what was done to read it: `document` is None where nothing helped, `repairs` are sentences."""

    document: dict[str, Any] | None
    surrogates: int = 0
    repairs: list[str] = field(default_factory=list)


def read_document(raw: bytes) -> Repaired:
    """`raw` as one JSON object. Trailing and missing commas are mended and an unfinished end is closed; a text is
    never changed. Each repair is one pass, so the work is bounded by the size."""
    body = raw.removeprefix(BOM)
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    parsed = parse_object(body)
    if parsed is not None:
        return Repaired(parsed[0], parsed[1])
    text = body.decode("utf-8", errors="replace").replace("\x00", "")
    repairs: list[str] = []
    for mend in (_without_trailing_commas, _with_missing_commas, _closed):
        mended, sentence = mend(text)
        if mended == text:
            continue
        text = mended
        repairs.append(sentence)
        parsed = parse_object(text.encode("utf-8", errors="replace"))
        if parsed is not None:
            return Repaired(parsed[0], parsed[1], repairs)
    return Repaired(None)


def _without_trailing_commas(text: str) -> tuple[str, str]:
    count = 0

    def keep(found: re.Match[str]) -> str:
        nonlocal count
        if found.group() != ",":
            return found.group()
        count += 1
        return ""

    return _STRING_OR_COMMA.sub(keep, text), f"{count or 'some'} trailing comma(s) left out"


def _with_missing_commas(text: str) -> tuple[str, str]:
    def fill(found: re.Match[str]) -> str:
        for value, gap in ((1, 2), (3, 4), (5, 6)):
            if found.group(value) is not None and found.group(gap) is not None:
                return f"{found.group(value)},{found.group(gap)}"
        return found.group()

    return _MISSING_COMMA.sub(fill, text), "missing comma(s) between values put in"


def _closed(text: str) -> tuple[str, str]:
    """`text` cut after the last value that is whole, and closed there."""
    stack: list[str] = []
    cut, open_there = 0, ""
    for found in _STRING_OR_BRACKET.finditer(text):
        mark = found.group()
        if mark in _CLOSER:
            stack.append(mark)
            if len(stack) > MAX_DEPTH:
                break
        elif mark in ("}", "]"):
            if not stack or _CLOSER[stack[-1]] != mark:
                break
            stack.pop()
            cut, open_there = found.end(), "".join(stack)
            if not stack:
                break
    if not cut:
        return text, ""
    closers = "".join(_CLOSER[mark] for mark in reversed(open_there))
    sentence = "the end is unfinished or damaged: closed after the last whole entry"
    return text[:cut] + closers, sentence
