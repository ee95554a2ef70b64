"""What people did, written down: who, when, what, to what, from where. Rows are only ever added here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.contrib.auth.models import User
from django.utils import timezone

from contextviz.store.bulk import bounded
from contextviz.store.models import AUDIT_KINDS, AuditRecord
from contextviz.store.viewing import current_viewer

Kind = Literal[
    "sign_in", "sign_in_failed", "sign_out", "key_created", "key_used", "key_revoked", "session_deleted",
    "secret_unmasked", "account_changed", "privacy_changed",
]  # fmt: skip
_address: ContextVar[str] = ContextVar("contextviz_address", default="")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One act as admins see it. `name` is empty where a command or a worker did it."""

    id: int
    at: datetime
    kind: str
    name: str
    target: str
    address: str


@contextmanager
def from_address(address: str) -> Iterator[None]:
    """Everything noted inside came from this network address."""
    token = _address.set(address[:64])
    try:
        yield
    finally:
        _address.reset(token)


def note(kind: Kind, *, target: str = "", person: User | None = None, name: str = "") -> None:
    """Write an act down, as done by `person`, else by whoever makes this request; `name` where nobody is known. It
    stands or falls with the caller's transaction."""
    viewer_id = current_viewer().user_id
    actor = person or (User.objects.filter(pk=viewer_id).first() if viewer_id is not None else None)
    AuditRecord.objects.create(
        at=timezone.now(), kind=kind, person=actor, name=bounded(actor.username if actor else name, 150),
        target=bounded(target, 300), address=_address.get(),
    )  # fmt: skip


def audit_page(*, kind: str = "", before: int | None = None, limit: int = 100) -> tuple[list[AuditRow], int | None]:
    """Acts, the newest first, those before the row `before`; and where to go on, None at the end. One query."""
    found = AuditRecord.objects.order_by("-id")
    if kind in AUDIT_KINDS:
        found = found.filter(kind=kind)
    if before is not None:
        found = found.filter(pk__lt=before)
    columns = ("id", "at", "kind", "name", "target", "address")
    rows = [AuditRow(*row) for row in found.values_list(*columns)[: limit + 1]]
    return rows[:limit], rows[limit - 1].id if len(rows) > limit else None
