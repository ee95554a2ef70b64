"""Loading the demo: its files are written into the data folder, then imported like any others."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.conf import settings

from contextviz import __version__
from contextviz.services.demo import write_demo
from contextviz.services.ingest import import_paths


def open_demo(*, now: datetime) -> UUID:
    """A job that imports the demo; enqueue it after commit. A second time nothing is written and nothing doubled."""
    return import_paths([_written()], now=now, origin="demo")


def _written() -> Path:
    """The demo's folder. It stays, since its summary store is read where it lies."""
    folder = Path(settings.DATA_DIR) / f"demo-{__version__}"
    if folder.is_dir():
        return folder
    # Written aside and renamed: a killed process leaves no half demo, and of two that start together one wins.
    aside = Path(tempfile.mkdtemp(prefix=".demo-", dir=settings.DATA_DIR))
    write_demo(aside)
    try:
        aside.rename(folder)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
    return folder
