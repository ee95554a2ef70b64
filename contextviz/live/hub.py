"""Who waits for which session to change: one watcher for all streams of a process, however many there are."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import AsyncIterator, Iterable
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.db import connection

from contextviz.live import shutdown
from contextviz.live.bell import Bell
from contextviz.store.queries import sessions

logger = logging.getLogger("contextviz.live")
MOST_STREAMS = 200
CLOSED = -1  # what a stream is told when the server ends
GONE = 0  # the revision of a session that is not there


class Hub:
    """Tells the streams of one event loop when their sessions change. The watcher runs while anybody listens."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queues: dict[int, set[asyncio.Queue[int]]] = {}
        self._known: dict[int, int] = {}
        self._watcher: asyncio.Task[None] | None = None
        shutdown.register(self.close)

    @contextlib.asynccontextmanager
    async def listen(self, session_id: int) -> AsyncIterator[asyncio.Queue[int]]:
        """Revisions of a session as they come, CLOSED at the end; only the newest is kept for a slow reader."""
        queue: asyncio.Queue[int] = asyncio.Queue(maxsize=1)
        self._queues.setdefault(session_id, set()).add(queue)
        if self._watcher is None or self._watcher.done():
            # A context of its own: a request's ends with the request, and its thread with it.
            self._watcher = self._loop.create_task(self._watch(), context=contextvars.Context())
        try:
            yield queue
        finally:
            waiting = self._queues.get(session_id, set())
            waiting.discard(queue)
            if not waiting:
                self._queues.pop(session_id, None)
                self._known.pop(session_id, None)

    @property
    def is_full(self) -> bool:
        """Whether MOST_STREAMS listen; each holds a thread of the server."""
        return sum(map(len, self._queues.values())) >= MOST_STREAMS

    def close(self) -> None:
        """End every stream; called from a signal handler, or from another thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        for queues in self._queues.values():
            for queue in queues:
                _put(queue, CLOSED)

    async def _watch(self) -> None:
        bell = Bell()
        try:
            while self._queues:
                try:
                    if await bell.rings() or self._queues.keys() - self._known.keys():
                        await self._look()
                except Exception:
                    logger.exception("sessions could not be watched; trying again")
                    await asyncio.sleep(2)
        finally:
            await bell.close()

    async def _look(self) -> None:
        wanted = set(self._queues)
        revisions = await read_revisions(wanted)
        for session_id in wanted:
            revision = revisions.get(session_id, GONE)
            before = self._known.get(session_id)
            if session_id in self._queues:
                self._known[session_id] = revision
            if before != revision:  # also at the first look: something may have changed since the stream began
                for queue in self._queues.get(session_id, ()):
                    _put(queue, revision)


def _put(queue: asyncio.Queue[int], revision: int) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(revision)


@sync_to_async
def read_revisions(session_ids: Iterable[int]) -> dict[int, int]:
    """The revisions of those sessions that are there. One query."""
    try:
        return {row.id: row.revision for row in sessions.find_sessions(sorted(session_ids))}
    finally:
        connection.close()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running loop; a server has one."""
    loop = asyncio.get_running_loop()
    found = _hubs.get(loop)
    if found is None:
        found = _hubs[loop] = Hub()
    return found
