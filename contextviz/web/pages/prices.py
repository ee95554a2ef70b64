"""Prices and windows: what is shipped, and what this installation says itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contextviz.charts import words
from contextviz.store.queries import preferences
from contextviz.tokens.prices import PARTS, Price, shipped
from contextviz.tokens.windows import TABLE_VERSION

NAMES: Mapping[str, str] = {
    "input": "Input",
    "cache_read": "Cache read",
    "cache_write_5m": "Cache write, 5 min",
    "cache_write_1h": "Cache write, 1 h",
    "output": "Output",
}


@dataclass(frozen=True, slots=True)
class PriceField:
    """One part of a price in the form."""

    name: str
    label: str
    value: str
    required: bool


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price, a cell for each part in the order of the form."""

    pattern: str
    cells: list[str]
    # The largest prompt that it holds for, None for any
    up_to: int | None


@dataclass(frozen=True, slots=True)
class PricesPage:
    """The page."""

    # This installation's own prices, and its own windows as (pattern, tokens)
    own: list[PriceRow]
    windows: list[tuple[str, int]]
    # What comes with this version
    table: list[PriceRow]
    version: str
    date: str
    windows_version: str
    # The form for a price, with what was typed where it was refused
    pattern: str
    fields: list[PriceField]
    window_pattern: str
    window_tokens: str
    # Why the last form was not kept, "" where it was; and which one: price, window
    error: str
    refused: str


@dataclass(frozen=True, slots=True)
class Typed:
    """What a refused form held."""

    values: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    refused: str = ""


def prices_page(typed: Typed) -> PricesPage:
    """The page. Two queries."""
    own = [Price(pattern, basis="override", **parts) for pattern, parts in preferences.own_prices().items()]  # type: ignore[arg-type]
    table = shipped()
    price = typed.values if typed.refused == "price" else {}
    window = typed.values if typed.refused == "window" else {}
    return PricesPage(
        own=[_row(price) for price in own],
        windows=list(preferences.own_windows().items()),
        table=[_row(price) for price in table.prices],
        version=table.version,
        date=table.date,
        windows_version=TABLE_VERSION,
        pattern=price.get("pattern", "")[:120],
        fields=[PriceField(part, NAMES[part], price.get(part, "")[:40], part in ("input", "output")) for part in PARTS],
        window_pattern=window.get("pattern", "")[:120],
        window_tokens=window.get("tokens", "")[:40],
        error=typed.error,
        refused=typed.refused,
    )


def _row(price: Price) -> PriceRow:
    amounts = [getattr(price, part) for part in PARTS]
    cells = [words.UNKNOWN if amount is None else f"${amount:,g}" for amount in amounts]
    return PriceRow(price.pattern, cells, price.up_to_prompt_tokens)
