"""Answers that are no page: go there, download this."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header, url_has_allowed_host_and_scheme

from contextviz.events.masking import MOST_LOOKED_AT, may_hold_secrets
from contextviz.services.accounts.audit import note
from contextviz.store.values import NotAllowed
from contextviz.store.viewing import current_viewer

CHUNK_BYTES = 256 * 1024
MAY_UNMASK = ("operator", "admin", "system")
REFUSED = (
    "A download holds every value as it is, and this one has values that look like secrets, or is too large to look "
    "through. Ask an operator or an admin."
)


def see_other(url: str) -> HttpResponse:
    """After a successful POST: look there (303)."""
    response = HttpResponse(status=303)
    response["Location"] = url
    return response


def safe_next(request: HttpRequest, url: str | None, fallback: str) -> str:
    """`url` when it leads into this site, else `fallback`: nobody is sent elsewhere by a link."""
    inside = url_has_allowed_host_and_scheme(url or "", {request.get_host()}, require_https=request.is_secure())
    # A browser drops line ends and tabs, so they could hide where an address leads; a header takes none.
    return url if url and inside and url.startswith("/") and url.isprintable() else fallback


def leave(data: bytes, target: str) -> None:
    """Let a download go; `target` says what it is. Raises NotAllowed where its values are not for this person."""
    _let_go(target, may_hold=may_hold_secrets(data))


def leave_file(path: Path, target: str) -> None:
    """The same for a file, which is read only where it is small."""
    is_large = path.stat().st_size > MOST_LOOKED_AT
    _let_go(target, may_hold=is_large or may_hold_secrets(path.read_bytes()))


def _let_go(target: str, *, may_hold: bool) -> None:
    if not may_hold:
        return
    if current_viewer().role not in MAY_UNMASK:
        raise NotAllowed(REFUSED)
    note("secret_unmasked", target=f"download of {target}")


def file_download(request: HttpRequest, path: Path, name: str) -> StreamingHttpResponse:
    """A file's bytes as a download that no browser interprets, whatever is in it."""
    chunks = _chunks_async(path) if isinstance(request, ASGIRequest) else _chunks(path)
    response = StreamingHttpResponse(chunks, content_type="application/octet-stream")
    plain = re.sub(r"[^\w.\- ]", "_", name.rsplit("/", 1)[-1]).strip(" .") or "transcript"
    response["Content-Disposition"] = content_disposition_header(True, plain) or "attachment"
    response["Content-Length"] = str(path.stat().st_size)
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


async def _chunks_async(path: Path) -> AsyncIterator[bytes]:
    stream = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(stream.read, CHUNK_BYTES):
            yield chunk
    finally:
        stream.close()
