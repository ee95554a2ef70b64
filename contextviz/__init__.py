"""contextviz: what an agent's context window held at every model call.

This module knows only the version. It imports no framework, so that the pure floors can be used alone.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "contextviz-dashboard"
_HEADING = re.compile(r"^## (\d+\.\d+\.\d+\S*)", re.MULTILINE)


def read_version(changelog: Path) -> str | None:
    """The newest released version in a change log, or None when the file is absent or names none."""
    if not changelog.is_file():
        return None
    found = _HEADING.search(changelog.read_text(encoding="utf-8"))
    return found.group(1) if found else None


def _own_version() -> str:
    # In a checkout the change log beside the package is the truth; an installed wheel has it in its metadata.
    from_changelog = read_version(Path(__file__).resolve().parent.parent / "CHANGELOG.md")
    if from_changelog:
        return from_changelog
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0.0.0"


__version__ = _own_version()
