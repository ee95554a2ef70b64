"""What may come out of an archive: regular files under names that stay inside their folder."""

from __future__ import annotations

import re
import stat
import tarfile
import zipfile

MAX_NAME_BYTES = 200
MAX_PARTS = 32
MAX_HEADER_BYTES = 1024 * 1024
TAR_MAGIC_AT = 257
# Why a member that holds nothing of its own is not read.
LINK = "it is a link"
DEVICE = "it is a device or another special file"
_DRIVE = re.compile(r"^[A-Za-z]:")
_LONG_HEADERS = frozenset(
    {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE}
)


class UnsafeMember(Exception):
    """Something in an archive is not taken out of it; the text says why, for a person."""


class SafeTarInfo(tarfile.TarInfo):
    """A member whose long name or extended header cannot be as large as memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> SafeTarInfo:
        """See tarfile.TarInfo.frombuf; raises UnsafeMember for headers of more than 1 MiB."""
        info = super().frombuf(buf, encoding, errors)
        if info.type in _LONG_HEADERS and info.size > MAX_HEADER_BYTES:
            raise UnsafeMember("a name or header in it is larger than 1 MiB")
        return info


def is_tar(head: bytes) -> bool:
    """Whether a file begins as a tar archive does."""
    return head[TAR_MAGIC_AT : TAR_MAGIC_AT + 5] == b"ustar"


def member_path(name: str) -> str:
    """A member's name as a relative path of ours; raises UnsafeMember where it leads out of the archive."""
    good = name.encode("utf-8", errors="replace").decode("utf-8").replace("\\", "/")
    if good.startswith("/") or _DRIVE.match(good):
        raise UnsafeMember("its name is an absolute path")
    parts = [part for part in good.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UnsafeMember("its name leads out of the archive")
    if not parts or len(parts) > MAX_PARTS:
        raise UnsafeMember("it has no name" if not parts else f"it lies deeper than {MAX_PARTS} folders")
    return "/".join(_component(part) for part in parts)


def _component(part: str) -> str:
    """One part of a path, printable and short enough for any file system; the end stays, since it says the kind."""
    clean = "".join(char if char.isprintable() else "\ufffd" for char in part)
    raw = clean.encode("utf-8")
    return clean if len(raw) <= MAX_NAME_BYTES else raw[-MAX_NAME_BYTES:].decode("utf-8", errors="ignore")


def why_not_regular(member: tarfile.TarInfo) -> str | None:
    """Why a tar member is not read: `folder`, or a reason for people; None for a regular file."""
    if member.isdir():
        return "folder"
    if member.issym() or member.islnk():
        return LINK
    return None if member.isreg() else DEVICE


def why_not_regular_zip(member: zipfile.ZipInfo) -> str | None:
    """Why a zip member is not read: `folder`, or a reason for people; None for a regular file."""
    if member.is_dir():
        return "folder"
    mode = member.external_attr >> 16
    if mode and stat.S_ISLNK(mode):
        return LINK
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return DEVICE
    return "it is encrypted" if member.flag_bits & 1 else None
