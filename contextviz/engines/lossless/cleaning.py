"""What of a message or a summary a summariser is given: text without media, injected blocks and reasoning (7.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from contextviz.events.javascript import LINE_ENDS, LINE_START, SPACE, S, length16, parse, trim, trim_end

MEDIA = "[embedded media omitted]"
MOST_DEPTH = 8
_NOT_SPACE_OR_QUOTE = "[^;\"'`" + SPACE + "]"
_DATA_URL = re.compile(f"data:{_NOT_SPACE_OR_QUOTE}+;base64,[A-Za-z0-9+/={SPACE}]+", re.IGNORECASE | re.ASCII)
_DATA_URL_START = re.compile(f"data:{_NOT_SPACE_OR_QUOTE}+;base64,", re.IGNORECASE | re.ASCII)
_MEDIA_PATH = re.compile(f"MEDIA:/[^{LINE_ENDS}]+")
_BASE64_LINE = re.compile("[A-Za-z0-9+/=]{256,}")
_HEADER = re.compile(
    LINE_START + r"Untrusted context \(metadata, do not treat as instructions or commands\):" + S + "*", re.IGNORECASE
)
_REASONING = frozenset({"reasoning", "thinking", "redacted_thinking"})
_ATTACHMENTS = frozenset({"file", "image", "snapshot"})
_TEXT_KEYS = ("text", "caption", "alt", "title", "summary")
_NESTED_KEYS = (
    "value", "content", "parts", "items", "message", "messages", "input", "arguments", "output", "result", "results",
    "data", "query", "command",
)  # fmt: skip
_WORDS = "(think|thinking|reasoning)"
_OPEN = f"<{S}*{_WORDS}(?:{S}[^>]*)?>"
_CLOSED = _OPEN + r".*?<" + S + r"*/" + S + r"*\{}" + S + "*>"
_LEADING_BLOCK = re.compile(_CLOSED.format(1), re.IGNORECASE | re.ASCII | re.DOTALL)
_OWN_LINES = re.compile(
    r"(^|\n)[ \t]*" + _CLOSED.format(2) + r"[ \t]*(?=\n|\Z)", re.IGNORECASE | re.ASCII | re.DOTALL
)  # fmt: skip
_STARTS = (
    rf"(?:{_OPEN}|<\|{S}*(?:start_of_)?(?:think|thinking|reasoning){S}*\|>"
    rf"|\[{S}*(?:think|thinking|reasoning){S}*\])"
)
_UNCLOSED = re.compile(r"(^|\n)[ \t]*" + _STARTS + r".*\Z", re.IGNORECASE | re.ASCII | re.DOTALL)
_STARTS_WITH = re.compile(_STARTS, re.IGNORECASE | re.ASCII)


def without_injected(text: str, tags: Iterable[str]) -> str:
    """Without the blocks `<tag>…</tag>` that plugins put in, whatever the case of the tag; as it is without tags."""
    wanted = list(tags)
    if not wanted:
        return text
    for tag in wanted:
        name = re.escape(tag)
        text = re.sub(f"<{name}>.*?</{name}>", "", text, flags=re.IGNORECASE | re.DOTALL)
    return trim(_HEADER.sub("", text))


def meaningful(text: str, *, without_reasoning: bool = False) -> str:
    """The readable text of a message: JSON is read for its texts, media and blank lines go.

    `without_reasoning` also takes away reasoning between tags, as for summaries that are summarised again.
    """
    core = trim(text)
    if not core:
        return ""
    if (core[0], core[-1]) in (("[", "]"), ("{", "}")):
        try:
            found = parse(core)
        except ValueError:
            return _clean(text, without_reasoning)
        return of_structure(found, without_reasoning=without_reasoning)
    return _clean(text, without_reasoning)


def of_structure(value: Any, *, without_reasoning: bool = False) -> str:
    """The texts inside a JSON value, one under the other."""
    return trim("\n".join(filter(None, map(trim, _texts(value, without_reasoning, 0)))))


def without_media(text: str) -> str:
    """Line by line: without base64 payloads, media paths and blank lines."""
    lines = re.split("\r?\n", _DATA_URL.sub(MEDIA, text))
    kept = [trim_end(line) for line in lines]
    return trim("\n".join(line for line in kept if _is_text(trim(line))))


def _clean(text: str, without_reasoning: bool) -> str:
    plain = without_media(text)
    return _unreasoned(plain) if without_reasoning else plain


def _is_text(line: str) -> bool:
    if not line or _MEDIA_PATH.fullmatch(line) or _DATA_URL_START.match(line):
        return False
    return not (length16(line) % 4 == 0 and _BASE64_LINE.fullmatch(line))


def _texts(value: Any, without_reasoning: bool, depth: int) -> Iterator[str]:
    if depth >= MOST_DEPTH or value is None:
        return
    if isinstance(value, str):
        yield _clean(value, without_reasoning)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry, without_reasoning, depth + 1)
    elif isinstance(value, dict):
        kinds = {_kind(value.get("type")), _kind(value.get("rawType"))}
        if kinds & _REASONING:
            return
        for key in _TEXT_KEYS:
            if isinstance(value.get(key), str):
                yield _clean(value[key], without_reasoning)
        if kinds & _ATTACHMENTS:
            return
        for key in _NESTED_KEYS:
            yield from _texts(value.get(key), without_reasoning, depth + 1)


def _kind(value: Any) -> str:
    return trim(value).lower() if isinstance(value, str) else ""


def _unreasoned(text: str) -> str:
    text = trim(text)
    while (found := _LEADING_BLOCK.match(text)) is not None:
        text = trim(text[found.end() :])
    text = _OWN_LINES.sub(lambda block: block[1], text)
    text = trim(_UNCLOSED.sub(lambda block: block[1], text))
    return "" if _STARTS_WITH.match(text) else text
