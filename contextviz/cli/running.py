"""One `up` per data folder: the lock that says so, and the port it recorded."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings


class AlreadyRunning(Exception):
    """Another `up` uses this data folder; `port` is where it listens, when known."""

    def __init__(self, port: int | None) -> None:
        super().__init__("contextviz is already running on this data folder")
        self.port = port


def _lock_path() -> Path:
    return Path(settings.DATA_DIR) / "up.lock"


def recorded_port() -> int | None:
    """The port that the last `up` of this data folder recorded, or None."""
    try:
        return int(_lock_path().read_text().strip() or 0) or None
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Hold the data folder for this process. The kernel lets go of the lock however the process ends."""
    handle = os.open(_lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning(recorded_port()) from None
        yield
    finally:
        os.close(handle)


def record_port(port: int) -> None:
    """Say where this `up` listens, for `sign-in` and for a second `up`."""
    _lock_path().write_text(f"{port}\n")


def is_up() -> bool:
    """Whether an `up` of this data folder runs now."""
    try:
        with only_one():
            return False
    except AlreadyRunning:
        return True
