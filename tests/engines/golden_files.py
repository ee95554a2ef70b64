"""Reading a folder of goldens: any part of the set will do, and what nothing here checks is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest


def part(goldens: Path, name: str) -> Path:
    """One engine's folder of the set; the test is skipped where it is not in it."""
    path = goldens / name
    if not path.is_dir():
        pytest.skip(f"there are no goldens of {name} in {goldens}")
    return path


def loaded(path: Path) -> Any:
    """A file of the set, read as JSON; the test is skipped where this part of the set has none."""
    if not path.is_file():
        pytest.skip(f"{path.name} is not in this part of the set")
    return json.loads(path.read_text(encoding="utf-8"))


def check_keys(entry: dict[str, Any], known: set[str], where: str) -> None:
    """An entry has no field that is not looked at."""
    assert set(entry) <= known, f"{where} has fields that are not checked: {sorted(set(entry) - known)}"


def name_unknown(folder: Path, known: Collection[str], also: Callable[[str], object] = lambda name: False) -> None:
    """Name the files that nothing here checks, as the reason why the test is skipped; it passes where there are none.

    `known` are files, or folders with all that is in them, below `folder`.
    """
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    other = sorted(
        path.as_posix()
        for path in found
        if path.as_posix() not in known and path.parts[0] not in known and not also(path.as_posix())
    )
    if other:
        pytest.skip(f"nothing here checks {', '.join(other)} of {folder}")
