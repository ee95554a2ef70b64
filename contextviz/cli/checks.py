"""System checks: settings that are readable but unwise or misspelt. Each has an id and says what to do."""

from __future__ import annotations

import difflib
import os
import sqlite3
import stat
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

# Read by manage.py before there are settings; where docs/api.md has callers keep their key.
_OWN_ELSEWHERE = {"CONTEXTVIZ_NO_BOOTSTRAP", "CONTEXTVIZ_KEY"}


@register
def check_hosts(**_: Any) -> list[CheckMessage]:
    """A wildcard would undo the protection against DNS rebinding."""
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    return [
        Error(
            "CONTEXTVIZ_ALLOWED_HOSTS holds '*', so any web site could talk to this server through your browser.",
            hint="List the names you use, separated by commas. See docs/settings.md.",
            id="contextviz.E001",
        )
    ]


@register
def check_sqlite(**_: Any) -> list[CheckMessage]:
    """The embedded broker needs UPDATE … RETURNING."""
    if sqlite3.sqlite_version_info >= (3, 35):
        return []
    return [
        Error(
            f"This Python carries SQLite {sqlite3.sqlite_version}; 3.35 or newer is needed.",
            hint="Use a Python built with a newer SQLite, or set CONTEXTVIZ_DATABASE_URL and CONTEXTVIZ_REDIS_URL.",
            id="contextviz.E002",
        )
    ]


@register
def check_data_folder(**_: Any) -> list[CheckMessage]:
    """Transcripts are private."""
    if not stat.S_IMODE(os.stat(settings.DATA_DIR).st_mode) & stat.S_IRWXO:
        return []
    return [
        Warning(
            f"Other users of this machine can look into the data folder {settings.DATA_DIR}.",
            hint=f"Run: chmod 700 {settings.DATA_DIR}",
            id="contextviz.W001",
        )
    ]


@register
def check_stack(**_: Any) -> list[CheckMessage]:
    """Two settings make the scale-out stack; one alone is half of each."""
    if bool(settings.DATABASE_URL) == bool(settings.REDIS_URL):
        return []
    missing = "CONTEXTVIZ_REDIS_URL" if settings.DATABASE_URL else "CONTEXTVIZ_DATABASE_URL"
    return [
        Warning(
            f"{missing} is not set although its counterpart is: the stack is half embedded, half scale-out.",
            hint="Set both for several processes or machines, or neither for one machine. See docs/settings.md.",
            id="contextviz.W002",
        )
    ]


@register
def check_names(**_: Any) -> list[CheckMessage]:
    """A misspelt variable would silently do nothing."""
    known = settings.SETTINGS_READ | _OWN_ELSEWHERE
    messages: list[CheckMessage] = []
    for name in sorted(set(os.environ) - known):
        if name.startswith("CONTEXTVIZ_"):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else "docs/settings.md lists every setting."
            messages.append(Warning(f"{name} is set, but no such setting exists.", hint=hint, id="contextviz.W003"))
    return messages
