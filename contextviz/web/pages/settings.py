"""Settings, and what a deletion would take."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse

from contextviz import __version__
from contextviz.charts import words
from contextviz.services.preferences import THEMES
from contextviz.store.queries.preferences import Preferences
from contextviz.store.values import SessionRow, SourceRow
from contextviz.store.viewing import role_of

DENSITY_NAMES = {"roomy": "Comfortable", "normal": "Normal", "compact": "Compact"}
THEME_NAMES = {"system": "As the system", "light": "Light", "dark": "Dark"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One line about this installation."""

    name: str
    value: str
    # Whether the value is something to paste: a path, a setting
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class ThemeChoice:
    """One appearance."""

    key: str
    name: str
    current: bool


@dataclass(frozen=True, slots=True)
class DeletableSession:
    """A session that can be deleted from here."""

    title: str
    url: str
    delete_url: str
    # Calls and messages, as the size that people know
    size: str


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """The settings."""

    # Appearances, and the time zone that times are shown in (a name of the IANA data base)
    themes: list[ThemeChoice]
    # How close rows stand, on this browser
    densities: list[ThemeChoice]
    time_zone: str
    # Every name that can be chosen
    zones: list[str]
    # Why the last form was not kept, "" where it was
    error: str
    # This installation: data folder, database, broker, limits, version
    facts: list[Fact]
    # The newest sessions, each with its deletion
    sessions: list[DeletableSession]


@dataclass(frozen=True, slots=True)
class PersonPart:
    """Who reads the settings, and what only concerns that person."""

    name: str
    role: str
    has_password: bool
    # Whether there is anybody else here, from whom something could be private
    has_others: bool
    # Whether uploads are private unless said otherwise
    is_private: bool


@dataclass(frozen=True, slots=True)
class DeletedFile:
    """A raw file that a session is read from."""

    name: str
    # In bytes
    size: int
    # Whether it lies outside the data folder and stays there untouched
    stays: bool


@dataclass(frozen=True, slots=True)
class DeletePage:
    """What goes when a session is deleted, for a person to confirm."""

    # The session's title and page
    title: str
    url: str
    # Where to post the confirmation
    action: str
    # What of it is stored, as counts in words
    counts: list[Fact]
    # The files that it was read from
    files: list[DeletedFile]


def person_part(user: User, chosen: Preferences, *, has_others: bool) -> PersonPart:
    """Who reads the settings."""
    return PersonPart(user.username, role_of(user), user.has_usable_password(), has_others, chosen.is_private)


def settings_page(
    chosen: Preferences, recent: list[SessionRow], *, density: str = "", time_zone: str | None = None, error: str = ""
) -> SettingsPage:
    """The page; `time_zone` is what was typed where it was refused."""
    return SettingsPage(
        themes=[ThemeChoice(key, THEME_NAMES[key], key == chosen.theme) for key in THEMES],
        densities=[ThemeChoice(key, name, key == (density or "normal")) for key, name in DENSITY_NAMES.items()],
        time_zone=chosen.time_zone if time_zone is None else time_zone,
        zones=sorted(available_timezones()),
        error=error,
        facts=_facts(),
        sessions=[
            DeletableSession(
                row.title or row.source_id,
                reverse("session", args=[row.id]),
                reverse("session_delete", args=[row.id]),
                f"{words.counted(row.message_count, 'message')}, {words.counted(row.call_count, 'call')}",
            )
            for row in recent
        ],
    )


def _facts() -> list[Fact]:
    folder = Path(settings.DATA_DIR)
    facts = [Fact("Data folder", str(folder), True)]
    if connection.vendor == "sqlite":
        database = Path(str(connection.settings_dict["NAME"]))
        size = f", {words.size(database.stat().st_size)}" if database.is_file() else ""
        facts.append(Fact("Database", f"SQLite {sqlite3.sqlite_version} (embedded){size}"))
    else:
        facts.append(Fact("Database", "PostgreSQL (CONTEXTVIZ_DATABASE_URL)"))
    facts.append(Fact("Broker", "Redis (CONTEXTVIZ_REDIS_URL)" if settings.REDIS_URL else "SQLite (embedded)"))
    facts.append(Fact("Largest upload", f"{settings.MAX_UPLOAD_BYTES // (1024 * 1024):,} MB a file"))
    facts.append(Fact("Free on its disk", words.size(shutil.disk_usage(folder).free)))
    facts.append(Fact("Version", f"contextviz {__version__}"))
    return facts


def delete_page(row: SessionRow, sources: list[SourceRow]) -> DeletePage:
    """What a deletion takes."""
    counts = [
        ("Messages", row.message_count),
        ("Model calls", row.call_count),
        ("Context snapshots", row.snapshot_count),
        ("Compactions", row.compaction_count),
        ("Summary nodes", row.node_count),
        ("Topics", row.topic_count),
    ]
    return DeletePage(
        title=row.title or row.source_id,
        url=reverse("session", args=[row.id]),
        action=reverse("session_delete", args=[row.id]),
        counts=[Fact(name, f"{count:,}") for name, count in counts if count],
        files=[DeletedFile(one.name, one.size, one.is_in_place) for one in sources],
    )
