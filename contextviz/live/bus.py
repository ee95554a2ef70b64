"""The feed's bell: one task of a server process looks for new rows, and wakes every stream that listens.

On SQLite a counter of the file says that something was committed; in scale-out a message over Redis does, and a slow
look now and then makes good for one that was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.db import connection

from contextviz.live import shutdown
from contextviz.live.bell import Bell
from contextviz.store.queries.live import live_bounds

logger = logging.getLogger("contextviz.live")
MOST_STREAMS = 400
CLOSED = -1


class Bus:
    """Tells the streams of one event loop the newest number of the feed. Runs while anybody listens."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queues: set[asyncio.Queue[int]] = set()
        self._newest = 0
        self._watcher: asyncio.Task[None] | None = None
        shutdown.register(self.close)

    @property
    def is_full(self) -> bool:
        """Whether MOST_STREAMS listen."""
        return len(self._queues) >= MOST_STREAMS

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[asyncio.Queue[int]]:
        """Numbers of newest rows as they come, CLOSED at the end; a slow reader is told the last one alone."""
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
        self._queues.add(queue)
        if self._watcher is None or self._watcher.done():
            # A context of its own: a request's ends with the request, and its thread with it.
            self._watcher = self._loop.create_task(self._watch(), context=contextvars.Context())
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End every stream; called from a signal handler, or from another thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        for queue in self._queues:
            _put(queue, CLOSED)

    async def _watch(self) -> None:
        bell = Bell()
        try:
            while self._queues:
                try:
                    if await bell.rings():
                        await self._look()
                except Exception:
                    logger.exception("the feed could not be watched; trying again")
                    await asyncio.sleep(2)
        finally:
            await bell.close()

    async def _look(self) -> None:
        newest = await _read_newest()
        if newest != self._newest:
            self._newest = newest
            for queue in self._queues:
                _put(queue, newest)


def _put(queue: asyncio.Queue[int], number: int) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(number)


@sync_to_async
def _read_newest() -> int:
    try:
        return live_bounds()[1]
    finally:
        connection.close()


_buses: WeakKeyDictionary[asyncio.AbstractEventLoop, Bus] = WeakKeyDictionary()


def bus() -> Bus:
    """The bus of the running loop; a server has one."""
    loop = asyncio.get_running_loop()
    found = _buses.get(loop)
    if found is None:
        found = _buses[loop] = Bus()
    return found
