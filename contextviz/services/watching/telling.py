"""Which folders a watcher follows just now, as a file of the data folder: workers leave those to it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import orjson
from django.conf import settings

TELL_SECONDS = 3.0
SILENT_SECONDS = 15.0
FORGOTTEN_SECONDS = 86_400.0


def _folder() -> Path:
    return Path(settings.DATA_DIR) / "watching"


class Told:
    """Says every few seconds that this process follows `roots`. A process that was killed is silent soon."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._body = orjson.dumps({"roots": [str(path) for path in roots]})
        self._told_at = float("-inf")
        self._file = _folder() / f"{os.getpid()}-{time.time_ns()}.json"

    def tell(self) -> None:
        """Say it, where the last time was three seconds ago."""
        if time.monotonic() - self._told_at < TELL_SECONDS:
            return
        self._told_at = time.monotonic()
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        aside = self._file.with_suffix(".part")
        aside.write_bytes(self._body)
        aside.replace(self._file)

    def close(self) -> None:
        """This process follows them no longer."""
        self._file.unlink(missing_ok=True)


def watched_roots() -> list[Path]:
    """What watchers of this data folder said within 15 seconds that they follow; remains of old ones are removed."""
    found: list[Path] = []
    for file in sorted(_folder().glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            age = time.time() - file.stat().st_mtime
            if age > FORGOTTEN_SECONDS:
                file.unlink()
            elif age <= SILENT_SECONDS:
                found.extend(Path(text) for text in orjson.loads(file.read_bytes())["roots"])
    return found


def is_watched(path: Path, roots: Sequence[Path]) -> bool:
    """Whether the path is one of the roots or below one."""
    return any(root == path or root in path.parents for root in roots)
