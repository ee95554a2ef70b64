"""Fixtures of the engines' tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def goldens(request: pytest.FixtureRequest) -> Path:
    """The folder of engine goldens: `CONTEXTVIZ_GOLDENS`, else the one among the shared cases; skipped where absent."""
    given = os.environ.get("CONTEXTVIZ_GOLDENS")
    path = Path(given) if given else request.getfixturevalue("shared") / "cases" / "engines"
    if not path.is_dir():
        pytest.skip(f"the engines' goldens are not on this machine (looked for {path})")
    return path
