"""Keys of the API: made and shown once, used, revoked."""

from __future__ import annotations

from contextviz.services.api_keys.keys import (
    MOST_LABEL_CHARS,
    SCOPES,
    KeyHolder,
    KeyRefused,
    KeyRow,
    authenticate,
    create_key,
    find_key,
    list_keys,
    revoke_key,
)

__all__ = [
    "MOST_LABEL_CHARS",
    "SCOPES",
    "KeyHolder",
    "KeyRefused",
    "KeyRow",
    "authenticate",
    "create_key",
    "find_key",
    "list_keys",
    "revoke_key",
]
