"""Where JavaScript and Python differ, for what engines written in JavaScript count, cut and match.

Source: engines document, section 0.1. Lengths and slices are in UTF-16 code units; a cut may leave a lone surrogate,
which stays in the text until it is stored (events.text.storable shows it as U+FFFD).
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

# ECMAScript's white space and line ends: what `\s` matches and `trim()` takes away.
SPACE = (
    "\t\n\x0b\x0c\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)  # fmt: skip
LINE_ENDS = "\n\r\u2028\u2029"
S = "[" + SPACE + "]"  # `\s` in a character class of its own
NOT_S = "[^" + SPACE + "]"  # `\S`
DOT = "[^" + LINE_ENDS + "]"  # `.` without the flag s
LINE_START = "(?:^|(?<=[" + LINE_ENDS + "]))"  # `^` with the flag m
LINE_END = "(?=[" + LINE_ENDS + "]|$)"  # `$` with the flag m; compile with re.ASCII and without re.MULTILINE
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_LONE_OR_CONTROL = re.compile('[\ud800-\udfff"\\\\\x00-\x1f]')


def length16(text: str) -> int:
    """`String.length`: UTF-16 code units."""
    return len(text) if text.isascii() else len(text) + len(_ASTRAL.findall(text))


def slice16(text: str, start: int = 0, end: int | None = None) -> str:
    """`text.slice(start, end)`: by UTF-16 code units, negative ones from the end; half of a pair stays as it is."""
    if text.isascii() or _ASTRAL.search(text) is None:
        return text[start:end]
    units = text.encode("utf-16-le", "surrogatepass")
    total = len(units) // 2
    first, last, _ = slice(start, end).indices(total)
    return units[2 * first : 2 * max(first, last)].decode("utf-16-le", "surrogatepass")


def trim(text: str) -> str:
    """`text.trim()`."""
    return text.strip(SPACE)


def trim_start(text: str) -> str:
    """`text.trimStart()`."""
    return text.lstrip(SPACE)


def trim_end(text: str) -> str:
    """`text.trimEnd()`."""
    return text.rstrip(SPACE)


def round_half_up(number: float) -> int:
    """`Math.round`: halves go up, also below 0 (-0.5 gives 0)."""
    return math.floor(number + 0.5)


def to_number(value: Any) -> float:
    """`Number(value)`: not a number is `nan`."""
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, list):
        return to_number(",".join(map(str, value))) if len(value) < 2 else math.nan
    if not isinstance(value, str):
        return math.nan
    text = trim(value)
    if not text:
        return 0.0
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+", text):
        return float(int(text, 0))
    if re.fullmatch(r"[+-]?Infinity", text):
        return math.inf if text[0] != "-" else -math.inf
    return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else math.nan


def parse(text: str) -> Any:
    """`JSON.parse`: strict; raises ValueError for NaN, Infinity, a byte order mark, anything JavaScript refuses."""
    if text.strip(" \t\n\r") != text.strip(SPACE):
        raise ValueError("white space that JSON does not know")
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def stringify(value: Any) -> str:
    """`JSON.stringify(value)`: no blanks, keys in JavaScript's order, whole floats without a fraction."""
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return number_text(value) if math.isfinite(value) else "null"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{stringify(value[key])}" for key in keys(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(stringify, value)) + "]"
    raise TypeError(f"{type(value).__name__} is not JSON")


def _quoted(text: str) -> str:
    if _LONE_OR_CONTROL.search(text) is None:
        return f'"{text}"'
    quoted = json.dumps(text, ensure_ascii=False)
    # Well-formed JSON.stringify writes a lone surrogate as an escape.
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def keys(record: dict[str, Any]) -> list[str]:
    """An object's keys in JavaScript's order: integer-like ones first, ascending, then as they were put in."""
    whole = [key for key in record if key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < 2**32 - 1]
    if not whole:
        return list(record)
    return sorted(whole, key=int) + [key for key in record if key not in set(whole)]


def number_text(number: float) -> str:
    """`String(number)` for finite numbers: its shortest digits, with an exponent from 1e21 on and below 1e-6."""
    if isinstance(number, int) and abs(number) < 2**53:
        return str(number)
    mantissa, _, exponent = f"{Decimal(repr(float(number))):e}".partition("e")
    digits = mantissa.replace(".", "").replace("-", "").rstrip("0")
    if not digits:
        return "0"
    sign, before = ("-" if number < 0 else ""), int(exponent) + 1  # digits before the point
    if len(digits) <= before <= 21:
        return sign + digits.ljust(before, "0")
    if 0 < before <= 21:
        return f"{sign}{digits[:before]}.{digits[before:]}"
    if -6 < before <= 0:
        return f"{sign}0.{'0' * -before}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{before - 1:+d}"


def thousands(number: int) -> str:
    """`number.toLocaleString('en-US')` of a whole number."""
    return f"{number:,}"
