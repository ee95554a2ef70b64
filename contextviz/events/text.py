"""Texts by content: every text is kept once, and everything else refers to it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import field
from typing import Protocol

from contextviz.events.frozen import frozen

HANDLE_LENGTH = 24
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
NUL = "\x00"


@frozen
class TextRef:
    """A text by its content: SHA-256 of its UTF-8 bytes, sizes, and its estimated tokens.

    `estimated_tokens` is by the estimator of the pool that made the reference (`TextPool.estimator`). It follows
    from the text, so it says nothing about which text this is: references are equal whatever it holds.
    """

    digest: bytes
    chars: int
    size: int
    estimated_tokens: int = field(compare=False)

    @property
    def sha256(self) -> str:
        """The whole hash as 64 hex digits."""
        return self.digest.hex()

    @property
    def handle(self) -> str:
        """The first 24 hex digits: the handle that flowctx writes in its markers (design section 2)."""
        return self.digest.hex()[:HANDLE_LENGTH]


def note_estimate(ref: TextRef, tokens: int) -> None:
    """Fill in what a batch count gave. Only for the pool that made `ref`, before it hands out what was read."""
    object.__setattr__(ref, "estimated_tokens", tokens)


class TextPool(Protocol):
    """Where texts are put while a transcript is read, and taken from while questions are answered."""

    @property
    def estimator(self) -> str:
        """The id of the estimator that counts tokens here."""
        ...

    def put(self, text: str) -> TextRef:
        """Keep `text` (sanitised first) and return its reference; the same text gives an equal reference."""
        ...

    def get(self, ref: TextRef) -> str:
        """Return the text behind `ref`; raises KeyError where this pool never held it."""
        ...


def sanitised(text: str) -> tuple[str, int]:
    """`text` with each lone surrogate as U+FFFD, and how many there were (formats.md section 0.1)."""
    if text.isascii() or LONE_SURROGATE.search(text) is None:
        return text, 0
    return LONE_SURROGATE.subn("\ufffd", text)


def storable(text: str) -> tuple[str, bytes]:
    """`text` as it is kept, NUL and lone surrogates as U+FFFD, with its UTF-8 bytes (encoded once for all uses)."""
    good = text.replace(NUL, "\ufffd") if NUL in text else text
    try:
        return good, good.encode()
    except UnicodeEncodeError:
        good, _ = sanitised(good)
        return good, good.encode()


def digest_of(text: str) -> bytes:
    """SHA-256 of the UTF-8 bytes of a sanitised text."""
    return hashlib.sha256(text.encode("utf-8")).digest()
