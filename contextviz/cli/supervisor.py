"""Keeps a worker or watcher process alive beside the server, and ends it with the server."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

logger = logging.getLogger("contextviz.cli")

GRACE_SECONDS = 5.0  # a job that takes longer is ended; it is delivered again at the next start
_CHECK_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 60.0  # a worker that lived this long did not die of its start
_PACKAGE_PARENT = str(Path(__file__).resolve().parent.parent.parent)


def watcher_command() -> list[str]:
    """Following what CONTEXTVIZ_WATCH names, as a process that ends with this one."""
    # Called as this process is, so that what it says names commands in the same way.
    start = f"import sys; sys.argv[0] = {sys.argv[0]!r}; from contextviz.cli.main import main; raise SystemExit(main())"
    return [sys.executable, "-c", start, "watch", "--parent", str(os.getpid())]


class WorkerSupervisor:
    """Starts a worker (or the process of another `command`, called `name` in the log), starts it again when it dies
    (ever more slowly if it dies at once), stops it with a grace."""

    def __init__(self, command: list[str] | None = None, name: str = "worker") -> None:
        self._name = name
        self._command = command or [
            sys.executable, "-m", "contextviz.cli.worker_process", "--parent", str(os.getpid()),
            "--concurrency", "1", "--loglevel", "WARNING", "--hostname", f"embedded-{os.getpid()}@localhost",
        ]  # fmt: skip
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        # One thread starts every child and lives until the last has ended: the kernel's "my parent died" signal
        # is about the parent's thread, not its process.
        self._thread = threading.Thread(target=self._run, name=f"{name}-supervisor", daemon=True)

    @property
    def pid(self) -> int | None:
        """The running worker's process id, or None while there is none."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask the worker to end, and end it after the grace; returns when it and its pool are gone."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(GRACE_SECONDS + 5)

    def _start_worker(self) -> subprocess.Popen[bytes]:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [_PACKAGE_PARENT, environment.get("PYTHONPATH")]))
        # A session of its own: Ctrl-C is for the server, which then ends the worker in order.
        return subprocess.Popen(self._command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)

    def _run(self) -> None:
        pause = 1.0
        while not self._stopping.is_set():
            started = time.monotonic()
            process = self._process = self._start_worker()
            while process.poll() is None and not self._stopping.wait(_CHECK_SECONDS):
                pass
            if self._stopping.is_set():
                break
            self._end_group(process)  # the pool's processes, if the worker itself was killed
            lived = time.monotonic() - started
            pause = 1.0 if lived > _STEADY_SECONDS else min(pause * 2, _LONGEST_PAUSE_SECONDS)
            logger.warning(
                "%s ended status=%s lived_seconds=%.0f restart_in=%.0f",
                self._name, process.returncode, lived, pause / 2,
            )  # fmt: skip
            self._stopping.wait(pause / 2)
        self._stop_worker()

    def _stop_worker(self) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            process.terminate()  # warm: the job under way may finish
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
        self._end_group(process)

    @staticmethod
    def _end_group(process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
