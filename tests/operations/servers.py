"""PostgreSQL and Redis of the machine, started for one test on ports of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.stack import wait_until


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def postgres_programs() -> Path | None:
    """Where PostgreSQL's programs lie, None where it is not installed or cannot be run by this user."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not folders or (os.getuid() == 0 and shutil.which("runuser") is None):
        return None
    return folders[-1]


@contextlib.contextmanager
def postgres(user: str, database: str, password: str) -> Iterator[int]:
    """A server with one user and one database, the password asked for; its port."""
    programs = postgres_programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="contextviz-pg-"))  # pytest's own folders are closed to other users
    # It refuses to run as root.
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    (folder / "password").write_text(password)
    if before:
        for path in (folder, folder / "password"):
            shutil.chown(path, "postgres")
    port, data = free_port(), folder / "data"
    run = {"check": True, "capture_output": True, "cwd": folder}
    try:
        subprocess.run(
            [*before, str(programs / "initdb"), "-D", str(data), "-U", user, "--auth=scram-sha-256", "-E", "UTF8",
             "--no-sync", "--locale=C", f"--pwfile={folder / 'password'}"], **run,
        )  # type: ignore[call-overload]  # fmt: skip
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        control = [*before, str(programs / "pg_ctl"), "-D", str(data)]
        subprocess.run([*control, "-w", "-l", str(folder / "log"), "-o", options, "start"], check=True,
                       stdout=subprocess.DEVNULL, cwd=folder)  # fmt: skip
        environment = {**os.environ, "PGPASSWORD": password}
        create = [str(programs / "createdb"), "-h", "127.0.0.1", "-p", str(port), "-U", user, database]
        subprocess.run(create, env=environment, check=True, capture_output=True)
        yield port
    finally:
        subprocess.run([*before, str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"], check=False,
                       capture_output=True, cwd=folder)  # fmt: skip
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs for as long as it is needed; what it says goes to `log`."""
    with log.open("wb") as stream:
        started = subprocess.Popen(
            command, env=environment, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True, cwd=log.parent
        )
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(15)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


@contextlib.contextmanager
def redis(folder: Path, command: list[str]) -> Iterator[int]:
    """A Redis by the given command, in a folder and on a port of its own."""
    port = free_port()
    own = [*command, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    with process(own, dict(os.environ), folder / "redis.log"):
        wait_until(lambda: _answers(port), what="Redis")
        yield port


def _answers(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0
