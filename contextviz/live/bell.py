"""Whether anything was committed since it was last asked: what streams wait for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from typing import Any
from urllib.parse import quote

import redis.asyncio
from django.conf import settings
from django.db import connection
from redis.exceptions import RedisError

from contextviz.services.live.waking import CHANNEL

logger = logging.getLogger("contextviz.live")
SQLITE_SECONDS = 0.1
SERVER_SECONDS = 0.25
# A message may be lost while Redis is away: rows are looked for now and then all the same.
SLOW_SECONDS = 2.0


class Bell:
    """Waits for the next commit that may have brought something.

    On SQLite a counter of the file says so for microseconds, over a connection that only reads. In scale-out the
    writer sends a message over Redis (services.live.waking). Without either the rows are looked for every quarter of a
    second, by one query for all streams of a process.
    """

    def __init__(self) -> None:
        self._version: Any = None
        self._file: sqlite3.Connection | None = None
        self._redis: redis.asyncio.Redis | None = None
        self._messages: Any = None
        if connection.vendor == "sqlite":
            name = f"file:{quote(str(connection.settings_dict['NAME']))}?mode=ro"
            # The watcher's loop may run on any thread, but only ever on one at a time.
            with contextlib.suppress(sqlite3.Error):
                self._file = sqlite3.connect(name, uri=True, check_same_thread=False)

    async def rings(self) -> bool:
        """Wait a moment; whether to look."""
        if self._file is not None:
            await asyncio.sleep(SQLITE_SECONDS)
            version = self._file.execute("PRAGMA data_version").fetchone()
            changed: bool = version != self._version
            self._version = version
            return changed
        if settings.REDIS_URL:
            return await self._from_redis()
        await asyncio.sleep(SERVER_SECONDS)
        return True

    async def _from_redis(self) -> bool:
        try:
            if self._messages is None:
                self._redis = redis.asyncio.Redis.from_url(settings.REDIS_URL)
                self._messages = self._redis.pubsub(ignore_subscribe_messages=True)
                await self._messages.subscribe(CHANNEL)
                return True  # what came before it listened
            await self._messages.get_message(timeout=SLOW_SECONDS)
            return True
        except (RedisError, OSError):
            await self.close()
            await asyncio.sleep(SERVER_SECONDS)
            return True

    async def close(self) -> None:
        """Let go of the file and of the connection."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._redis is not None:
            with contextlib.suppress(RedisError, OSError):
                await self._redis.aclose()
            self._redis = self._messages = None
