"""Who waits for which session to change: one watcher for all streams of a process, however many there are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from itertools import chain
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async
from django.db import connection

from contextviz.live.watcher import Waiting, Watcher, put
from contextviz.store.queries import sessions

MOST_STREAMS = 200
GONE = 0  # the revision of a session that is not there


class Hub(Watcher):
    """Tells the streams of one event loop when their sessions change. The watcher runs while anybody listens."""

    def __init__(self) -> None:
        super().__init__()
        self._queues: dict[int, set[Waiting]] = {}
        self._known: dict[int, int] = {}

    @contextlib.asynccontextmanager
    async def listen(self, session_id: int) -> AsyncIterator[Waiting]:
        """Revisions of a session as they come, CLOSED at the end; only the newest is kept for a slow reader."""
        queue: Waiting = asyncio.Queue(maxsize=1)
        self._queues.setdefault(session_id, set()).add(queue)
        self.start()
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

    def waiting(self) -> Iterable[Waiting]:
        """See Watcher.waiting."""
        return chain.from_iterable(self._queues.values())

    def has_fresh(self) -> bool:
        """Whether a session has been asked for that was never looked at."""
        return bool(self._queues.keys() - self._known.keys())

    async def look(self) -> None:
        """See Watcher.look."""
        wanted = set(self._queues)
        revisions = await read_revisions(wanted)
        for session_id in wanted:
            revision = revisions.get(session_id, GONE)
            before = self._known.get(session_id)
            if session_id in self._queues:
                self._known[session_id] = revision
            if before != revision:  # also at the first look: something may have changed since the stream began
                for queue in self._queues.get(session_id, ()):
                    put(queue, revision)


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
