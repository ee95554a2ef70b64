"""Settings, versions, the files that pages need."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import celery
import django
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.checks import ERROR, WARNING, run_checks

from contextviz import __version__
from contextviz.cli.doctor.check import Check

_SECRET = re.compile(r"SECRET|PASSWORD|_URL$|TOKEN|KEY")
_STATIC = re.compile(r"""\{%\s*static\s+["']([^"']+)["']""")
REINSTALL = "Install the package again, or restore the files of the checkout: git checkout -- static templates"


def settings_checks() -> Iterator[Check]:
    """Every setting with its value, secrets hidden; what the system checks say."""
    for name in sorted(settings.SETTINGS_READ):
        value = os.environ.get(name, "").strip()
        if not value:
            text = "default"
        elif _SECRET.search(name) and not name.endswith("_FILE"):
            text = "set, hidden"
        else:
            text = value
        yield Check("settings", name, "ok", text)
    for message in run_checks():
        if message.level >= ERROR or message.level >= WARNING:
            yield Check("settings", message.id or "check", "problem", message.msg, message.hint or "")


def version_checks() -> Iterator[Check]:
    """What runs here."""
    yield Check("versions", "contextviz", "ok", __version__)
    yield Check("versions", "Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    yield Check("versions", "Django", "ok", django.get_version())
    yield Check("versions", "Celery", "ok", celery.__version__)
    yield Check("versions", "SQLite", "ok", sqlite3.sqlite_version)
    with sqlite3.connect(":memory:") as memory:
        options = {row[0] for row in memory.execute("PRAGMA compile_options")}
    memory.close()
    if "ENABLE_FTS5" not in options and not settings.DATABASE_URL:
        yield Check(
            "versions", "SQLite FTS5", "problem", "this Python's SQLite has no full-text search (FTS5)",
            "Use a Python built with FTS5, or PostgreSQL (CONTEXTVIZ_DATABASE_URL).",
        )  # fmt: skip


def asset_checks() -> Iterator[Check]:
    """The static files that templates name, and the browser code of others by its hash."""
    root = Path(settings.ASSETS_DIR)
    named = {
        name
        for path in sorted((root / "templates").rglob("*.html"))
        for name in _STATIC.findall(path.read_text(encoding="utf-8", errors="replace"))
    }
    missing = sorted(name for name in named if finders.find(name) is None)
    if missing or not named:
        what = f"{len(missing)} are missing, the first is {missing[0]}" if missing else "there are no templates"
        yield Check("files", "static files", "problem", what, REINSTALL)
    else:
        yield Check("files", "static files", "ok", f"{len(named)} named by templates, all there")
    yield _vendor_check(root / "static" / "vendor")


def _vendor_check(folder: Path) -> Check:
    try:
        lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
        sums = [line.split(maxsplit=1) for line in lines if line.strip()]
        wrong = [
            name for digest, name in sums
            if hashlib.sha256((folder / name.lstrip("*")).read_bytes()).hexdigest() != digest
        ]  # fmt: skip
    except (OSError, ValueError) as error:
        return Check("files", "browser code of others", "problem", f"it cannot be checked ({error})", REINSTALL)
    if wrong:
        return Check("files", "browser code of others", "problem", f"{wrong[0]} is not what was released", REINSTALL)
    return Check("files", "browser code of others", "ok", f"{len(sums)} files as released (plotly among them)")
