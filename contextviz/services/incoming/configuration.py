"""What may be kept of a configuration that arrives: the allow-listed extract and not one byte more.

Transcripts are kept as they came. A configuration holds the keys of its owner, so its bytes are replaced before the
file gets a name. Of an archive only what a reader reads is kept, since anything else in it may hold keys too.
"""

from __future__ import annotations

import gzip
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import zstandard

from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.archives import DAMAGE, DEVICE, LINK, MAX_WINDOW_BYTES, is_tar
from contextviz.sources.configuration.document import MOST_BYTES, OTHER, is_named, load, may_be
from contextviz.sources.configuration.reader import left_out
from contextviz.sources.files import NamedPath, probe, why_ignored
from contextviz.sources.registry import detect
from contextviz.sources.sqlite import MAGIC
from contextviz.sources.unpack import HEAD_BYTES, WORDS, Packing, Unpacked, packing_of, unpacked

CHUNK_BYTES = 1024 * 1024
ONE_TIME = (1980, 1, 1, 0, 0, 0)  # the same files make the same archive
_PACKED = re.compile(r"\.(?:gz|zst)$")
_BESIDE = re.compile(r"-(?:wal|journal)$")
_SPECIAL = {LINK: stat.S_IFLNK, DEVICE: stat.S_IFCHR}


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


@dataclass(slots=True)
class _Sorted:
    """What becomes of an archive's members: those kept as they are, and by name what stands in place of the others."""

    whole: list[NamedPath] = field(default_factory=list)
    instead: dict[str, bytes] = field(default_factory=dict)
    # Links and devices, which hold nothing: by name the file type, so that they are told of again.
    special: dict[str, int] = field(default_factory=dict)
    holds_configuration: bool = False
    # What is told of members that broke before a reader could know them: a line in their place tells it too.
    broken: list[ReadProblem] = field(default_factory=list)


def repacked(name: str, path: Path, head: bytes) -> IO[bytes] | None:
    """A zip with the files of an archive that a reader reads: extracts in place of configurations, and in place of
    archives inside and of what nobody reads a line that says so. None where all of it is read, and may be kept.

    Raises HoldsKeys for an archive that has to be packed again and cannot be opened to its end.
    """
    packing = packing_of(head)
    if packing is None or not _is_opened(name, path, packing):
        return None
    with unpacked([NamedPath(path, name)]) as opened:
        members = _sorted(name, opened)
        problem = _hidden([one for one in opened.items if one not in members.broken], members)
        is_hidden = problem is not None and is_named(_value_of(problem))
        if not members.instead and not is_hidden:
            return None
        if problem is not None:
            raise HoldsKeys(_why_refused(name, problem, holds_configuration=is_hidden or members.holds_configuration))
        return _zip_of(name, members)


def _sorted(name: str, opened: Unpacked) -> _Sorted:
    members = _Sorted()
    databases = set()
    for named in opened.paths:
        is_alone = named.name == name
        shown = NamedPath(named.path, _PACKED.sub("", name)) if is_alone else named
        extract = _extract(shown)
        why = _why_closed(shown) if is_alone else _why_unread(shown)
        broke = opened.cut.get(named.name)
        if broke is not None and why is not None and extract is None and not is_alone:
            members.broken.append(broke)
            why = f"the archive is {WORDS[broke.code]} in it, and too little of it came to be read; get the whole one"
        members.holds_configuration = members.holds_configuration or extract is not None
        if extract is not None or why is not None:
            members.instead[shown.name] = extract if extract is not None else left_out(why or "")
        elif _head_of(shown).startswith(MAGIC):
            databases.add(shown.name)
        members.whole.append(shown)
    # A database's changes that are not in it yet lie beside it; no reader knows them by themselves.
    for beside in [one for one in members.instead if _BESIDE.search(one) and _BESIDE.sub("", one) in databases]:
        del members.instead[beside]
    members.whole = [named for named in members.whole if named.name not in members.instead]
    for item in opened.items:
        if isinstance(item, SourceFile) and item.role == "ignored" and item.path != name:
            members.instead[item.path] = left_out(item.reason or "")
    return members


def _why_refused(name: str, problem: ReadProblem, *, holds_configuration: bool) -> str:
    """Why an archive that cannot be looked at whole is not kept, and what to do."""
    what = problem.message.rstrip(".")
    if holds_configuration:
        return (
            f"{name} holds an agent's configuration, which must not be kept as it is, and it cannot be packed again "
            f"without that: {what}. Send the sessions and the configuration as files of their own."
        )
    return (
        f"{what}. Nothing of it was kept, since it also holds files that no reader reads, and it cannot be packed "
        "again without them. Send the sessions as files of their own, or in an archive with nothing else."
    )


def _hidden(items: Sequence[SourceFile | ReadProblem], members: _Sorted) -> ReadProblem | None:
    """The first problem that leaves something of the archive unseen; one that is named as a configuration before
    others. Links and devices are noted in `members`."""
    unseen = []
    for item in items:
        if not isinstance(item, ReadProblem):
            continue
        kind = next((kind for why, kind in _SPECIAL.items() if item.message.endswith(f": {why}")), None)
        if kind is None or item.value is None:
            unseen.append(item)
        else:
            members.special[_value_of(item)] = kind
    return next((one for one in unseen if is_named(_value_of(one))), next(iter(unseen), None))


def _value_of(problem: ReadProblem) -> str:
    return str(problem.value or "")


def _why_closed(named: NamedPath) -> str | None:
    return "an archive inside an archive is not opened" if packing_of(_head_of(named)) is not None else None


def _head_of(named: NamedPath) -> bytes:
    with named.path.open("rb") as raw:
        return raw.read(HEAD_BYTES)


def _why_unread(named: NamedPath) -> str | None:
    """Why no reader reads a member; None where one does, or nothing is in it."""
    looked = probe(named.path, named.name)
    if looked.size == 0:
        return None
    known = detect(looked)
    if known is None:
        return why_ignored(looked)
    return (known[1].reason or "not a transcript") if known[1].role == "ignored" else None


def _zip_of(name: str, members: _Sorted) -> IO[bytes]:
    out = tempfile.TemporaryFile()  # noqa: SIM115  # whoever asked closes it
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for named in members.whole:
            with archive.open(_member(name, named.name), "w") as target, named.path.open("rb") as source:
                while chunk := source.read(CHUNK_BYTES):
                    target.write(chunk)
        for shown, text in members.instead.items():
            archive.writestr(_member(name, shown), text)
        taken = set(archive.namelist())
        for shown, kind in members.special.items():
            special = _member(name, shown)
            special.external_attr = (kind | 0o644) << 16
            if special.filename not in taken:
                archive.writestr(special, b"")
    out.seek(0)
    return out


def _member(name: str, shown: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(shown.removeprefix(f"{name}/"), ONE_TIME)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _extract(named: NamedPath) -> bytes | None:
    """What stays of a member that is a configuration: its extract, nothing of one that must not be kept at all."""
    size = named.path.stat().st_size
    if not may_be(named.name, size):
        return None
    with named.path.open("rb") as raw:
        loaded = load(named.name, raw.read(MOST_BYTES + 1))
    return None if loaded is None else loaded.as_bytes()


def _is_opened(name: str, path: Path, packing: Packing) -> bool:
    """Whether what is in a packed file has to be looked at. A session's own `.jsonl.zst` is not unpacked for this."""
    if packing in ("zip", "tar"):
        return True
    try:
        first = _first_bytes(path, packing)
    except (*DAMAGE, OSError):
        return True
    return is_tar(first) or packing_of(first) is not None or may_be(_PACKED.sub("", name), path.stat().st_size)


def _first_bytes(path: Path, packing: Packing) -> bytes:
    with path.open("rb") as raw:
        if packing == "gzip":
            return gzip.GzipFile(fileobj=raw).read(HEAD_BYTES)
        return zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).stream_reader(raw).read(HEAD_BYTES)
