"""`key=value` words and `A -> B` numbers of a log line, bounded."""

from __future__ import annotations

import re

from contextviz.events.engine_event import Scalar

MOST_PAIRS = 40
VALUE_CHARS = 300
_PAIR = re.compile(r"(?<![\w.])([A-Za-z_][\w.]{0,60})=(\"[^\"]{0,300}\"|[^\s,()]{1,300})")
_CHANGE = re.compile(r"~?(\d{1,12})\s?(?:->|→)\s?~?(\d{1,12})")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?\Z")
_MILLISECONDS = re.compile(r"(\d{1,12})ms\Z")


def pairs_of(text: str) -> dict[str, Scalar]:
    """The first 40 `key=value` words of a line: numbers as numbers (`12ms` as 12), true and false as such."""
    found: dict[str, Scalar] = {}
    for match in _PAIR.finditer(text):
        if len(found) == MOST_PAIRS:
            break
        found.setdefault(match.group(1), value_of(match.group(2)))
    return found


def value_of(word: str) -> Scalar:
    """A word of a log as a value; `null`, `none` and `unset` are None."""
    text = word.strip('"').rstrip(".;")[:VALUE_CHARS]
    if text.lower() in ("null", "none", "undefined", "unset"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.match(text):
        return float(text) if "." in text else int(text)
    took = _MILLISECONDS.match(text)
    return int(took.group(1)) if took is not None else text


def change_of(text: str) -> tuple[int, int] | None:
    """The first `A -> B` of a line."""
    found = _CHANGE.search(text)
    return None if found is None else (int(found.group(1)), int(found.group(2)))
