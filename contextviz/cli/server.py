"""The ASGI server: uvicorn, started from Python so that open event streams end when it is told to stop."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from django.conf import settings
from django.utils.module_loading import import_string

STREAM_GRACE_SECONDS = 3


class Server(uvicorn.Server):
    """Tells the streams to end at the first signal; reports when it answers."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._end_streams: Callable[[], None] = import_string(settings.SHUTDOWN_HOOK)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._end_streams()
        super().handle_exit(sig, frame)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, so that clean-up runs; at the end neither signal can cut that short.

    uvicorn raises the signal again once it has stopped, so without this SIGTERM would end the process before the
    worker is ended.
    """
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def serve(listener: socket.socket, *, on_ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then return. `on_ready` is called once requests are answered."""
    config = uvicorn.Config(
        settings.ASGI_APPLICATION.replace(".application", ":application"),
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=STREAM_GRACE_SECONDS,
    )

    with contextlib.suppress(KeyboardInterrupt):
        Server(config, on_ready=on_ready).run(sockets=[listener])
