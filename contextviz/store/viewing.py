"""Whose eyes a query has: every list and every object of a private session is filtered here, for all callers alike.

A request's viewer is set once, by the web's middleware; commands and workers have none and see everything. It is a
context variable and no argument, so that a query cannot be called without it by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q

Role = Literal["viewer", "operator", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: a person by id, and what that person is here. `role` "nobody" sees nothing, "system" everything."""

    user_id: int | None
    role: Role | Literal["nobody", "system"]

    @property
    def sees_all(self) -> bool:
        """Whether nothing is hidden."""
        return self.role in ("admin", "system")


SYSTEM = Viewer(None, "system")
NOBODY = Viewer(None, "nobody")
_current: ContextVar[Callable[[], Viewer]] = ContextVar("contextviz_viewer", default=lambda: SYSTEM)


def role_of(user: User) -> Role:
    """A person's role, kept in Django's own two flags, so that it comes with the person and needs no query."""
    if user.is_superuser:
        return "admin"
    return "operator" if user.is_staff else "viewer"


def flags_of(role: Role) -> dict[str, bool]:
    """The columns of a user that say `role`."""
    return {"is_superuser": role == "admin", "is_staff": role in ("admin", "operator")}


def viewer_of(user: AbstractBaseUser | AnonymousUser | None) -> Viewer:
    """The eyes of a signed-in person; of anybody else, NOBODY."""
    if not isinstance(user, User) or not user.is_active:
        return NOBODY
    return Viewer(user.pk, role_of(user))


def viewer_of_id(user_id: int | None) -> Viewer:
    """The eyes of the person who opened a job, for the process that does it; SYSTEM where nobody in person did."""
    if user_id is None:
        return SYSTEM
    return viewer_of(User.objects.filter(pk=user_id).first())


def current_viewer() -> Viewer:
    """Who looks now."""
    return _current.get()()


@contextmanager
def viewing(viewer: Viewer | Callable[[], Viewer]) -> Iterator[None]:
    """Look with these eyes inside. A function is asked at each query: the API learns late who calls."""
    token = _current.set(viewer if callable(viewer) else lambda: viewer)
    try:
        yield
    finally:
        _current.reset(token)


def seen_sessions(path: str = "") -> Q:
    """The condition on sessions, at `path` (`session__`) from the row: not private, or one's own."""
    viewer = current_viewer()
    if viewer.sees_all:
        return Q()
    if viewer.user_id is None:
        return Q(pk__in=[])
    return Q(**{f"{path}is_private": False}) | Q(**{f"{path}owner_id": viewer.user_id})


def seen_work(path: str = "") -> Q:
    """The condition on jobs and upload batches, at `path` from the row: not private, or one's own."""
    viewer = current_viewer()
    if viewer.sees_all:
        return Q()
    if viewer.user_id is None:
        return Q(pk__in=[])
    return Q(**{f"{path}is_private": False}) | Q(**{f"{path}person_id": viewer.user_id})


def is_seen(*, is_private: bool, owner_id: int | None) -> bool:
    """The same of a row at hand."""
    viewer = current_viewer()
    return viewer.sees_all or (viewer.user_id is not None and (not is_private or owner_id == viewer.user_id))
