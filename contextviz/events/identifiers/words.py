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
# One word of interest has a sign or a hump in it, or a digit among letters. What is plain prose or a mere number up to
# the next word is passed over inside one match, never given back (five times quicker on prose than a match a word); the
# text's end matches, so that no search starts anew.
_APART = r"\s\"'`<>()\[\]{},;|*"
_WORD = re.compile(rf"(?:(?:[0-9]++|[A-Za-z]?+[a-z]*+)[{_APART}]++)*+([^{_APART}]{{1,4000}}|\Z)")
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
_PLACE_IN_FILE = re.compile(r"(?::\d{1,7}){1,2}$|#L\d{1,7}$|::[\w:.\[\]-]{1,200}$")
_DRIVE = re.compile(r"[A-Za-z]:\\\w")
_SEGMENT = re.compile(r"[\w.@+~ %-]{1,255}")
# A number by itself, and its key looked for from there back: begun at the key, every word of a text would be one. The
# sign or digit comes first and what may not stand before it second, since then a search runs from one to the next.
_NUMBER = re.compile(
    r"[-+\d](?<![\w.,#/-][-+\d])(?:(?<=\d)\d{0,14}|\d{1,15})(?:[.,_]\d{1,12}){0,4}(?: ?(?P<unit>(?i:"
    + "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    + r")))?(?![\w/])"
)
_KEY_OF_NUMBER = re.compile(r"(?<![\w.,#/-])[A-Za-z_][\w.-]{1,60}+(?: ?= ?|: ?)\Z")
_KEY_CHARS = 64


def find_words(text: str) -> Iterator[Span]:
    """Spans of one-word identifiers of `text`, in order and apart; each word counts as the first class it fits."""
    for match in _WORD.finditer(text):
        word = match[1]
        # The brackets of a call part words, and belong to the word before them.
        if text.startswith("()", match.end()):
            word += "()"
        found = _judged(word)
        if found:
            start = match.start(1)
            for kind, opens, ends in found:
                yield kind, start + opens, start + ends


# Texts of one session say the same words again and again. It holds the words of one text of the most that is read: a
# cache that is smaller than what is gone through in turn finds nothing at all. A word ends at 400 characters.
@lru_cache(maxsize=40_960)
def _judged(word: str) -> tuple[Span, ...]:
    """What a word is, or its sides are, with their places in it."""
    bare = word.removesuffix("()")
    if not 2 <= len(bare) <= MAX_WORD or _TELLING.search(bare) is None:
        return ()
    trimmed = bare.lstrip(":=-" if not bare.startswith("--") else "")
    start = len(bare) - len(trimmed)
    trimmed = trimmed.rstrip(TRAILING + "=-")
    if word[start + len(trimmed) :] == "()":
        trimmed += "()"
    kind = classify(trimmed)
    if kind is not None:
        return ((kind, start, start + len(trimmed)),)
    return tuple(_sides(trimmed, start)) if "=" in trimmed else ()


def _sides(word: str, start: int) -> Iterator[Span]:
    # `key=path` is two identifiers where neither side alone makes the whole one.
    key, _, value = word.partition("=")
    value = value.rstrip(TRAILING)
    for part, at in ((key, start), (value, start + len(key) + 1)):
        kind = classify(part)
        if kind is not None:
            yield kind, at, at + len(part)


@lru_cache(maxsize=4_096)
def classify(word: str) -> IdentifierKind | None:
    """The class of one word, or None. A pattern is tried only where the word has a sign that the pattern cannot do
    without: a text of paths would else cost twenty patterns a word."""
    if not word:
        return None
    if "://" in word and _URL.fullmatch(word):
        return "url"
    if _is_name_of_something(word):
        return "error" if _CODE.fullmatch(word) else "hash"
    if word[0].isdigit() and _IPV4.fullmatch(word):
        return "url"
    if _is_version(word):
        return "version"
    if _CODE.fullmatch(word) or (word.endswith(("Error", "Exception", "Warning")) and _EXCEPTION.fullmatch(word)):
        return "error"
    if (word.startswith("--") and _OPTION.fullmatch(word)) or ("_" in word and _ENV.fullmatch(word)):
        return "key"
    if _is_host(word):
        return "url"
    if is_path(word):
        return "path"
    assigned = _ASSIGNED.fullmatch(word) if "=" in word else None
    if assigned and _ENV.fullmatch(assigned["key"]) and not _PLAIN_NUMBER.fullmatch(assigned["value"]):
        return "key" if classify(assigned["value"]) is None else None
    if _SYMBOL.fullmatch(word) and word not in EVERYDAY:
        return "symbol"
    return None


def _is_name_of_something(word: str) -> bool:
    """A UUID, a hash, a tool's id or a ticket."""
    if word.isalnum():
        return _HEX.fullmatch(word) is not None
    if "-" not in word and "_" not in word and word[0] != "#":
        return False
    return any(pattern.fullmatch(word) for pattern in (_UUID, _TOOL_ID, _TICKET))


def _is_version(word: str) -> bool:
    if ("=" in word or "@" in word or "-" in word) and _PINNED.fullmatch(word):
        return True
    return (word[0] in "vV" or word[0].isdigit()) and _VERSION.fullmatch(word) is not None


def _is_host(word: str) -> bool:
    host = _HOST.fullmatch(word) if ":" in word else None
    if host:
        name = word[: host.start("port")]
        return ("." in name and name.rpartition(".")[2] not in EXTENSIONS) or name == "localhost"
    domain = _DOMAIN.fullmatch(word) if "." in word else None
    return domain is not None and domain["top"] in TOP_DOMAINS


def is_path(word: str) -> bool:
    """Whether a word is a file path: rooted, with a known ending, or of folders that look like folders."""
    bare = _PLACE_IN_FILE.sub("", word) if ":" in word or "#" in word else word
    if "\\" in bare and _DRIVE.match(bare):
        return True
    if "/" not in bare and "." not in bare and bare not in BARE_FILES:
        return False
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
    done = 0
    for match in _NUMBER.finditer(text):
        start, key = match.start(), None
        if start and text[start - 1] in " =:":
            key = _KEY_OF_NUMBER.search(text, max(done, start - _KEY_CHARS), start)
        if key is not None or match["unit"] is not None:
            yield "number", key.start() if key is not None else start, match.end()
        done = match.end()
