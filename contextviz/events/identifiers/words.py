"""Identifiers of one word: paths, hosts, symbols, ids, versions, keys; and numbers with their unit or key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from contextviz.events.identifiers.canonical import TRAILING
from contextviz.events.identifiers.kinds import (
    BARE_FILES,
    EVERYDAY,
    EXTENSIONS,
    ROOT_FOLDERS,
    TOP_DOMAINS,
    TOP_FOLDERS,
    UNITS,
    IdentifierKind,
)

Span = tuple[IdentifierKind, int, int]
MAX_WORD = 400
# One word of interest has a sign, a digit or a hump in it; others are prose and end here.
_WORD = re.compile(r"[^\s\"'`<>()\[\]{},;|*]{2,4000}")
_TELLING = re.compile(r"[/\\._:=@#\d-]|[a-z][A-Z]|[A-Z][A-Z]")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/]{1,255}(?:/\S*)?")
_HOST = re.compile(r"(?:[a-zA-Z0-9-]{1,63}\.){0,6}[a-zA-Z0-9-]{1,63}(?P<port>:\d{2,5})(?P<path>/\S*)?")
_DOMAIN = re.compile(r"(?:[a-zA-Z0-9-]{1,63}\.){1,6}(?P<top>[a-z]{2,12})(?:/\S*)?")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[a-fA-F])(?:[0-9a-f]{7,64}|[0-9A-F]{7,64})")
_TOOL_ID = re.compile(
    r"(?:toolu|call|msg|req|resp|chatcmpl|sum|file|fc|rs|run|thread|asst|batch|evt|sess)[_-](?=[A-Za-z_-]*\d)[\w-]{6,80}"
)
_TICKET = re.compile(r"#\d{1,7}|[A-Z][A-Z0-9]{1,9}-\d{1,7}|ctx-\d{2}-\d{3}(?:-a\d{1,3})?")
_VERSION = re.compile(
    r"[vV]\d{1,5}(?:\.\d{1,6}){0,3}(?:[-+][\w.+-]{1,40})?"
    r"|\d{1,5}(?:\.\d{1,6}){2,3}(?:(?:[-+]|(?=[a-z]))[\w.+-]{1,40})?"
)
_PINNED = re.compile(
    r"@?[A-Za-z][\w./-]{0,80}?(?:==|>=|<=|~=|@)[vV~^]?\d[\w.+-]{0,40}|[A-Za-z][\w.]{0,60}-\d{1,4}(?:\.\d{1,6}){1,3}"
)
_CODE = re.compile(r"E(?:NOENT|ACCES|PERM|EXIST|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|PIPE|INVAL|NOTFOUND|MFILE)|"
                   r"TS\d{4,5}|ORA-\d{5}|E\d{3,4}|[CWF]\d{4}|SIG(?:KILL|TERM|SEGV|INT|ABRT)")  # fmt: skip
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Warning)")
_ENV = re.compile(r"\$?[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}")
_OPTION = re.compile(r"--[a-zA-Z][\w-]{1,60}(?:=\S{1,200})?")
_ASSIGNED = re.compile(r"\$?(?P<key>[A-Za-z][\w.-]{1,80})=(?P<value>\S{1,200})")
_PLAIN_NUMBER = re.compile(r"[-+]?\d[\d.,_]{0,20}(?:[a-zA-Z%]{0,4})")
_SYMBOL = re.compile(
    r"(?:[A-Za-z_]\w{1,80}(?:(?:\.|::|->)[A-Za-z_]\w{1,80}){1,8}"
    r"|_{0,2}[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,10}_{0,2}"
    r"|[a-z]{1,40}[a-z0-9]{0,20}(?:[A-Z][a-z0-9]{1,40}){1,8}|(?:[A-Z][a-z0-9]{1,40}){2,8}"
    r"|_[a-z]\w{2,80})(?:\(\))?"
)
_SEGMENT = re.compile(r"[\w.@+~ %-]{1,255}")
_NUMBER = re.compile(
    r"(?<![\w.,#/-])(?:(?P<key>[A-Za-z_][\w.-]{1,60})(?P<mark> ?= ?|: ?))?"
    r"(?P<number>[-+]?\d{1,15}(?:[.,_]\d{1,12}){0,4})(?: ?(?P<unit>(?i:"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")))?(?![\w/])"
)


def find_words(text: str) -> Iterator[Span]:
    """Spans of one-word identifiers of `text`, in order and apart; each word counts as the first class it fits."""
    for match in _WORD.finditer(text):
        word = match[0]
        if len(word) > MAX_WORD or _TELLING.search(word) is None:
            continue
        start = match.start()
        trimmed = word.lstrip(":=-" if not word.startswith("--") else "")
        start += len(word) - len(trimmed)
        trimmed = trimmed.rstrip(TRAILING + "=-")
        if text[start + len(trimmed) : start + len(trimmed) + 2] == "()":
            trimmed += "()"
        kind = classify(trimmed)
        if kind is None and "=" in trimmed:
            yield from _sides(trimmed, start)
        elif kind is not None:
            yield kind, start, start + len(trimmed)


def _sides(word: str, start: int) -> Iterator[Span]:
    # `key=path` is two identifiers where neither side alone makes the whole one.
    key, _, value = word.partition("=")
    value = value.rstrip(TRAILING)
    for part, at in ((key, start), (value, start + len(key) + 1)):
        kind = classify(part)
        if kind is not None:
            yield kind, at, at + len(part)


@lru_cache(maxsize=16_384)  # texts of one session say the same words again and again; a word ends at 400 characters
def classify(word: str) -> IdentifierKind | None:
    """The class of one word, or None."""
    if _URL.fullmatch(word):
        return "url"
    if _UUID.fullmatch(word) or _HEX.fullmatch(word) or _TOOL_ID.fullmatch(word) or _TICKET.fullmatch(word):
        return "error" if _CODE.fullmatch(word) else "hash"
    if _IPV4.fullmatch(word):
        return "url"
    if _PINNED.fullmatch(word) or _VERSION.fullmatch(word):
        return "version"
    if _CODE.fullmatch(word) or _EXCEPTION.fullmatch(word):
        return "error"
    if _OPTION.fullmatch(word) or _ENV.fullmatch(word):
        return "key"
    if _is_host(word):
        return "url"
    if is_path(word):
        return "path"
    assigned = _ASSIGNED.fullmatch(word)
    if assigned and _ENV.fullmatch(assigned["key"]) and not _PLAIN_NUMBER.fullmatch(assigned["value"]):
        return "key" if classify(assigned["value"]) is None else None
    if _SYMBOL.fullmatch(word) and word not in EVERYDAY:
        return "symbol"
    return None


def _is_host(word: str) -> bool:
    host = _HOST.fullmatch(word)
    if host:
        name = word[: host.start("port")]
        return ("." in name and name.rpartition(".")[2] not in EXTENSIONS) or name == "localhost"
    domain = _DOMAIN.fullmatch(word)
    return domain is not None and domain["top"] in TOP_DOMAINS


def is_path(word: str) -> bool:
    """Whether a word is a file path: rooted, with a known ending, or of folders that look like folders."""
    bare = re.sub(r"(?::\d{1,7}){1,2}$|#L\d{1,7}$|::[\w:.\[\]-]{1,200}$", "", word)
    if re.match(r"[A-Za-z]:\\\w", bare):
        return True
    name = bare.rstrip("/").rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    is_file = (bool(dot) and bool(stem) and ending in EXTENSIONS) or name in BARE_FILES
    parts = [part for part in bare.split("/") if part not in ("", ".", "..", "~")]
    if not parts or not all(_SEGMENT.fullmatch(part) for part in parts):
        return False
    if "/" not in bare:
        return is_file and not stem.isdigit()
    if bare.startswith(("./", "../", "~/")) or is_file:
        return True
    if bare.startswith("/"):
        return len(parts) > 1 or parts[0] in ROOT_FOLDERS
    letters = any(any(char.isalpha() for char in part) for part in parts)
    return letters and (parts[0] in TOP_FOLDERS or bare.endswith("/") or (len(parts) > 2 and "." not in parts[0]))


def find_numbers(text: str) -> Iterator[Span]:
    """Spans of numbers that carry a unit or a key."""
    for match in _NUMBER.finditer(text):
        if match["unit"] is not None or match["key"] is not None:
            yield "number", match.start(), match.end()
