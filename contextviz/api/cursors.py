"""Cursors: where a list goes on. Opaque to clients, checked when they come back, worth nothing to forge."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from contextviz.api.errors import Refused
from contextviz.store.queries.sessions import SessionPlace

BIGGEST = 2**63 - 1
HASH_DIGITS = 64


def write(kind: str, *place: object) -> str:
    """The cursor of the list `kind` that stands behind `place` (numbers, texts, times, ids)."""
    plain = [_plain(value) for value in place]
    return base64.urlsafe_b64encode(orjson.dumps([kind, *plain])).rstrip(b"=").decode("ascii")


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, UUID) else value


def read_index(kind: str, cursor: str | None) -> int:
    """The index that a page starts at, 0 without a cursor."""
    if cursor is None:
        return 0
    (index,) = _read(kind, cursor, 1)
    if type(index) is not int or not 0 <= index < BIGGEST:
        raise _bad()
    return index + 1


def read_number(kind: str, cursor: str | None) -> int:
    """The number that a page stands behind, 0 without a cursor."""
    return read_index(kind, cursor) - 1 if cursor is not None else 0


def read_hash(kind: str, cursor: str | None) -> str:
    """The hash that a page stands behind, "" without a cursor."""
    if cursor is None:
        return ""
    (text,) = _read(kind, cursor, 1)
    if not isinstance(text, str) or len(text) != HASH_DIGITS or not set(text) <= set("0123456789abcdef"):
        raise _bad()
    return text


def read_session_place(kind: str, cursor: str | None) -> SessionPlace | None:
    """The session that a page stands behind: whether it has a time, the time it is sorted by, and its number."""
    if cursor is None:
        return None
    is_dated, at, number = _read(kind, cursor, 3)
    if type(is_dated) is not bool or type(number) is not int or not 0 <= number <= BIGGEST:
        raise _bad()
    return SessionPlace(is_dated, _time(at), number)


def read_time_and_id(kind: str, cursor: str | None) -> tuple[datetime, UUID] | None:
    """A time and a row's id."""
    if cursor is None:
        return None
    at, text = _read(kind, cursor, 2)
    try:
        return _time(at), UUID(text)
    except (ValueError, AttributeError, TypeError):
        raise _bad() from None


def _read(kind: str, cursor: str, places: int) -> list[Any]:
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        found = orjson.loads(raw)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise _bad() from None
    if not isinstance(found, list) or len(found) != places + 1 or found[0] != kind:
        raise _bad()
    return found[1:]


def _time(value: Any) -> datetime:
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        raise _bad() from None


def _bad() -> Refused:
    sentence = "This cursor is not one of this list. Take `next` from the page before, or leave it out to start."
    return Refused(422, sentence, fields=(("cursor", sentence),))
