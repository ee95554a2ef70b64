"""A whole product of its own for one test: data folder, database, broker, and real processes started on them.

On the scale-out stack (both addresses set in the environment) the database is a fresh PostgreSQL one, and the broker a
Redis database of its own; otherwise both are files in the folder.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis

from tests.console import Console

ROOT = Path(__file__).resolve().parent.parent


def wait_until(condition: Callable[[], object], *, seconds: float = 15.0, what: str = "the condition") -> None:
    """Return as soon as the condition holds; fail with a sentence when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds:.0f} seconds")
        time.sleep(0.03)


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@dataclass
class Stack:
    """Environment and processes of one product."""

    data_dir: Path
    environment: dict[str, str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    console: Console | None = None

    def run(self, *arguments: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py to its end; the exit status is asserted unless None."""
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        if status is not None:
            assert done.returncode == status, done.stdout + done.stderr
        return done

    def python(self, code: str) -> str:
        """Run code with Django set up on this stack, in a process of its own (tests/console.py); what it printed."""
        if self.console is None or self.console.environment != self.environment:
            self.close_console()
            self.console = Console(self.environment)
        status, out, err = self.console.run(code)
        assert status == 0, out + err
        return out

    def close_console(self) -> None:
        """End the process that runs code; the next code starts another."""
        if self.console is not None:
            self.console.close()
            self.console = None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database answers to a query, asked beside the product and without it."""
        url = self.environment.get("CONTEXTVIZ_DATABASE_URL")
        if url:
            with psycopg.connect(url) as connection:
                return connection.execute(query).fetchall()
        file = f"file:{self.data_dir / 'contextviz.sqlite3'}?mode=ro"
        with contextlib.closing(sqlite3.connect(file, uri=True, timeout=20)) as held:
            return held.execute(query).fetchall()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of manage.py in a process group of its own; it is ended with the test."""
        log = (self.data_dir / f"{arguments[0]}-{len(self.processes)}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        log.close()
        self.processes.append(process)
        return process

    def output(self, process: subprocess.Popen[str]) -> str:
        """What a started process has printed so far."""
        number = self.processes.index(process)
        return next(self.data_dir.glob(f"*-{number}.log")).read_text()

    def kill_group(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL for the process and its children in the same group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _plain_environment(folder: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
    environment |= {"CONTEXTVIZ_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "contextviz.settings"}
    return environment | {"PYTHONPATH": str(ROOT)}


def _migrate(environment: dict[str, str]) -> None:
    Stack(Path(environment["CONTEXTVIZ_DATA_DIR"]), environment).run("migrate", "--verbosity", "0", "--skip-checks")


@functools.cache
def migrated_file() -> Path:
    """An SQLite database right after `migrate`, made once per run: to be copied, never to be opened."""
    folder = Path(tempfile.mkdtemp(prefix="contextviz-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _migrate(_plain_environment(folder))
    assert not (folder / "contextviz.sqlite3-wal").exists(), "all of it is in the one file"
    return folder / "contextviz.sqlite3"


@functools.cache
def migrated_database(url: str) -> str:
    """The name of a PostgreSQL database right after `migrate` on the server of the address, made once per run."""
    open_things = contextlib.ExitStack()
    atexit.register(open_things.close)
    own = open_things.enter_context(_own_database(url))
    folder = Path(open_things.enter_context(tempfile.TemporaryDirectory(prefix="contextviz-migrated-")))
    _migrate(_plain_environment(folder) | {"CONTEXTVIZ_DATABASE_URL": own})
    return urlsplit(own).path[1:]


@contextlib.contextmanager
def _own_database(url: str, template: str = "template1") -> Iterator[str]:
    name = f"contextviz_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def _own_redis(url: str) -> Iterator[str]:
    own = urlunsplit(urlsplit(url)._replace(path="/9"))  # tests run one after another, so one number is enough
    client = redis.Redis.from_url(own)
    client.flushdb()
    try:
        yield own
    finally:
        client.flushdb()
        client.close()


@contextlib.contextmanager
def stack_in(folder: Path, *, migrated: bool = False) -> Iterator[Stack]:
    """A stack in the folder, as before its first start or with its tables made; its processes are killed at the end."""
    environment = _plain_environment(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.ExitStack() as open_things:
        url = os.environ.get("CONTEXTVIZ_DATABASE_URL")
        if url:
            own = _own_database(url, migrated_database(url)) if migrated else _own_database(url)
            environment["CONTEXTVIZ_DATABASE_URL"] = open_things.enter_context(own)
        elif migrated:
            shutil.copyfile(migrated_file(), folder / "contextviz.sqlite3")
        if os.environ.get("CONTEXTVIZ_REDIS_URL"):
            broker = open_things.enter_context(_own_redis(os.environ["CONTEXTVIZ_REDIS_URL"]))
            environment["CONTEXTVIZ_REDIS_URL"] = broker
        with ending(Stack(folder, environment)) as stack:
            yield stack


@contextlib.contextmanager
def ending(stack: Stack) -> Iterator[Stack]:
    """The stack; everything that runs on it is killed at the end."""
    try:
        yield stack
    finally:
        stack.close_console()
        for process in stack.processes:
            stack.kill_group(process)
