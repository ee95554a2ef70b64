"""Signing in with a name and a password: the same time for every wrong answer, and ever longer waits after them."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import transaction

from contextviz.services.accounts.audit import note
from contextviz.services.accounts.people import MOST_PASSWORD_CHARS
from contextviz.store.models import SignInTryRecord

FREE_TRIES_NAME = 5
FREE_TRIES_ADDRESS = 30
LONGEST_WAIT_SECONDS = 300
FORGOTTEN = timedelta(hours=1)
MOST_NAME_CHARS = 150
WRONG = "The name or the password is not right."


class SignInRefused(Exception):
    """Nobody is signed in; the text is a sentence for a person. `wait` in seconds before the next try, else 0."""

    def __init__(self, sentence: str, *, wait: int = 0) -> None:
        super().__init__(sentence)
        self.wait = wait


def sign_in_with_password(name: str, password: str, *, address: str, now: datetime) -> User:
    """Whose name and password these are. Raises SignInRefused.

    A try counts before it is looked at, so that many at once are no way round the wait. An unknown name costs as much
    time as a wrong password: Django hashes in both cases.
    """
    name, password = name[:MOST_NAME_CHARS].replace("\x00", ""), password[: MOST_PASSWORD_CHARS + 1]
    keys = [(_key("name", name.lower()), FREE_TRIES_NAME), (_key("address", address), FREE_TRIES_ADDRESS)]
    wait = max(_count_try(key, free, now) for key, free in keys)
    if wait:
        note("sign_in_failed", name=name, target="too many tries")
        minutes = f"{wait} seconds" if wait < 90 else f"{-(-wait // 60)} minutes"
        raise SignInRefused(f"There were too many wrong tries. Wait {minutes}, then try again.", wait=wait)
    user = authenticate(None, username=name, password=password)
    if not isinstance(user, User):
        note("sign_in_failed", name=name)
        raise SignInRefused(WRONG)
    SignInTryRecord.objects.filter(pk=keys[0][0]).delete()
    SignInTryRecord.objects.filter(last_at__lt=now - FORGOTTEN).delete()
    return user


def _count_try(key: str, free: int, now: datetime) -> int:
    """Count one try; how many seconds it comes too early, 0 where it may be made."""
    with transaction.atomic():
        SignInTryRecord.objects.get_or_create(pk=key, defaults={"last_at": now})
        row = SignInTryRecord.objects.select_for_update().get(pk=key)
        if row.blocked_until is not None and row.blocked_until > now:
            return max(1, round((row.blocked_until - now).total_seconds()))
        if now - row.last_at > FORGOTTEN:
            row.failures = 0
        row.failures += 1
        row.last_at = now
        over = row.failures - free
        wait = min(2.0 ** min(over, 20), LONGEST_WAIT_SECONDS) if over >= 0 else 0
        row.blocked_until = now + timedelta(seconds=wait) if wait else None
        row.save()
    return 0


def _key(kind: str, value: str) -> str:
    return hashlib.sha256(f"{kind}:{value}".encode("utf-8", "surrogatepass")).hexdigest()
