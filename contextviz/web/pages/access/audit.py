"""What was written down, as admins see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from contextviz.events.masking import without_secrets
from contextviz.services.accounts.audit import AuditRow

KINDS: Mapping[str, str] = {
    "sign_in": "signed in",
    "sign_in_failed": "failed to sign in",
    "sign_out": "signed out",
    "key_created": "made a key",
    "key_used": "used a key",
    "key_revoked": "revoked a key",
    "session_deleted": "deleted a session",
    "secret_unmasked": "unmasked a secret",
    "account_changed": "changed an account",
    "privacy_changed": "changed who sees a session",
}


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One act."""

    at: datetime
    who: str
    what: str
    target: str
    address: str


@dataclass(frozen=True, slots=True)
class KindChoice:
    """One kind to filter by."""

    key: str
    text: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Acts, the newest first."""

    rows: list[AuditLine]
    kinds: list[KindChoice]
    # Addresses of the newest and of older acts, "" where there is nothing to go to
    newest_url: str
    older_url: str


def audit_page(rows: list[AuditRow], *, kind: str, older: int | None, is_newest: bool) -> AuditPage:
    """The page."""
    here = reverse("audit")
    lines = [
        AuditLine(
            row.at, row.name or "contextviz", KINDS.get(row.kind, row.kind), without_secrets(row.target), row.address
        )
        for row in rows
    ]
    choices = [KindChoice(key, text, key == kind) for key, text in KINDS.items()]
    chosen = {"kind": kind} if kind in KINDS else {}
    newest = "" if is_newest else here + (f"?{urlencode(chosen)}" if chosen else "")
    return AuditPage(lines, choices, newest, f"{here}?{urlencode({**chosen, 'before': older})}" if older else "")
