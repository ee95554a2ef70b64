"""This installation's own prices and windows, before the tables that are shipped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from django.db import transaction

from contextviz.events.session import Session
from contextviz.store.models import PriceRecord, WindowRecord
from contextviz.store.queries import preferences
from contextviz.tokens.prices import MOST_OVERRIDES, PARTS, BadPrice, PriceTable, override, plain_name, shipped
from contextviz.tokens.windows import window_of

LEAST_WINDOW, LARGEST_WINDOW = 1_000, 100_000_000


def price_table() -> PriceTable:
    """The prices that hold here. One query."""
    return shipped().with_overrides(preferences.own_prices())


def window_here(
    model: str | None, *, largest_prompt: int | None = None, own: Mapping[str, int] | None = None
) -> int | None:
    """The window of `model` where its source reports none: this installation's own, else the table's. One query,
    none where `own` is given."""
    found = _own_window(model)
    return window_of(model, largest_prompt=largest_prompt) if found is None else found


def use_own_window(session: Session) -> None:
    """Set this installation's own window on a session that is being saved and whose source reports none. One query."""
    if session.window is not None and session.window_basis != "table":
        return
    found = _own_window(session.model)
    if found is not None:
        session.window, session.window_basis = found, "table"


def _own_window(model: str | None) -> int | None:
    if not model:
        return None
    names = {model.lower(), plain_name(model)}
    known = preferences.own_windows().items()
    return next((tokens for pattern, tokens in known if any(fnmatchcase(name, pattern) for name in names)), None)


def save_price(pattern: str, parts: Mapping[str, Any], *, now: datetime) -> str:
    """Keep a price of one's own; the pattern as it is kept. Raises BadPrice with a sentence."""
    price = override(pattern, parts)
    with transaction.atomic():
        _with_room(PriceRecord, price.pattern)
        values = {part: getattr(price, part) for part in PARTS}
        PriceRecord.objects.update_or_create(pattern=price.pattern, defaults=values | {"updated_at": now})
    return price.pattern


def save_window(pattern: str, tokens: str, *, now: datetime) -> str:
    """Keep a window of one's own; the pattern as it is kept. Raises BadPrice with a sentence."""
    # A price's pattern is a window's pattern.
    name = override(pattern, {"input": 0, "output": 0}).pattern
    digits = tokens.replace(",", "").replace(" ", "").replace("_", "")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0
    if not LEAST_WINDOW <= number <= LARGEST_WINDOW:
        raise BadPrice(f"{tokens[:40]!r} is not a window; write its tokens, such as 200000.")
    with transaction.atomic():
        _with_room(WindowRecord, name)
        WindowRecord.objects.update_or_create(pattern=name, defaults={"tokens": number, "updated_at": now})
    return name


def _with_room(model: type[PriceRecord] | type[WindowRecord], pattern: str) -> None:
    others = model._default_manager.exclude(pattern=pattern).count()
    if others >= MOST_OVERRIDES:
        raise BadPrice(f"There are {MOST_OVERRIDES} already; remove one first.")


def remove_price(pattern: str) -> None:
    """Go back to the shipped price."""
    PriceRecord.objects.filter(pattern=pattern).delete()


def remove_window(pattern: str) -> None:
    """Go back to the shipped window."""
    WindowRecord.objects.filter(pattern=pattern).delete()
