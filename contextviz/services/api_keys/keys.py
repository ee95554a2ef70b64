"""Keys of the API: made and shown once, used, revoked. Only a key's hash is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q

from contextviz.commands import command
from contextviz.services.accounts.audit import note
from contextviz.store.models import ApiKeyRecord
from contextviz.store.values import NotFound

SCOPES = ("read", "ingest", "operate", "unmask")
KEY_MARK = "cvz_"
PREFIX_CHARS = 12
MOST_LABEL_CHARS = 120
LONGEST_KEY = 200
USE_SECONDS = 60  # how often at most a use is written down


class KeyRefused(Exception):
    """The key cannot be made or revoked so; the text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key as people see it; `prefix` is its beginning."""

    id: int
    prefix: str
    label: str
    scopes: tuple[str, ...]
    owner: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    def state(self, now: datetime) -> str:
        """active, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Who a request with a key comes from, and what the key may do."""

    key_id: int
    prefix: str
    label: str
    scopes: frozenset[str]
    user: User


def create_key(
    user_id: int, *, label: str, scopes: Iterable[str], now: datetime, expires_at: datetime | None = None
) -> tuple[KeyRow, str]:
    """A new key of a person, as its row and as the text to be shown once. Raises KeyRefused."""
    name = " ".join("".join(char if char.isprintable() else " " for char in label).split())
    wanted = set(scopes)
    if not name:
        raise KeyRefused("Give the key a name that says what it is for.")
    if len(name) > MOST_LABEL_CHARS:
        raise KeyRefused(f"The name is too long; write at most {MOST_LABEL_CHARS} characters.")
    if not wanted or not wanted.issubset(SCOPES):
        raise KeyRefused(f"Choose what the key may do: {', '.join(SCOPES)}, one or more of them.")
    if expires_at is not None and expires_at <= now:
        raise KeyRefused("The key would have expired already; choose a later day.")
    key = KEY_MARK + secrets.token_urlsafe(32)
    record = ApiKeyRecord.objects.create(
        digest=_digest(key), prefix=key[:PREFIX_CHARS], label=name, user_id=user_id,
        scopes=[scope for scope in SCOPES if scope in wanted], created_at=now, expires_at=expires_at,
    )  # fmt: skip
    note("key_created", target=f"{record.prefix}… {name}: {', '.join(record.scopes)}")
    return _row(record), key


def list_keys(user_id: int | None = None) -> list[KeyRow]:
    """Keys of one person, or of all, the newest first; revoked ones too. One query."""
    found = ApiKeyRecord.objects.select_related("user").order_by("-created_at", "-id")
    if user_id is not None:
        found = found.filter(user_id=user_id)
    return [_row(record) for record in found]


def revoke_key(key_id: int, *, now: datetime, user_id: int | None = None) -> KeyRow:
    """From now on the key opens nothing; doing it again changes nothing. With `user_id` only that person's own key.

    Raises NotFound.
    """
    found = ApiKeyRecord.objects.select_related("user").filter(pk=key_id)
    if user_id is not None:
        found = found.filter(user_id=user_id)
    record = found.first()
    if record is None:
        raise NotFound("There is no such key here.")
    if ApiKeyRecord.objects.filter(pk=key_id, revoked_at__isnull=True).update(revoked_at=now):
        note("key_revoked", target=f"{record.prefix}… {record.label} of {record.user.get_username()}")
    record.revoked_at = record.revoked_at or now
    return _row(record)


def find_key(beginning: str) -> KeyRow:
    """The one key that begins with `beginning` (at least the shown prefix, or the whole key). Raises KeyRefused."""
    prefix = beginning.strip()[:PREFIX_CHARS]
    found = list(ApiKeyRecord.objects.select_related("user").filter(prefix=prefix)[:2])
    if not found:
        raise KeyRefused(f"No key begins with {prefix!r}. Run {command('api-key list')} to see their beginnings.")
    if len(found) > 1:
        raise KeyRefused(f"Several keys begin with {prefix!r}. Revoke the right one under Settings in the browser.")
    return _row(found[0])


def authenticate(key: str, *, now: datetime) -> KeyHolder | None:
    """Whose key it is, None where it is unknown, expired, revoked or of somebody who may not come in any more.

    One query, and one write a minute at most.
    """
    if not key.startswith(KEY_MARK) or len(key) > LONGEST_KEY:
        return None
    is_live = Q(expires_at__isnull=True) | Q(expires_at__gt=now)
    found = ApiKeyRecord.objects.select_related("user").filter(
        is_live, digest=_digest(key), revoked_at__isnull=True, user__is_active=True
    )
    record = found.first()
    if record is None:
        return None
    _note_use(record, now)
    return KeyHolder(record.pk, record.prefix, record.label, frozenset(record.scopes), record.user)


def _note_use(record: ApiKeyRecord, now: datetime) -> None:
    before = now - timedelta(seconds=USE_SECONDS)
    if record.last_used_at is None or record.last_used_at <= before:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=before)
        is_noted = ApiKeyRecord.objects.filter(stale, pk=record.pk).update(last_used_at=now)
        if is_noted and (record.last_used_at is None or record.last_used_at.date() != now.date()):
            note("key_used", target=f"{record.prefix}… {record.label}: first use this day", person=record.user)


def _digest(key: str) -> str:
    # The key has 256 random bits, so a plain hash is enough: there is nothing to guess.
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _row(record: ApiKeyRecord) -> KeyRow:
    return KeyRow(
        record.pk, record.prefix, record.label, tuple(record.scopes), record.user.get_username(), record.created_at,
        record.expires_at, record.last_used_at, record.revoked_at,
    )  # fmt: skip
