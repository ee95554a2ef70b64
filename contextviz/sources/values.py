"""Values of foreign JSON, coerced without trust: the wrong type is None, never an exception."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_SAME = 4096
MOST_NESTED = 200
MOST_SHOWN = 40
TOO_DEEP = f"nested deeper than {MOST_NESTED} levels"
_same: dict[str, str] = {}


def same(text: str | None) -> str | None:
    """`text`, as the object that an equal text met lately was: a session of 100,000 rows names its roles, tools and
    models in each of them, and every id at least twice. Saves memory, changes nothing."""
    if text is None:
        return None
    found = _same.setdefault(text, text)
    if len(_same) > MOST_SAME:
        _same.clear()
    return found


def is_too_deep(value: Any) -> bool:
    """Whether lists and mappings stand in one another more than MOST_NESTED deep: such a value could be read, but
    neither written again nor shown (orjson writes 254 levels)."""
    level = [value]
    for _ in range(MOST_NESTED):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def inner_json(text: str) -> Any:
    """JSON that stands as text within a record (a call's arguments). NaN is None. Raises ValueError for what is none
    and for what is nested deeper than MOST_NESTED, RecursionError far beyond."""
    value = json.loads(text, parse_constant=lambda _name: None)
    if text.count("[") + text.count("{") >= MOST_NESTED and is_too_deep(value):
        raise ValueError(TOO_DEEP)
    return value


def as_int(value: Any) -> int | None:
    """A non-negative whole number from a number or digits as text; None for anything else (booleans, NaN)."""
    if type(value) is int:  # nearly always; a boolean is of another type
        return value if 0 <= value < 2**63 else None
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip()
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def as_float(value: Any) -> float | None:
    """A finite non-negative number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and value.bit_length() > 1000:  # beyond what a float can be
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def as_plain(value: Any) -> bool | int | float | None:
    """A boolean or a number of any sign that every JSON can hold (64 bits, finite); None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def as_text(value: Any) -> str | None:
    """A string as it is, or None for anything else."""
    return value if isinstance(value, str) else None


def as_id(value: Any) -> str | None:
    """An identifier: non-empty text; empty and "REDACTED" count as missing (formats.md traps 37 and case 015)."""
    return value if isinstance(value, str) and value and value != "REDACTED" else None


def as_dict(value: Any) -> dict[str, Any]:
    """A mapping as it is, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A list as it is, or an empty one."""
    return value if isinstance(value, list) else []


def shown(value: Any) -> str:
    """A foreign value in a sentence: what is too long for one is cut."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def told(count: int, one: str, many: str) -> str:
    """A number with its noun and verb: "1 record is" or "3 records are"."""
    return f"{count} {one if count == 1 else many}"
