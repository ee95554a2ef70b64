"""Accounts: made, given a role, a password, stopped. An account is never removed, since sessions and jobs name it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from contextviz.services.accounts.audit import note
from contextviz.store.values import NotFound
from contextviz.store.viewing import ROLES, Role, flags_of, role_of

FIRST_NAME = "admin"
_NAME = re.compile(r"[\w.@+-]{1,60}")
MOST_PASSWORD_CHARS = 1000


class AccountRefused(Exception):
    """The account cannot be made or changed so; the text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """One account. `has_password` is false for the embedded stack's owner, whom tokens alone sign in."""

    id: int
    name: str
    role: Role
    is_active: bool
    has_password: bool
    last_sign_in: datetime | None


def accounts() -> list[AccountRow]:
    """Every account by name. One query."""
    return [_row(user) for user in User.objects.order_by("username")]


def get_account(user_id: int) -> AccountRow:
    """One account; raises NotFound."""
    return _row(_user(user_id))


def has_passwords() -> bool:
    """Whether anybody can sign in with a password. One query."""
    return _with_password().exists()


def has_admin_with_password() -> bool:
    """Whether an admin can sign in with a password: what an address that others can reach needs. One query."""
    return _with_password().filter(is_superuser=True).exists()


def has_signed_in() -> bool:
    """Whether anybody has ever signed in here. One query."""
    return User.objects.filter(last_login__isnull=False).exists()


def has_others(user_id: int) -> bool:
    """Whether there is anybody from whom this person could keep a session private. One query."""
    return User.objects.filter(is_active=True).exclude(pk=user_id).exists()


def create_account(name: str, *, role: str, password: str) -> AccountRow:
    """A new account that signs in with a password; raises AccountRefused."""
    wanted = _role(role)
    if not _NAME.fullmatch(name):
        raise AccountRefused("A name has 1 to 60 letters, digits and . _ @ + - and nothing else.")
    user = User(username=name, **flags_of(wanted))
    _set_password(user, password)
    with transaction.atomic():
        if User.objects.filter(username__iexact=name).exists():
            raise AccountRefused(f"There is an account {name} already. Choose another name, or change that one.")
        user.save()
        note("account_changed", target=f"{name}: made, {wanted}")
    return _row(user)


def change_role(user_id: int, role: str) -> AccountRow:
    """Give an account another role; raises AccountRefused where no admin would be left, NotFound."""
    user, wanted = _user(user_id), _role(role)
    with transaction.atomic():
        if wanted != "admin":
            _refuse_without_admin(user)
        User.objects.filter(pk=user_id).update(**flags_of(wanted))
        note("account_changed", target=f"{user.username}: {wanted}")
    return get_account(user_id)


def set_active(user_id: int, *, is_active: bool) -> AccountRow:
    """Stop an account (its sign-ins end, its keys open nothing) or let it in again; raises AccountRefused, NotFound."""
    user = _user(user_id)
    with transaction.atomic():
        if not is_active:
            _refuse_without_admin(user)
            end_sign_ins(user_id)
        User.objects.filter(pk=user_id).update(is_active=is_active)
        note("account_changed", target=f"{user.username}: {'let in again' if is_active else 'stopped'}")
    return get_account(user_id)


def reset_password(user_id: int, password: str) -> AccountRow:
    """Give somebody a password, which ends that person's sign-ins; raises AccountRefused, NotFound."""
    user = _user(user_id)
    _set_password(user, password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        note("account_changed", target=f"{user.username}: password given")
    return _row(user)


def change_password(user: User, *, old: str, new: str, again: str) -> None:
    """Change one's own password; whoever has none yet needs no old one. Raises AccountRefused."""
    if user.has_usable_password() and not user.check_password(old[:MOST_PASSWORD_CHARS]):
        raise AccountRefused("The old password is not right. Nothing was changed.")
    if new != again:
        raise AccountRefused("The two new passwords differ. Nothing was changed.")
    _set_password(user, new)
    with transaction.atomic():
        user.save(update_fields=["password"])
        note("account_changed", target=f"{user.username}: own password changed", person=user)


def first_account() -> bool:
    """Make the account `admin` from CONTEXTVIZ_ADMIN_PASSWORD_FILE where no admin has a password; whether it was made.

    Raises AccountRefused where the password is too weak.
    """
    password = settings.ADMIN_PASSWORD
    if not password or has_admin_with_password():
        return False
    user = User.objects.filter(username=FIRST_NAME).first() or User(username=FIRST_NAME)
    user.is_active = True
    for name, value in flags_of("admin").items():
        setattr(user, name, value)
    try:
        _set_password(user, password)
    except AccountRefused as refused:
        raise AccountRefused(f"The password in CONTEXTVIZ_ADMIN_PASSWORD_FILE cannot be used. {refused}") from refused
    with transaction.atomic():
        user.save()
        note("account_changed", target=f"{FIRST_NAME}: made from CONTEXTVIZ_ADMIN_PASSWORD_FILE, admin")
    return True


def end_sign_ins(user_id: int) -> int:
    """End every browser session of a person; how many. They are looked through, since a session names its person in
    its signed body alone."""
    ended = 0
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator(chunk_size=500):
        if session.get_decoded().get("_auth_user_id") == str(user_id):
            session.delete()
            ended += 1
    return ended


def _set_password(user: User, password: str) -> None:
    if len(password) > MOST_PASSWORD_CHARS:
        raise AccountRefused(f"A password has at most {MOST_PASSWORD_CHARS:,} characters.")
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise AccountRefused(" ".join(error.messages)) from error
    user.set_password(password)


def _role(name: str) -> Role:
    for role in ROLES:
        if role == name:
            return role
    raise AccountRefused(f"There is no role {name[:20]!r}; choose {', '.join(ROLES)}.")


def _refuse_without_admin(user: User) -> None:
    # Locked, so that two admins cannot stop each other at the same time.
    admins = list(
        User.objects.select_for_update().filter(is_superuser=True, is_active=True).values_list("pk", flat=True)
    )
    if user.pk in admins and len(admins) == 1:
        raise AccountRefused("This is the only admin. Make another account an admin first.")


def _with_password() -> QuerySet[User]:
    return User.objects.filter(is_active=True).exclude(password__startswith="!").exclude(password="")


def _user(user_id: int) -> User:
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise NotFound("There is no such account here.")
    return user


def _row(user: User) -> AccountRow:
    return AccountRow(
        user.pk, user.username, role_of(user), user.is_active, user.has_usable_password(), user.last_login
    )
