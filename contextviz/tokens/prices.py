"""What tokens cost: a table of list prices of ours with a version and a date, and a person's own prices before it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from contextviz.events.usage import TokenUsage

CostBasis = Literal["reported", "table", "override", "unknown"]
# Some models cost more above this; a table's row says whether its price holds there.
LONG_PROMPT = 200_000
MOST_OVERRIDES = 200
MILLION = 1_000_000
PARTS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
NEEDED = ("input", "output")
_DATED = re.compile(r"(-20\d\d-?\d\d-?\d\d|@20\d{6}|-latest)?(-v\d+(:\d+)?)?(\[1m\])?$")
_PREFIX = re.compile(r"^(?:.*/)?(?:[a-z]{2,6}\.)?(?:anthropic\.|openai\.)?")
_PATTERN = re.compile(r"[\w.:@/*-]{1,120}")


class BadPrice(ValueError):
    """A price that cannot be used; the text is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens for the models that `pattern` names; None: there is no such price.

    `pattern` is a model's name, with `*` for anything. `up_to_prompt_tokens` is the largest prompt the price is
    known to hold for.
    """

    pattern: str
    input: float
    output: float
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None
    up_to_prompt_tokens: int | None = None
    basis: Literal["table", "override"] = "table"


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount in US dollars and where it comes from; `usd` is None, basis "unknown", where nothing says it."""

    usd: float | None
    basis: CostBasis


UNKNOWN = Cost(None, "unknown")


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices in the order they are asked: the first whose pattern fits a model's name is its price."""

    version: str
    date: str
    prices: tuple[Price, ...]

    def of(self, model: str | None) -> Price | None:
        """The price of `model`, None where the table does not have it."""
        if not model:
            return None
        names = {model.lower(), plain_name(model)}
        return next((row for row in self.prices if any(fnmatchcase(name, row.pattern) for name in names)), None)

    def with_overrides(self, overrides: Mapping[str, Mapping[str, Any]]) -> PriceTable:
        """This table with a person's own prices before it: pattern → part → dollars. Raises BadPrice."""
        if len(overrides) > MOST_OVERRIDES:
            raise BadPrice(f"There may be {MOST_OVERRIDES} prices of your own at most; these are {len(overrides)}.")
        own = tuple(override(pattern, parts) for pattern, parts in overrides.items())
        return replace(self, prices=own + self.prices) if own else self


def plain_name(model: str) -> str:
    """A model's name without a provider before it and a date or version after it, in small letters."""
    return _DATED.sub("", _PREFIX.sub("", model.lower(), count=1))


@cache
def shipped() -> PriceTable:
    """The prices that come with this version, as they stood at its date; each row says where it was checked. A part
    that could not be found is null, so that calls which used it have no cost rather than a wrong one."""
    read = json.loads(files("contextviz.tokens").joinpath("prices.json").read_text(encoding="utf-8"))
    rows = [
        Price(model, **{name: value for name, value in row.items() if name not in ("models", "source")})
        for row in read["prices"]
        for model in row["models"]
    ]
    return PriceTable(read["version"], read["date"], tuple(rows))


def override(pattern: str, parts: Mapping[str, Any]) -> Price:
    """One price of a person's own. Input and output are needed; raises BadPrice with a sentence."""
    name = pattern.strip().lower()
    if not _PATTERN.fullmatch(name):
        raise BadPrice(f"{pattern[:60]!r} is not a model's name; write one like claude-sonnet-4-5 or my-model-*.")
    values = {part: _amount(name, part, parts.get(part)) for part in PARTS}
    for part in NEEDED:
        if values[part] is None:
            raise BadPrice(f"{name} has no {part} price; write one in dollars per million tokens.")
    return Price(name, basis="override", **values)  # type: ignore[arg-type]


def _amount(name: str, part: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number <= 1_000_000:
        words = part.replace("_", " ")
        raise BadPrice(
            f"The {words} price of {name} is {str(value)[:40]!r}; write dollars per million tokens, 0 or more."
        )
    return number


def cost(usage: TokenUsage, model: str | None, prices: PriceTable, *, is_long: bool | None = None) -> Cost:
    """What a call cost: as recorded, else from `prices`, else unknown.

    `is_long` says whether its prompt is above LONG_PROMPT; by itself it is the usage's own prompt. Give it for sums.
    """
    if usage.cost_usd is not None:
        return Cost(usage.cost_usd, "reported")
    return priced(usage, model, prices, is_long=is_long)


def priced(usage: TokenUsage, model: str | None, prices: PriceTable, *, is_long: bool | None = None) -> Cost:
    """What `prices` say a call costs, whatever is recorded. Writes without a length are five-minute ones."""
    price = prices.of(model)
    prompt = usage.prompt_tokens
    if price is None or prompt is None or usage.output_tokens is None:
        return UNKNOWN
    if is_long is None:
        is_long = prompt > LONG_PROMPT
    if is_long and price.up_to_prompt_tokens is not None:
        return UNKNOWN
    written_1h = usage.cache_write_1h_tokens or 0
    parts = (
        (usage.input_tokens or 0, price.input),
        (usage.cache_read_tokens or 0, price.cache_read),
        (max((usage.cache_write_tokens or 0) - written_1h, 0), price.cache_write_5m),
        (written_1h, price.cache_write_1h),
        (usage.output_tokens, price.output),
    )
    if any(tokens and rate is None for tokens, rate in parts):
        return UNKNOWN
    return Cost(sum(tokens * (rate or 0) for tokens, rate in parts) / MILLION, price.basis)


def without_cache(usage: TokenUsage, model: str | None, prices: PriceTable, *, is_long: bool | None = None) -> Cost:
    """What the same call would cost with its whole prompt at the price of plain input."""
    plain = TokenUsage(input_tokens=usage.prompt_tokens, output_tokens=usage.output_tokens)
    return priced(plain, model, prices, is_long=is_long)
