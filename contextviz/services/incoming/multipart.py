"""The parts of a multipart form, one after another while they arrive: nothing is held, nothing is spooled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest
from django.http.multipartparser import FIELD, FILE, ChunkIter, LazyStream, MultiPartParserError, Parser
from django.utils.http import parse_header_parameters

READ_BYTES = 256 * 1024
MOST_FIELD_BYTES = 8192
MOST_PARTS = 5000


class NotAForm(Exception):
    """The request is not a form with files; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class FieldPart:
    """A field with its value, at most 8 KB of it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file: `name` of the field, `filename` as the sender wrote it (hostile), `chunks` its bytes, to be read once."""

    name: str
    filename: str
    chunks: Iterator[bytes]


def parts(request: HttpRequest) -> Iterator[FieldPart | FilePart]:
    """Each part of the form in order; a file's bytes that were not read are skipped. Raises NotAForm.

    Reading raises UnreadablePostError when the sender is gone.
    """
    kind, options = parse_header_parameters(request.META.get("CONTENT_TYPE", ""))
    boundary = options.get("boundary", "")
    if kind != "multipart/form-data" or not boundary or len(boundary) > 200 or not boundary.isascii():
        raise NotAForm("This is not a form with files. Choose the files on the Library page.")
    stream = LazyStream(ChunkIter(request, READ_BYTES))
    try:
        for number, (part, headers, body) in enumerate(Parser(stream, boundary.encode("ascii")), start=1):
            if number > MOST_PARTS:
                raise NotAForm(f"More than {MOST_PARTS:,} files at once. Send fewer, or run contextviz import PATH.")
            named = headers.get("content-disposition", ("", {}))[1]
            name = _text(named.get("name"))
            if part == FILE:
                yield FilePart(name, _text(named.get("filename")), iter(body))
            elif part == FIELD:
                yield FieldPart(name, body.read(MOST_FIELD_BYTES).decode("utf-8", errors="replace"))
            for _ in body:  # what the caller left of it
                pass
    except MultiPartParserError as error:
        raise NotAForm("The form could not be read. Choose the files again.") from error


def _text(value: bytes | str | None) -> str:
    return value if isinstance(value, str) else (value or b"").decode("utf-8", errors="replace")
