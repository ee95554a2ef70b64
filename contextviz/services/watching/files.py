"""Which files below a folder are looked at, how one is told from what it was, and what is read together with it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from contextviz.sources.configuration.document import is_never_opened
from contextviz.sources.files import MAX_DEPTH

# Transcripts, stores, logs and configurations, with what agents put behind the name of one that they set aside.
_WANTED = re.compile(r"\.(?:jsonl?|json5|ndjson|db|sqlite3?|log|toml|traj)(?:\.[\w:.-]{1,80})?$")
_STORE = re.compile(r"\.(?:db|sqlite3?)$")
_BESIDE = re.compile(r"-(?:wal|shm|journal)$")
_PASSED_FOLDERS = frozenset({".git", "node_modules", "__pycache__", ".venv"})

Mark = tuple[int, ...]


def is_wanted(path: str) -> bool:
    """Whether a file may be one that is read, by its name."""
    name = path.rpartition("/")[2]
    return _WANTED.search(name) is not None and not is_never_opened(name)


def subject_of(path: str) -> str:
    """The file that a change is about: of the log beside a SQLite store that store."""
    return _BESIDE.sub("", path)


def mark_of(path: str) -> Mark | None:
    """Size, times (ns) and identity of a file, and of the log beside a SQLite store: whatever is done to the content,
    one of them differs. None where no regular file is there; symbolic links are not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    mark = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    if _STORE.search(path) is None:
        return mark
    try:
        log = os.lstat(path + "-wal")
    except OSError:
        return mark
    return (*mark, log.st_size, log.st_mtime_ns, log.st_ctime_ns, log.st_ino)


def changed_at(mark: Mark) -> float:
    """When the file of a mark changed last, in seconds; rounded up where its file system keeps whole seconds."""
    times = [*mark[1::4], *mark[2::4]]
    newest = max(times)
    return newest / 1e9 + (2.0 if newest % 1_000_000_000 == 0 else 0.05)


def files_below(root: Path) -> Iterator[str]:
    """The files below a folder (or the file itself) that may be read, in name order. Symbolic links, our own data
    folder and folders of packages are passed by; so is what lies deeper than 32 folders."""
    if root.is_file():
        yield str(root)
    else:
        yield from _below(str(root), str(settings.DATA_DIR), 0)


def _below(folder: str, own: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH and entry.name not in _PASSED_FOLDERS and entry.path != own:
                yield from _below(entry.path, own, depth + 1)
        elif is_wanted(entry.name) and entry.is_file(follow_symlinks=False):
            yield entry.path


def is_passed(path: str, root: Path) -> bool:
    """Whether a changed path lies where `files_below` does not look."""
    inside = path[len(str(root)) :].split("/")[:-1]
    own = str(settings.DATA_DIR)
    return not _PASSED_FOLDERS.isdisjoint(inside) or path == own or path.startswith(own + "/")


def group_of(path: str, root: Path) -> str:
    """What is read for a file that came or changed: of a sub-agent's transcript that of its session, of OpenCode's
    one-file-a-message store the whole folder, else the file itself."""
    folder = Path(path).parent
    while folder != root and root in folder.parents:
        session = folder.with_name(folder.name + ".jsonl")
        if session.is_file():
            return str(session)
        if folder.name == "storage" and (folder / "session").is_dir():
            return str(folder)
        folder = folder.parent
    return path
