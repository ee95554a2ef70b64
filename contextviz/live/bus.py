"""The feed's bell: one task of a server process looks for new rows, and wakes every stream that listens.

On SQLite a counter of the file says that something was committed; in scale-out a message over Redis does, and a slow
look now and then makes good for one that was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.db import connection

from contextviz.live.watcher import Waiting, Watcher, put
from contextviz.store.queries.live import live_bounds

MOST_STREAMS = 400


class Bus(Watcher):
    """Tells the streams of one event loop the newest number of the feed. Runs while anybody listens."""

    def __init__(self) -> None:
        super().__init__()
        self._queues: set[Waiting] = set()
        self._newest = 0

    @property
    def is_full(self) -> bool:
        """Whether MOST_STREAMS listen."""
        return len(self._queues) >= MOST_STREAMS

    @contextlib.asynccontextmanager
    async def listen(self) -> AsyncIterator[Waiting]:
        """Numbers of newest rows as they come, CLOSED at the end; a slow reader is told the last one alone."""
        queue: Waiting = asyncio.Queue(maxsize=1)
        self._queues.add(queue)
        self.start()
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def waiting(self) -> Iterable[Waiting]:
        """See Watcher.waiting."""
        return self._queues

    async def look(self) -> None:
        """See Watcher.look."""
        newest = await _read_newest()
        if newest != self._newest:
            self._newest = newest
            for queue in self._queues:
                put(queue, newest)


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
