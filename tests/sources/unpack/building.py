"""Packed files for tests, and what comes out of them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from contextviz.cli.inspect import main
from contextviz.events.problem import ReadProblem
from contextviz.events.session import SourceFile
from contextviz.sources.files import walk
from contextviz.sources.unpack import Limits, Unpacked, unpacked

TALK = b'{"role": "user", "content": "hi"}\n{"role": "assistant", "content": "yo"}\n'


def opened(folder: Path, limits: Limits | None = None) -> tuple[dict[str, bytes], Unpacked]:
    with unpacked(list(walk(folder)), limits) as found:
        return {one.name: one.path.read_bytes() for one in found.paths}, found


def codes(found: Unpacked) -> list[str]:
    return [one.code for one in found.items if isinstance(one, ReadProblem)]


def told(found: Unpacked) -> dict[str, tuple[str, str | None]]:
    return {one.path: (one.role, one.reason) for one in found.items if isinstance(one, SourceFile)}


def tar_with(path: Path, members: list[tuple[tarfile.TarInfo, bytes]], mode: Any = "w") -> None:
    with tarfile.open(path, mode) as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))


def info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def talk(count: int) -> bytes:
    """A chat of so many messages, of words that no compressor makes much smaller."""
    said = (" ".join(hashlib.sha256(f"{n} {m}".encode()).hexdigest() for m in range(20)) for n in range(count))
    rows = ({"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def report_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([str(folder), "--json"]) == 0
    return json.loads(capsys.readouterr().out)
