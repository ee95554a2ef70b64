"""What every table asks of values from transcripts: bounded and cleaned text (their words are hostile: NUL, half
surrogates, megabyte ids), numbers within 64 bits. Rows are written in store.columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from contextviz.events.text import sanitised

BIGGEST = 2**63 - 1
Item = TypeVar("Item")


def clean(value: str | None) -> str:
    """Text that every database takes: no NUL, no half surrogates; None is empty."""
    if not value:
        return ""
    good = value.replace("\x00", "\ufffd") if "\x00" in value else value
    return sanitised(good)[0]


def bounded(value: str | None, limit: int) -> str:
    """Clean text of at most `limit` characters; what is cut is told apart by a piece of its hash."""
    text = clean(value)
    if len(text) <= limit:
        return text
    mark = "…" + hashlib.sha256(text.encode()).hexdigest()[:12]
    return text[: limit - len(mark)] + mark


def clean_deep(value: Any) -> Any:
    """`value` (of JSON's kinds) with every string cleaned and every number within 64 bits."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_deep(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean_deep(item) for item in value]
    if isinstance(value, int) and not -BIGGEST <= value <= BIGGEST:
        return BIGGEST if value > 0 else -BIGGEST
    return value


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """`items` in lists of at most `size`."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
