"""Which process does a piece of work, and whether it still runs."""

from __future__ import annotations

import os
import socket
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

SILENCE_OF_ANOTHER_HOST = timedelta(seconds=90)  # six heartbeats


def own_name() -> str:
    """The name of this process: its host, its id and when it started, so that a reused id is not mistaken for it."""
    return f"{socket.gethostname()[:100]}|{_identity(os.getpid())}"


def is_gone(owner: str, *, heartbeat_at: datetime | None, now: datetime) -> bool:
    """Whether the process named `owner` no longer runs. Of another host's process only its silence can tell."""
    host, _, identity = owner.rpartition("|")
    if host == socket.gethostname()[:100]:
        pid = identity.partition(":")[0]
        return not pid.isdigit() or _identity(int(pid)) != identity
    return heartbeat_at is None or now - heartbeat_at > SILENCE_OF_ANOTHER_HOST


def _identity(pid: int) -> str | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _identity_without_proc(pid)
    # The command's name may hold blanks and parentheses, so fields are counted after the last one.
    fields = status.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{pid}:{fields[19]}"


def _identity_without_proc(pid: int) -> str | None:
    found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    started = found.stdout.strip()
    return f"{pid}:{started}" if started else None
