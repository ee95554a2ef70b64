"""Numbers as words: one spelling for pages, chart ticks and captions. None (unknown) is an em dash, never 0."""

from __future__ import annotations

from collections.abc import Sequence

UNKNOWN = "—"
MINUS = "−"  # the minus sign lines up with digits, the hyphen does not
THIN = "\u00a0"  # a number and its unit stay on one line


def tokens(value: float | None) -> str:
    """A whole count with separators: 1,940."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}".replace("-", MINUS)


def compact(value: float | None) -> str:
    """A count in three or four digits: 940, 1,940, 33.8 k, 1.25 M."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size < 10_000:
        return tokens(value)
    if size < 999_950:
        return f"{value / 1_000:,.1f}{THIN}k".replace("-", MINUS)
    return f"{value / 1_000_000:,.2f}{THIN}M".replace("-", MINUS)


def thousands(value: float) -> str:
    """A chart tick: 0 k, 100 k, 1 M."""
    if abs(value) >= 1_000_000:
        return f"{value / 1_000_000:g}{THIN}M".replace("-", MINUS)
    return f"{value / 1_000:g}{THIN}k".replace("-", MINUS)


def axis_ticks(values: Sequence[float]) -> list[str]:
    """The ticks of an axis of token counts: in thousands, whole counts where none of them reaches 1,000."""
    is_small = max((abs(value) for value in values), default=0) < 1_000
    return [f"{value:g}".replace("-", MINUS) if is_small else thousands(value) for value in values]


def signed(value: float | None) -> str:
    """A difference with its sign: +896, −134,000, 0."""
    if value is None:
        return UNKNOWN
    return f"{value:+,.0f}".replace("-", MINUS) if value else "0"


def signed_compact(value: float | None) -> str:
    """A difference with its sign in few digits: −134.0 k."""
    if value is None:
        return UNKNOWN
    return ("+" if value > 0 else "") + compact(value)


def percent(share: float | None, digits: int = 1) -> str:
    """A share between 0 and 1 as a percentage: 83.9 %."""
    if share is None:
        return UNKNOWN
    return f"{share * 100:,.{digits}f}{THIN}%".replace("-", MINUS)


def size(value: int | None) -> str:
    """A number of bytes: 369 KB, 1.4 MB (powers of 1,000)."""
    if value is None:
        return UNKNOWN
    if value < 1_000:
        return f"{value}{THIN}B"
    number = float(value)
    for unit in ("KB", "MB", "GB"):
        number /= 1_000
        if number < 999.5 or unit == "GB":
            return f"{number:.1f}{THIN}{unit}" if number < 9.95 else f"{number:,.0f}{THIN}{unit}"
    return UNKNOWN


def duration(seconds: float | None) -> str:
    """A length of time: 120 ms, 41.2 s, 6 min 2 s, 3 h 41 min, 2 d 4 h."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0:
        return MINUS + duration(-seconds)
    if seconds < 1:
        return f"{seconds * 1000:.0f}{THIN}ms"
    if seconds < 59.95:
        return f"{seconds:.1f}{THIN}s"
    whole = round(seconds)
    for large, small, names in ((60, 1, ("min", "s")), (3_600, 60, ("h", "min")), (86_400, 3_600, ("d", "h"))):
        if whole < large * (60 if large < 3_600 else 24) or large == 86_400:
            rest = whole % large // small
            return f"{whole // large:,}{THIN}{names[0]}" + (f" {rest}{THIN}{names[1]}" if rest else "")
    return UNKNOWN


def money(dollars: float | None) -> str:
    """An amount of US dollars: $18.42; below a cent with more digits."""
    if dollars is None:
        return UNKNOWN
    digits = 2 if abs(dollars) >= 0.01 or dollars == 0 else 4
    return f"{MINUS if dollars < 0 else ''}${abs(dollars):,.{digits}f}"


def findings(problems: int, notes: int) -> str:
    """What reading a file found, problems and mere notes apart: 2 problems and 1 note in reading; "" for nothing."""
    parts = [counted(number, name) for number, name in ((problems, "problem"), (notes, "note")) if number]
    return " and ".join(parts) + (" in reading" if parts else "")


def window_from(basis: str | None) -> str:
    """Where a context window is from that the source did not report, beside the number: "our table"; "" else."""
    return {"table": "our table", "hint": "its index", "configuration": "its configuration"}.get(basis or "", "")


def ends(name: str, room: int = 16) -> str:
    """A name in `room` characters: both ends tell it apart; in little room its end alone, as many begin alike."""
    if len(name) <= room:
        return name
    return f"{name[:9]}…{name[-4:]}" if room >= 14 else f"…{name[-max(room - 1, 4) :]}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 call, 214 calls."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
