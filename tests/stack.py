"""A whole product of its own for one test: data folder, database, broker, and real processes started on them.

On the scale-out stack (both addresses set in the environment) the database is a fresh PostgreSQL one, and the broker a
Redis database of its own; otherwise both are files in the folder.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis

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

    def run(self, *arguments: str, status: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py to its end; the exit status is asserted unless None."""
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        if status is not None:
            assert done.returncode == status, done.stdout + done.stderr
        return done

    def python(self, code: str) -> str:
        """Run code with Django set up on this stack; what it printed."""
        head = "import django; django.setup()\n"
        command = [sys.executable, "-c", head + code]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

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


@contextlib.contextmanager
def _own_database(url: str) -> Iterator[str]:
    name = f"contextviz_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
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
def stack_in(folder: Path) -> Iterator[Stack]:
    """A stack in the folder, its database migrated; its processes are killed at the end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONTEXTVIZ_")}
    environment |= {"CONTEXTVIZ_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "contextviz.settings"}
    environment["PYTHONPATH"] = str(ROOT)
    with contextlib.ExitStack() as open_things:
        if os.environ.get("CONTEXTVIZ_DATABASE_URL"):
            own = open_things.enter_context(_own_database(os.environ["CONTEXTVIZ_DATABASE_URL"]))
            environment["CONTEXTVIZ_DATABASE_URL"] = own
        if os.environ.get("CONTEXTVIZ_REDIS_URL"):
            own = open_things.enter_context(_own_redis(os.environ["CONTEXTVIZ_REDIS_URL"]))
            environment["CONTEXTVIZ_REDIS_URL"] = own
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stack = Stack(folder, environment)
        try:
            yield stack
        finally:
            for process in stack.processes:
                stack.kill_group(process)
