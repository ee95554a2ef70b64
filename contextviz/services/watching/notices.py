"""What the operating system says of changed files, through watchfiles; by looking again and again where it cannot."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from watchfiles import watch

logger = logging.getLogger("contextviz.watching")
WAIT_MILLISECONDS = 250
DEBOUNCE_MILLISECONDS = 200  # a burst is one notice
POLL_MILLISECONDS = 1_000
_Folders = tuple[tuple[str, int, int], ...]


class Notices:
    """Changed paths below folders. It only hints: whoever asks looks at the files, and looks at all now and then."""

    def __init__(self, *, is_polling: bool, say: Callable[[str], None]) -> None:
        self.is_polling = is_polling
        self._say = say
        self._folders: _Folders | None = None
        self._changes: Iterator[set[tuple[Any, str]]] | None = None

    def follow(self, folders: Sequence[Path]) -> bool:
        """Watch these folders from now on; whether that is new, so that what was there before must be looked at. A
        folder that was made anew is another one."""
        wanted = _identities(folders)
        if wanted == self._folders:
            return False
        self.close()
        self._folders = wanted
        if wanted:
            self._begin([path for path, _, _ in wanted])
        return True

    def _begin(self, paths: list[str]) -> None:
        for is_polling in dict.fromkeys((self.is_polling, True)):
            try:
                self._changes = watch(
                    *paths, watch_filter=None, debounce=DEBOUNCE_MILLISECONDS, rust_timeout=WAIT_MILLISECONDS,
                    yield_on_timeout=True, force_polling=is_polling, poll_delay_ms=POLL_MILLISECONDS,
                    ignore_permission_denied=True,
                )  # fmt: skip
                next(self._changes)  # from here on nothing is missed
            except (OSError, RuntimeError) as error:
                self._changes = None
                if not is_polling:
                    self._say(
                        f"The system cannot tell of changes in {', '.join(paths[:3])} ({error}); looking every second "
                        "instead. Where a limit is reached, raise fs.inotify.max_user_watches."
                    )
                    self.is_polling = True
                else:
                    logger.warning("folders cannot be watched: %s", error)
            else:
                return

    def wait(self) -> set[str]:
        """Paths that changed since the last time; returns after a quarter of a second where there are none."""
        if self._changes is None:
            return set()
        try:
            return {path for _, path in next(self._changes)}
        except (OSError, RuntimeError, StopIteration) as error:
            # A folder that went away; it is followed anew when it is there again.
            logger.info("folders are not watched any more: %s", error)
            self.close()
            return set()

    @property
    def is_watching(self) -> bool:
        """Whether `wait` waits."""
        return self._changes is not None

    def close(self) -> None:
        """Let go of the system's watches."""
        if self._changes is not None:
            close = getattr(self._changes, "close", None)
            if close is not None:
                close()
        self._changes = None
        self._folders = None


def _identities(folders: Sequence[Path]) -> _Folders:
    found = []
    for folder in folders:
        try:
            stat = folder.stat()
        except OSError:
            continue
        if folder.is_dir():
            found.append((str(folder), stat.st_dev, stat.st_ino))
    return tuple(found)
