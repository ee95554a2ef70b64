"""One task of a server process that looks for what is new, and the queues of those who wait for it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable

from contextviz.live import shutdown
from contextviz.live.bell import Bell

logger = logging.getLogger("contextviz.live")
CLOSED = -1  # what a stream is told when the server ends
Waiting = asyncio.Queue[int]


class Watcher(ABC):
    """Looks when the bell rings, while anybody waits. One for an event loop and matter; made inside the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        shutdown.register(self.close)

    @abstractmethod
    def waiting(self) -> Iterable[Waiting]:
        """The queues of those who wait."""

    @abstractmethod
    async def look(self) -> None:
        """See what is new, and tell it with `put`."""

    def has_fresh(self) -> bool:
        """Whether to look although the bell did not ring."""
        return False

    def start(self) -> None:
        """Run the task, unless it runs: for whoever has just begun to wait."""
        if self._task is None or self._task.done():
            # A context of its own: a request's ends with the request, and its thread with it.
            self._task = self._loop.create_task(self._watch(), context=contextvars.Context())

    def close(self) -> None:
        """End every stream; called from a signal handler, or from another thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        for queue in self.waiting():
            put(queue, CLOSED)

    async def _watch(self) -> None:
        bell = Bell()
        try:
            while any(True for _ in self.waiting()):
                try:
                    if await bell.rings() or self.has_fresh():
                        await self.look()
                except Exception:
                    logger.exception("%s could not look for what is new; trying again", type(self).__name__)
                    await asyncio.sleep(2)
        finally:
            await bell.close()


def put(queue: Waiting, number: int) -> None:
    """Tell a number; a slow reader is told the last one alone."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(number)
