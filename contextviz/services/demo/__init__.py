"""The demo: sessions of our own making that fill every page."""

from __future__ import annotations

from pathlib import Path

from contextviz.services.demo.claude import write_claude
from contextviz.services.demo.lossless import write_lossless
from contextviz.services.demo.openclaw import write_openclaw
from contextviz.services.demo.topics import write_topics


def write_demo(folder: Path) -> None:
    """Write the demo's files below `folder`; the same bytes every time, so importing them twice changes nothing."""
    write_claude(folder / "claude")
    write_openclaw(folder / "openclaw")
    write_lossless(folder / "openclaw")
    write_topics(folder / "workspace")
