"""Who may come in: one-time sign-in tokens, and the single local user whom they sign in."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import Q

from contextviz.store.models import SignInTokenRecord
from contextviz.store.viewing import flags_of

OWNER_NAME = "owner"
TOKEN_LIFETIME = timedelta(minutes=15)


def _digest(token: str) -> str:
    # The token has 256 random bits, so a plain hash is enough: there is nothing to guess.
    return hashlib.sha256(token.encode()).hexdigest()


def issue_token(*, now: datetime) -> str:
    """A fresh one-time token, valid for 15 minutes from `now`; only its hash is kept. Used and old ones are removed."""
    SignInTokenRecord.objects.filter(Q(expires_at__lte=now) | Q(used_at__isnull=False)).delete()
    token = secrets.token_urlsafe(32)
    SignInTokenRecord.objects.create(digest=_digest(token), created_at=now, expires_at=now + TOKEN_LIFETIME)
    return token


def redeem_token(token: str, *, now: datetime) -> bool:
    """Use the token up: true exactly once per issued token, and never after it has expired."""
    # One conditional UPDATE, so that two requests with the same token cannot both win.
    unused = SignInTokenRecord.objects.filter(digest=_digest(token), used_at__isnull=True, expires_at__gt=now)
    return unused.update(used_at=now) == 1


def local_owner() -> User:
    """The one user of the embedded stack, an admin, made on first use; it has no password, tokens alone sign it in."""
    model = get_user_model()
    owner, created = model.objects.get_or_create(username=OWNER_NAME, defaults=flags_of("admin"))
    if created:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    return owner


def is_near(address: str) -> bool:
    """Whether a network address, as a server tells it of a request, is this machine's own."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)
