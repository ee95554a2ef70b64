"""Somebody who listens to /live/stream over a real connection, and comes back as a browser does."""

from __future__ import annotations

import json
import threading
import time
from http.client import HTTPConnection, HTTPException


class Listener:
    """Reads the feed in a thread, and comes back with the last id it had. `rows` are the numbers it was told of."""

    def __init__(self, port: int, cookie: str, after: int) -> None:
        self.rows: list[int] = []
        self.resyncs = self.connects = 0
        self._port, self._cookie, self._last = port, cookie, after
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no longer."""
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stop.is_set():
            connection = HTTPConnection("127.0.0.1", self._port, timeout=2)
            try:
                self._listen(connection)
            except (OSError, HTTPException, ValueError):
                time.sleep(0.1)
            finally:
                connection.close()

    def _listen(self, connection: HTTPConnection) -> None:
        headers = {"cookie": self._cookie, "Last-Event-ID": str(self._last)}
        connection.request("GET", "/live/stream", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise ValueError(response.status)
        self.connects += 1
        number, name = self._last, ""
        while not self._stop.is_set():
            line = response.readline()
            if not line:
                return
            field, _, value = line.decode().strip().partition(": ")
            if field == "id":
                number = int(value)
            elif field == "event":
                name = value
            elif field == "data":
                self.resyncs += name == "resync"
                self.rows.extend(row["id"] for row in json.loads(value))
                self._last = number
