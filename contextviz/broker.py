"""The embedded message broker: a kombu transport over one SQLite file.

The stock transports without a server lose messages when a worker dies or the machine is busy; this one does not.
A message is a row. Consuming it is one UPDATE that writes the consumer's identity into the row, acknowledging it is
one DELETE, and a row whose consumer no longer runs is free again. Delivery is therefore at least once, and messages
survive the death of every process. It serves the processes of one machine (identities are process ids); several
machines need Redis. There is no fanout, so workers run without gossip, mingle and remote control.

A file that is locked or whose disk is full stops nobody for good: looking for messages goes on, and what could not be
written of a message that is done with is written later. A file that was removed or replaced is opened anew.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from celery.exceptions import WorkerShutdown
from kombu.transport import virtual
from kombu.utils.json import dumps, loads

logger = logging.getLogger("contextviz.broker")
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
BUSY_SECONDS = 5.0
SWEEP_SECONDS = 2.0  # how often a consumer looks for rows of dead owners
LONGEST_DRAIN_SECONDS = 0.5  # so that a worker told to stop notices within half a second
PAUSE_SECONDS = 1.0  # after the file could not be read or written
SETTLE_SECONDS = 60.0  # how long a worker goes on while it cannot say that a message is done with
TOLD_SECONDS = 60.0  # how often at most the log says that the file cannot be used
FAILURES = (sqlite3.Error, OSError)


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


def _file_id(path: str) -> tuple[int, int] | None:
    """Which file a path leads to; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class MessageFile:
    """The broker's table in one SQLite file. Safe to share between threads, and to keep across a fork."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connections = threading.local()

    def _connection(self) -> sqlite3.Connection:
        # SQLite connections must not cross a fork, so each belongs to a thread of a process.
        if getattr(self._connections, "pid", None) == os.getpid():
            if self._connections.file == _file_id(self.path):
                held: sqlite3.Connection = self._connections.connection
                return held
            logger.warning("the broker's file was removed or replaced, it is opened anew path=%s", self.path)
            self.close()
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        opened = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            opened.execute("PRAGMA journal_mode=WAL")
            opened.execute("PRAGMA synchronous=NORMAL")
            opened.executescript(SCHEMA)
        except BaseException:
            opened.close()
            raise
        self._connections.pid = os.getpid()
        self._connections.file = _file_id(self.path)
        self._connections.connection = opened
        self._connections.owner = process_identity(os.getpid())
        return opened

    def close(self) -> None:
        """Close this thread's connection; using the object again opens another."""
        if getattr(self._connections, "pid", None) == os.getpid():
            self._connections.pid = None
            with contextlib.suppress(sqlite3.Error):
                self._connections.connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # Closing rolls back. A connection whose COMMIT failed would have its transaction open for ever, and after a
            # full disk there may be none to roll back.
            self.close()
            raise

    def put(self, queue: str, tag: str, body: str) -> None:
        """Add a message; one that is already there under the same tag is left as it is."""
        with self._writing() as connection:
            connection.execute("INSERT OR IGNORE INTO message (queue, tag, body) VALUES (?, ?, ?)", (queue, tag, body))

    def claim(self, queue: str) -> str | None:
        """Take the oldest waiting message for this process; its body, or None when none waits."""
        # A read first: an idle worker then takes no write lock twenty times a second.
        waiting = "SELECT 1 FROM message WHERE queue = ? AND owner IS NULL LIMIT 1"
        if not self._connection().execute(waiting, (queue,)).fetchone():
            return None
        with self._writing() as connection:
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
        claimed = "SELECT DISTINCT owner FROM message WHERE owner IS NOT NULL"
        owners = [row[0] for row in self._connection().execute(claimed)]
        dead = [(owner,) for owner in owners if process_identity(int(owner.split(":")[0])) != owner]
        if not dead:
            return 0
        with self._writing() as connection:
            return connection.executemany("UPDATE message SET owner = NULL WHERE owner = ?", dead).rowcount

    def size(self, queue: str) -> int:
        """How many messages wait or are being worked on."""
        row = self._connection().execute("SELECT count(*) FROM message WHERE queue = ?", (queue,)).fetchone()
        return int(row[0])

    def purge(self, queue: str) -> int:
        """Remove the waiting messages of a queue; how many there were."""
        with self._writing() as connection:
            return connection.execute("DELETE FROM message WHERE queue = ? AND owner IS NULL", (queue,)).rowcount


class Settling:
    """Messages that are done with, and of which that could not be written: it is tried again until it is.

    Their rows stay this process's meanwhile, so nobody else takes them; kombu takes them for settled, since one of them
    would else hold the only place of a worker that takes one message at a time. Acknowledgements come from several
    threads.
    """

    def __init__(self, path: str) -> None:
        self._file = MessageFile(path)
        self._open: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._since = self._tried_at = 0.0

    def settle(self, tag: str, *, goes_back: bool) -> None:
        """Remove a message, or put it back into its queue; later, where that cannot be done now."""
        try:
            self._write(tag, goes_back)
        except FAILURES as error:
            with self._lock:
                if not self._open:
                    self._since = time.monotonic()
                self._open[tag] = goes_back
            logger.warning("a message that is done with could not be settled, trying again tag=%s: %s", tag, error)

    def again(self) -> None:
        """Try those that are open, once a second. Raises WorkerShutdown after a minute in vain: what this process has
        is then free, and the one that is started in its place does not know of it."""
        if not self._open or time.monotonic() - self._tried_at < PAUSE_SECONDS:
            return
        for tag, goes_back in list(self._open.items()):
            self._tried_at = time.monotonic()
            try:
                self._write(tag, goes_back)
            except FAILURES as error:
                if time.monotonic() - self._since < SETTLE_SECONDS:
                    return
                logger.critical(
                    "this worker ends: the broker's file could not be written for %.0f seconds (%s). Is its disk full? "
                    "`up` starts another worker; start one again where it ran by itself. path=%s",
                    time.monotonic() - self._since, error, self._file.path,
                )  # fmt: skip
                raise WorkerShutdown(1) from error
            with self._lock:
                self._open.pop(tag, None)
                self._since = time.monotonic()
            logger.warning("a message that is done with is settled now tag=%s", tag)

    def _write(self, tag: str, goes_back: bool) -> None:
        if goes_back:
            self._file.release(tag)
        else:
            self._file.done(tag)


_settlings: dict[str, Settling] = {}


def settling_of(path: str) -> Settling:
    """This process's open acknowledgements of a file: they outlive a channel, which kombu may close at any time."""
    return _settlings.setdefault(path, Settling(path))


class Channel(virtual.Channel):
    """kombu's virtual channel, whose queues are rows of one file."""

    supports_fanout = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        client: Any = self.connection.client
        self._file = MessageFile(client.transport_options["path"])
        self._settling = settling_of(self._file.path)
        self._swept_at = self._failed_at = self._told_at = float("-inf")

    def _put(self, queue: str, message: dict[str, Any], **_: Any) -> None:
        self._file.put(queue, message["properties"]["delivery_tag"], dumps(message))

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        now = time.monotonic()
        if now - self._failed_at < PAUSE_SECONDS:
            raise Empty
        try:
            if now - self._swept_at >= SWEEP_SECONDS:
                self._swept_at = now
                self._file.free_dead()
            body = self._file.claim(queue)
        except FAILURES as error:
            # Raised, it would have Celery leave this channel and what it holds.
            self._look_failed(error)
            raise Empty from None
        if body is None:
            raise Empty
        message: dict[str, Any] = loads(body)
        return message

    def _look_failed(self, error: Exception) -> None:
        self._file.close()
        self._failed_at = time.monotonic()
        if self._failed_at - self._told_at >= TOLD_SECONDS:
            self._told_at = self._failed_at
            logger.warning("the broker's file cannot be used, trying again path=%s: %s", self._file.path, error)

    def _restore(self, message: Any) -> None:
        # kombu would publish a copy; here the row itself is given back, so it can neither double nor vanish between.
        self._settling.settle(message.delivery_tag, goes_back=True)

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:
        self._settling.settle(delivery_tag, goes_back=False)
        super().basic_ack(delivery_tag, multiple)

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not requeue:
            self._settling.settle(delivery_tag, goes_back=False)
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
        """Deliver one message, or raise a timeout after half a second at most (longer while the file is locked)."""
        client: Any = self.client
        settling_of(client.transport_options["path"]).again()
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
