"""Bodies that may be packed: read as they come, never more of them than is allowed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

UNZIP_BYTES = 1 << 20


class BadBody(Exception):
    """The body cannot be taken; the text is a sentence, `status` HTTP's word for it."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


def unpacked_chunks(chunks: Iterable[bytes], encoding: str, *, most: int, too_large: str) -> Iterator[bytes]:
    """The body's bytes, unpacked where `encoding` is gzip, in parts of at most a MiB. Raises BadBody where it is
    packed otherwise, damaged, cut off, or larger than `most` (with the sentence `too_large`)."""
    word = encoding.strip().lower()
    if word not in ("", "identity", "gzip"):
        raise BadBody(f"The content encoding {word[:40]} is not known here; send gzip or none.", 415)
    unpacker = zlib.decompressobj(wbits=31) if word == "gzip" else None
    size = 0
    for chunk in chunks:
        for part in _parts(unpacker, chunk) if unpacker else (chunk,):
            size += len(part)
            if size > most:
                raise BadBody(too_large, 413)
            yield part
    if unpacker is not None and not unpacker.eof:
        raise BadBody("The gzip body ends too early. Send it again.")


def _parts(unpacker: Any, chunk: bytes) -> Iterator[bytes]:
    try:
        while chunk:
            yield unpacker.decompress(chunk, UNZIP_BYTES)
            chunk = unpacker.unconsumed_tail
    except zlib.error:
        raise BadBody("The body is not gzip, though its content encoding says so.") from None
