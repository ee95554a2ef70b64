"""Uploads reach their view while they arrive.

Django's ASGI handler spools a whole body before a view runs: a file over the limit would fill the disk first, and a
server killed in the middle would remember nothing. For the addresses of STREAMED the body is handed on unread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.core.handlers.asgi import ASGIHandler

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

STREAMED = ("/upload/", "/api/v1/uploads")
STALLED_SECONDS = 120.0


class IncomingBody:
    """A request's body as a file that is read in the view's thread while the server's loop receives it.

    Reading raises OSError when the sender is gone, or says nothing for two minutes.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._rest = b""
        self._is_gone = False

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (all that are left without one), b"" at the end."""
        if size < 0:
            parts = [self._rest]
            self._rest = b""
            while part := self._more():
                parts.append(part)
            return b"".join(parts)
        if not self._rest:
            self._rest = self._more()
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def close(self) -> None:
        """Nothing to let go of; what was not read is dropped by the server."""

    async def after(self) -> Message:
        """What the server receives once the body has been read: Django waits here for a disconnect."""
        await self._ended.wait()
        return await self._receive()

    def _more(self) -> bytes:
        while not self._ended.is_set():
            coming = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
            try:
                part = coming.result(STALLED_SECONDS)
            except TimeoutError:
                coming.cancel()
                raise OSError("the sender stalled") from None
            if part:
                return part
        if self._is_gone:
            raise OSError("the sender is gone")
        return b""

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._is_gone = True
            self._ended.set()
            return b""
        if not message.get("more_body", False):
            self._ended.set()
        body: bytes = message.get("body", b"")
        return body


class StreamingASGIHandler(ASGIHandler):
    """Django's handler, with the bodies of uploads unread."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        if scope["method"] == "POST" and scope["path"] in STREAMED:
            receive = IncomingBody(receive).after
        await super().handle(scope, receive, send)

    async def read_body(self, receive: Any) -> Any:
        """The body as a file: spooled as Django does it, or as it comes."""
        body = getattr(receive, "__self__", None)
        if isinstance(body, IncomingBody):
            return body
        return await super().read_body(receive)
