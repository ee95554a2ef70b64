"""Accounts as admins see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from contextviz.services.accounts.people import AccountRow
from contextviz.services.api_keys import KeyRow
from contextviz.store.viewing import ROLES

ROLE_WORDS: Mapping[str, str] = {
    "viewer": "viewer: looks, changes nothing",
    "operator": "operator: also uploads, imports, expands, retrieves, tries jobs again and stops them",
    "admin": "admin: also accounts, prices, the audit, everybody's sessions and keys",
}


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """One role of the form."""

    key: str
    text: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of the list."""

    name: str
    url: str
    role: str
    # How it signs in: password, or token alone
    way: str
    state: str
    # None: never
    last_sign_in: datetime | None


@dataclass(frozen=True, slots=True)
class AccountsPage:
    """The list, and the form for another account."""

    accounts: list[AccountLine]
    roles: list[RoleChoice]
    # What was typed where it was refused, and why
    name: str
    error: str


@dataclass(frozen=True, slots=True)
class KeyOfAccount:
    """One key of an account that still works."""

    label: str
    prefix: str
    revoke_url: str


@dataclass(frozen=True, slots=True)
class AccountPage:
    """One account with what can be changed."""

    account: AccountRow
    roles: list[RoleChoice]
    keys: list[KeyOfAccount]
    # Whether it is the reader's own
    is_own: bool
    error: str


def accounts_page(rows: list[AccountRow], *, name: str = "", role: str = "viewer", error: str = "") -> AccountsPage:
    """The list."""
    return AccountsPage([_line(row) for row in rows], _roles(role), name, error)


def account_page(row: AccountRow, keys: list[KeyRow], *, is_own: bool, now: datetime, error: str = "") -> AccountPage:
    """One account."""
    live = [key for key in keys if key.state(now) == "active"]
    lines = [KeyOfAccount(key.label, key.prefix, reverse("api_key_revoke", args=[key.id])) for key in live]
    return AccountPage(row, _roles(row.role), lines, is_own, error)


def _roles(chosen: str) -> list[RoleChoice]:
    return [RoleChoice(role, ROLE_WORDS[role], role == chosen) for role in ROLES]


def _line(row: AccountRow) -> AccountLine:
    way = "password" if row.has_password else "sign-in address alone"
    state = "active" if row.is_active else "stopped"
    return AccountLine(row.name, reverse("account", args=[row.id]), row.role, way, state, row.last_sign_in)
