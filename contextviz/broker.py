"""The embedded message broker: a kombu transport over one SQLite file.

The stock transports without a server lose messages when a worker dies or the machine is busy; this one does not.
A message is a row. Consuming it is one UPDATE that writes the consumer's identity into the row, acknowledging it is
one DELETE, and a row whose consumer no longer runs is free again. Delivery is therefore at least once, and messages
survive the death of every process. It serves the processes of one machine (identities are process ids); several
machines need Redis. There is no fanout, so workers run without gossip, mingle and remote control.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import virtual
from kombu.utils.json import dumps, loads

SCHEMA = """
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    tag TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    owner TEXT
);
CREATE INDEX IF NOT EXISTS message_waiting ON message (queue, id) WHERE owner IS NULL;
CREATE INDEX IF NOT EXISTS message_claimed ON message (owner) WHERE owner IS NOT NULL;
"""
BUSY_SECONDS = 20.0
SWEEP_SECONDS = 2.0  # how often a consumer looks for rows of dead owners
LONGEST_DRAIN_SECONDS = 0.5  # so that a worker told to stop notices within half a second


def process_identity(pid: int) -> str | None:
    """A name for a running process that a later one with the same id will not have; None when it does not run."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
        return _identity_without_proc(pid)
    except OSError:
        return None
    # The command's name may hold blanks and parentheses, so fields are counted after the last one.
    fields = stat.rpartition(")")[2].split()
    state, started_ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{pid}:{started_ticks}"


def _identity_without_proc(pid: int) -> str | None:
    found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    started = found.stdout.strip()
    return f"{pid}:{started}" if started else None


class MessageFile:
    """The broker's table in one SQLite file. Safe to share between threads, and to keep across a fork."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connections = threading.local()

    def _connection(self) -> sqlite3.Connection:
        # SQLite connections must not cross a fork, so each belongs to a thread of a process.
        if getattr(self._connections, "pid", None) != os.getpid():
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(SCHEMA)
            self._connections.pid = os.getpid()
            self._connections.connection = connection
            self._connections.owner = process_identity(os.getpid())
        opened: sqlite3.Connection = self._connections.connection
        return opened

    def close(self) -> None:
        """Close this thread's connection; using the object again opens another."""
        if getattr(self._connections, "pid", None) == os.getpid():
            self._connections.connection.close()
            self._connections.pid = None

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def put(self, queue: str, tag: str, body: str) -> None:
        """Add a message; one that is already there under the same tag is left as it is."""
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO message (queue, tag, body) VALUES (?, ?, ?)", (queue, tag, body))

    def claim(self, queue: str) -> str | None:
        """Take the oldest waiting message for this process; its body, or None when none waits."""
        connection = self._connection()
        # A read first: an idle worker then takes no write lock twenty times a second.
        if not connection.execute(
            "SELECT 1 FROM message WHERE queue = ? AND owner IS NULL LIMIT 1", (queue,)
        ).fetchone():
            return None
        with self._writing():
            row = connection.execute(
                "UPDATE message SET owner = ? WHERE id ="
                " (SELECT id FROM message WHERE queue = ? AND owner IS NULL ORDER BY id LIMIT 1) RETURNING body",
                (self._connections.owner, queue),
            ).fetchone()
        return row[0] if row else None

    def done(self, tag: str) -> None:
        """Remove a message for good."""
        with self._writing() as connection:
            connection.execute("DELETE FROM message WHERE tag = ?", (tag,))

    def release(self, tag: str) -> None:
        """Put a claimed message back to its place in the queue."""
        with self._writing() as connection:
            connection.execute("UPDATE message SET owner = NULL WHERE tag = ?", (tag,))

    def free_dead(self) -> int:
        """Give back the messages of owners that no longer run; how many there were."""
        connection = self._connection()
        owners = [row[0] for row in connection.execute("SELECT DISTINCT owner FROM message WHERE owner IS NOT NULL")]
        dead = [(owner,) for owner in owners if process_identity(int(owner.split(":")[0])) != owner]
        if not dead:
            return 0
        with self._writing():
            return connection.executemany("UPDATE message SET owner = NULL WHERE owner = ?", dead).rowcount

    def size(self, queue: str) -> int:
        """How many messages wait or are being worked on."""
        row = self._connection().execute("SELECT count(*) FROM message WHERE queue = ?", (queue,)).fetchone()
        return int(row[0])

    def purge(self, queue: str) -> int:
        """Remove the waiting messages of a queue; how many there were."""
        with self._writing() as connection:
            return connection.execute("DELETE FROM message WHERE queue = ? AND owner IS NULL", (queue,)).rowcount


class Channel(virtual.Channel):
    """kombu's virtual channel, whose queues are rows of one file."""

    supports_fanout = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        client: Any = self.connection.client
        self._file = MessageFile(client.transport_options["path"])
        self._swept_at = float("-inf")

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:
        self._file.put(queue, message["properties"]["delivery_tag"], dumps(message))

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        if time.monotonic() - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = time.monotonic()
            self._file.free_dead()
        body = self._file.claim(queue)
        if body is None:
            raise Empty
        message: dict[str, Any] = loads(body)
        return message

    def _restore(self, message: Any) -> None:
        # kombu would publish a copy; here the row itself is given back, so it can neither double nor vanish between.
        self._file.release(message.delivery_tag)

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        self._file.done(delivery_tag)
        super().basic_ack(delivery_tag, multiple)

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not requeue:
            self._file.done(delivery_tag)
        super().basic_reject(delivery_tag, requeue)

    def _size(self, queue: str) -> int:
        return self._file.size(queue)

    def _purge(self, queue: str) -> int:
        return self._file.purge(queue)

    def _has_queue(self, queue: str, **_: Any) -> bool:
        return True

    def close(self) -> None:
        super().close()
        self._file.close()


class Transport(virtual.Transport):
    """The transport behind `ctxsqlite://`; the option `path` names the file."""

    Channel = Channel
    polling_interval = 0.05
    default_port = None
    can_parse_url = False
    driver_type = "sqlite"
    driver_name = "sqlite3"
    connection_errors = (sqlite3.OperationalError, OSError)
    implements = virtual.Transport.implements.extend(asynchronous=False, exchange_type=frozenset(["direct"]))

    def driver_version(self) -> str:
        return sqlite3.sqlite_version

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver one message, or raise a timeout after half a second at most."""
        limit = LONGEST_DRAIN_SECONDS if timeout is None else min(timeout, LONGEST_DRAIN_SECONDS)
        deadline = time.monotonic() + limit
        cycle: Any = self.cycle
        while True:
            try:
                cycle.get(self._deliver, timeout=limit)
                return
            except Empty:
                if time.monotonic() >= deadline:
                    raise TimeoutError from None
                time.sleep(min(self.polling_interval, limit))
