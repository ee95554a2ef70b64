"""The numbers on top of the budget page."""

from __future__ import annotations

from dataclasses import dataclass

from contextviz.analysis.budget import Bill, BudgetTable, CacheEconomics, Headroom
from contextviz.charts import words
from contextviz.events.usage import sum_usage
from contextviz.tokens.prices import PriceTable

FAR_APART = 10  # times: a span as wide as that says no more than its lower end


@dataclass(frozen=True, slots=True)
class Kpi:
    """One number with its unit, where it comes from, and a line under it."""

    # What it says
    name: str
    # The number in words, an em dash where it is not known
    value: str
    # tok, %, USD
    unit: str
    # reported, derived, estimated or unknown
    basis: str
    # What it is made of
    note: str


def kpis(
    table: BudgetTable, money: Bill, cache: CacheEconomics, room: Headroom | None, prices: PriceTable
) -> list[Kpi]:
    """The six, in the order that they stand."""
    return [
        _spent(table),
        _cost(money, prices),
        _cache(cache),
        _repeats(table),
        _mean(room),
        _headroom(room),
    ]


def _kpi(name: str, value: str, basis: str, note: str, unit: str = "") -> Kpi:
    number, _, small = value.partition(words.THIN)
    if value == words.UNKNOWN:
        return Kpi(name, value, "", "unknown", note)
    return Kpi(name, number, f"{small} {unit}".strip(), basis, note)


def _spent(table: BudgetTable) -> Kpi:
    total = sum_usage(group.usage for group in table.usage)
    note = f"input {words.compact(total.prompt_tokens)}, output {words.compact(total.output_tokens)}"
    # Where some usage is an estimate of the client's, so is the sum.
    basis = "estimated" if any(group.basis == "estimated" for group in table.usage) else "reported"
    return _kpi("Spent", words.compact(total.total_tokens), basis, note, "tok")


def _cost(money: Bill, prices: PriceTable) -> Kpi:
    if money.usd is None:
        return _kpi("Cost", words.UNKNOWN, "unknown", "not recorded, and no price is known for the model")
    notes = []
    if money.derived:
        notes.append(f"prices of {prices.date}" if not money.reported else f"{words.money(money.derived)} from prices")
    if money.reported:
        notes.append("as recorded" if not money.derived else f"{words.money(money.reported)} as recorded")
    if money.unpriced:
        notes.append(f"{words.counted(money.unpriced, 'call')} without a price left out")
    basis = "estimated" if money.is_estimated else "derived" if money.derived else "reported"
    return Kpi("Cost", words.money(money.usd).lstrip("$"), "USD", basis, ", ".join(notes))


def _cache(cache: CacheEconomics) -> Kpi:
    if cache.share is None:
        return _kpi("Served from cache", words.UNKNOWN, "unknown", "no call reports what it read from a cache")
    note = f"{words.compact(cache.read)} of {words.compact(cache.prompt)} tok in {words.counted(cache.calls, 'call')}"
    if cache.saved is not None:
        note += f", {words.money(abs(cache.saved))} {'saved' if cache.saved >= 0 else 'lost'}"
    return _kpi("Served from cache", words.percent(cache.share), "reported", note)


def _repeats(table: BudgetTable) -> Kpi:
    if not table.repeat_count:
        return Kpi("Asked again, unchanged", "0", "tok", table.scale_basis, "no tool use was repeated")
    carry = sum(row.carry for row in table.repeats)
    note = f"{words.counted(table.repeat_count, 'repeat')}, carry {words.compact(carry)}"
    return _kpi("Asked again, unchanged", words.compact(table.repeat_tokens), table.scale_basis, note, "tok")


def _mean(room: Headroom | None) -> Kpi:
    if room is None:
        return _kpi("Mean window", words.UNKNOWN, "unknown", "no call's size is known")
    share = f"{words.percent(room.mean / room.window)} of {words.compact(room.window)}, " if room.window else ""
    note = f"{share}peak {words.compact(room.peak)}"
    return _kpi("Mean window", words.compact(room.mean), "reported" if room.is_reported else "estimated", note, "tok")


def _headroom(room: Headroom | None) -> Kpi:
    if room is None or room.room is None:
        return _kpi("Headroom now", words.UNKNOWN, "unknown", "the model's window is not reported; set it in Settings")
    what = "" if room.threshold is None else " threshold"
    fast, slow = room.calls_left
    left = ""
    if fast is not None and slow is not None and slow <= FAR_APART * fast:
        left = f"; ~{fast:,} calls" if fast == slow else f"; ~{fast:,} to {slow:,} calls"
    elif fast is not None:
        left = f"; ~{fast:,} calls or more"
    return _kpi(
        "Headroom now", words.compact(room.room), "derived", f"until {words.compact(room.limit)}{what}{left}", "tok"
    )
