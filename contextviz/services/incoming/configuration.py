"""What may be kept of a configuration that arrives: the allow-listed extract and not one byte more.

Transcripts are kept as they came. A configuration holds the keys of its owner, so its bytes are replaced before the
file gets a name; that holds for one in an archive too.
"""

from __future__ import annotations

import gzip
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.archives import is_tar
from contextviz.sources.configuration.document import MOST_BYTES, OTHER, load, may_be
from contextviz.sources.files import NamedPath
from contextviz.sources.unpack import DAMAGE, HEAD_BYTES, MAX_WINDOW_BYTES, Packing, packing_of, unpacked

ANY_MEMBER = ("configuration.json", 0)
CHUNK_BYTES = 1024 * 1024
ONE_TIME = (1980, 1, 1, 0, 0, 0)  # the same files make the same archive
_PACKED = re.compile(r"\.(?:gz|zst)$")


class HoldsKeys(Exception):
    """The file cannot be kept without what must not be kept; the text is a sentence for a person."""


def extract_of(name: str, size: int, whole: Callable[[], bytes]) -> bytes | None:
    """The extract that stays of a configuration, None for anything else. Raises HoldsKeys."""
    if not may_be(name, size):
        return None
    # One byte more than may be read is enough for `load` to say that it is too long.
    loaded = load(name, whole() if size <= MOST_BYTES else b" " * (MOST_BYTES + 1))
    if loaded is None:
        return None
    if loaded.agent == OTHER:
        raise HoldsKeys(
            f"{name} is a configuration or a list of keys, so nothing of it was kept. Of configurations contextviz "
            "takes openclaw.json, vole.config.json, pi's settings.json and models.json, and Codex's config.toml."
        )
    return loaded.as_bytes()


def repacked(name: str, path: Path, head: bytes) -> IO[bytes] | None:
    """A zip with the same files as an archive, extracts in place of its configurations; None where it holds none.

    Raises HoldsKeys for an archive with a configuration that cannot be opened to its end.
    """
    packing = packing_of(head)
    if packing is None or not _holds_one(name, path, packing):
        return None
    with unpacked([NamedPath(path, name)]) as opened:
        if not any(_extract(named) is not None for named in opened.paths):
            return None
        problem = next((item for item in opened.items if isinstance(item, ReadProblem)), None)
        if problem is not None:
            raise HoldsKeys(
                f"{name} holds an agent's configuration, whose keys must not be kept, and cannot be packed again "
                f"without them: {problem.message}. Send the sessions and the configuration as files of their own."
            )
        # An archive inside stays closed, so what is in it cannot be told: its name stays, as an empty file.
        closed = [item.path for item in opened.items if isinstance(item, SourceFile) and item.role == "ignored"]
        return _zip_of(name, opened.paths, closed)


def _zip_of(name: str, paths: Sequence[NamedPath], closed: Sequence[str]) -> IO[bytes]:
    out = tempfile.TemporaryFile()  # noqa: SIM115  # whoever asked closes it
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for named in paths:
            member = zipfile.ZipInfo(named.name.removeprefix(f"{name}/"), ONE_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            extract = _extract(named)
            with archive.open(member, "w") as target:
                if extract is not None:
                    target.write(extract)
                    continue
                with named.path.open("rb") as source:
                    while chunk := source.read(CHUNK_BYTES):
                        target.write(chunk)
        for shown in closed:
            archive.writestr(zipfile.ZipInfo(shown.removeprefix(f"{name}/"), ONE_TIME), b"")
    out.seek(0)
    return out


def _extract(named: NamedPath) -> bytes | None:
    """What stays of a member that is a configuration: its extract, nothing of one that must not be kept at all."""
    size = named.path.stat().st_size
    if not may_be(named.name, size):
        return None
    with named.path.open("rb") as raw:
        loaded = load(named.name, raw.read(MOST_BYTES + 1))
    return None if loaded is None else loaded.as_bytes()


def _holds_one(name: str, path: Path, packing: Packing) -> bool:
    """Whether a member may be a configuration by its name and size, looked up without unpacking where that can be."""
    try:
        return any(may_be(member, size) for member, size in _members(name, path, packing))
    except (*DAMAGE, OSError, RuntimeError, NotImplementedError):
        return True  # what cannot be listed is looked at as it is unpacked


def _members(name: str, path: Path, packing: Packing) -> Iterator[tuple[str, int]]:
    if packing == "zip":
        with zipfile.ZipFile(path) as archive:
            for one in archive.infolist():
                yield one.filename, one.file_size
        return
    if packing != "tar" and not is_tar(_first_bytes(path, packing)):
        # A single file; a session's own `.jsonl.zst` is not unpacked for this.
        yield _PACKED.sub("", name), path.stat().st_size
        return
    yield ANY_MEMBER  # a tar has no list of what is in it: it is unpacked to be looked at


def _first_bytes(path: Path, packing: Packing) -> bytes:
    with path.open("rb") as raw:
        if packing == "gzip":
            return gzip.GzipFile(fileobj=raw).read(HEAD_BYTES)
        return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(raw).read(HEAD_BYTES)
