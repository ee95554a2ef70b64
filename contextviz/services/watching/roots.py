"""What is followed: the folders and files that somebody named, or the usual homes of agents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from contextviz.services.digest.collecting import home_folders

HOMES = "homes"
MOST_ROOTS = 100


class NothingToWatch(Exception):
    """What was named cannot be followed; the text is a sentence."""


def roots_of(named: Sequence[str], *, home: Path | None = None) -> tuple[Path, ...]:
    """The folders and files to follow; `homes` among them stands for every agent's usual home, there or not yet. What
    lies below another of them is left out. Raises NothingToWatch."""
    found: list[Path] = []
    for text in named:
        found.extend(home_folders(home) if text == HOMES else [Path(text).expanduser().absolute()])
    if not found:
        raise NothingToWatch("Nothing was named. Name a file or folder to follow, or `homes` for the agents' own.")
    whole = [Path(os.path.normpath(path)) for path in dict.fromkeys(found)]
    roots = [path for path in whole if not any(other in path.parents for other in whole)]
    if len(roots) > MOST_ROOTS:
        raise NothingToWatch(f"{len(roots)} files and folders are too many to follow; name a folder that holds them.")
    return tuple(dict.fromkeys(roots))
