"""The parts of a multipart form, one after another while they arrive: nothing is held, nothing is spooled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.http import HttpRequest, UnreadablePostError
from django.http.multipartparser import FIELD, FILE, ChunkIter, LazyStream, MultiPartParserError, Parser
from django.utils.http import parse_header_parameters

from contextviz.commands import command

READ_BYTES = 256 * 1024
MOST_FIELD_BYTES = 8192
MOST_PARTS = 5000
RENAME = f"Rename the file and send it again, or run {command('import PATH')}."
MOST_AFTER_END = 1024  # bytes that may follow a form's last line


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

    Reading raises UnreadablePostError when the sender is gone, and for a form that ends without its last line: the
    file it ends in may lack its rest.
    """
    kind, options = parse_header_parameters(request.META.get("CONTENT_TYPE", ""))
    boundary = options.get("boundary", "")
    if kind != "multipart/form-data" or not boundary or len(boundary) > 200 or not boundary.isascii():
        raise NotAForm("This is not a form with files. Choose the files on the Library page.")
    body_of = _Watched(request, f"--{boundary}--".encode("ascii"))
    stream = LazyStream(ChunkIter(body_of, READ_BYTES))  # type: ignore[arg-type]  # it reads, and nothing else
    try:
        for number, (part, headers, body) in enumerate(Parser(stream, boundary.encode("ascii")), start=1):
            if number > MOST_PARTS:
                raise NotAForm(f"More than {MOST_PARTS:,} files at once. Send fewer, or run {command('import PATH')}.")
            named = headers.get("content-disposition", ("", {}))[1]
            name = _text(named.get("name"))
            if part == FILE:
                yield FilePart(name, _text(named.get("filename")), body_of.checked(body))
            elif part == FIELD:
                yield FieldPart(name, body.read(MOST_FIELD_BYTES).decode("utf-8", errors="replace"))
            elif headers:  # with a type, but without a name that could be read
                raise NotAForm(
                    f"The name of a file is not UTF-8, so neither it nor what came after it was kept. {RENAME}"
                )
            for _ in body:  # what the caller left of it
                pass
    except MultiPartParserError as error:
        if "header size" in str(error):
            raise NotAForm(
                f"The name of a file is longer than 1,000 bytes, more than a form may say. {RENAME}"
            ) from error
        raise NotAForm("The form could not be read. Choose the files again.") from error


class _Watched:
    """A request's body that remembers its last bytes."""

    def __init__(self, request: HttpRequest, end_mark: bytes) -> None:
        self._request = request
        self._end_mark = end_mark
        self._last = b""
        self._has_ended = False

    def read(self, size: int) -> bytes:
        """The next bytes, none at the end."""
        data: bytes = self._request.read(size)
        self._has_ended = not data
        self._last = (self._last + data)[-MOST_AFTER_END - len(self._end_mark) :]
        return data

    def checked(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """A file's bytes. Without the form's last line they would go on to the end of the body, unnoticed."""
        yield from chunks
        if self._has_ended and self._end_mark not in self._last:
            raise UnreadablePostError("the form ends before its last line")


def _text(value: bytes | str | None) -> str:
    return value if isinstance(value, str) else (value or b"").decode("utf-8", errors="replace")
