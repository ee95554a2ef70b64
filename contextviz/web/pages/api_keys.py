"""A person's keys of the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from contextviz.services.api_keys import MOST_LABEL_CHARS, SCOPES, KeyRow

LIFETIMES: Mapping[str, str] = {
    "30": "30 days",
    "90": "90 days",
    "365": "A year",
    "0": "Until it is revoked",
}
USUAL_LIFETIME = "90"
SCOPE_NAMES: Mapping[str, str] = {
    "read": "Read sessions, calls, messages and originals",
    "ingest": "Send files in",
    "operate": "Start and stop jobs: expand, retrieve, delete",
    "unmask": "See values that look like secrets; each time is written down",
}


@dataclass(frozen=True, slots=True)
class TypedKey:
    """What the form holds: a name, the scopes that are ticked, the days that the key is to work."""

    label: str = ""
    scopes: tuple[str, ...] = ("read",)
    days: str = USUAL_LIFETIME


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of the form."""

    key: str
    name: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class KeyLine:
    """One key."""

    label: str
    # Its beginning
    prefix: str
    # What it may do
    scopes: str
    # active, expired or revoked
    state: str
    created_at: datetime
    # None: it never ends, it was never used
    expires_at: datetime | None
    last_used_at: datetime | None
    # Where to post to revoke it, "" where that is done
    revoke_url: str


@dataclass(frozen=True, slots=True)
class KeysPage:
    """The page."""

    # The key that was just made, "" else; it is shown this once
    key: str
    # The person's keys, the newest first
    keys: list[KeyLine]
    # The form
    label: str
    most_label_chars: int
    scopes: list[Choice]
    lifetimes: list[Choice]
    # Why the form made no key, "" where it did
    error: str


def keys_page(keys: list[KeyRow], typed: TypedKey, *, now: datetime, key: str = "", error: str = "") -> KeysPage:
    """The page."""
    return KeysPage(
        key=key,
        keys=[_line(row, now) for row in keys],
        label=typed.label[:MOST_LABEL_CHARS],
        most_label_chars=MOST_LABEL_CHARS,
        scopes=[Choice(scope, SCOPE_NAMES[scope], scope in typed.scopes) for scope in SCOPES],
        lifetimes=[Choice(days, name, days == typed.days) for days, name in LIFETIMES.items()],
        error=error,
    )


def _line(row: KeyRow, now: datetime) -> KeyLine:
    state = row.state(now)
    return KeyLine(
        row.label, row.prefix, ", ".join(row.scopes), state, row.created_at, row.expires_at, row.last_used_at,
        reverse("api_key_revoke", args=[row.id]) if state != "revoked" else "",
    )  # fmt: skip
