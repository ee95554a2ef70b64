"""What an engine lets people set: declared with ranges and help, resolved with a note for whatever was not taken."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from contextviz.events.javascript import to_number

Value = int | float | bool | str
SettingKind = Literal["int", "float", "bool", "choice", "text"]
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_MOST_DIGITS = 60


def decimal_of(text: str, *, is_grouped: bool = False) -> float | None:
    """A number as people type it: ASCII digits with a sign, a point or an exponent, and commas between thousands where
    `is_grouped`; None for anything else, and for what is too large to be finite."""
    if len(text) > _MOST_DIGITS:
        return None
    if is_grouped and _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    number = float(text) if _DECIMAL.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `key` is the engine's own name for it; `least` and `most` are in `unit` and clamp, as upstream does.

    `is_what_if` marks those whose change can be shown at once, since nothing but the cut depends on them. `most` of
    a text is in characters. `keeps_fractions` marks an "int" that upstream takes as it comes, without rounding.
    """

    key: str
    default: Value
    help: str
    kind: SettingKind = "int"
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    is_what_if: bool = False
    keeps_fractions: bool = False


def resolve(declared: Sequence[Setting], given: Mapping[str, Any]) -> tuple[dict[str, Value], list[str]]:
    """The settings to run with, and a sentence for each that was clamped, not understood or not known.

    Numbers are taken as JavaScript takes them (engines document, 3.1): not finite gives the default, out of range the
    nearest bound. Other than there, true and false are no numbers, and a whole-number setting has no fraction.
    """
    values: dict[str, Value] = {}
    notes: list[str] = []
    for setting in declared:
        if setting.key not in given:
            values[setting.key] = setting.default
            continue
        values[setting.key], note = _taken(setting, given[setting.key])
        if note:
            notes.append(note)
    known = {setting.key for setting in declared}
    notes.extend(_unknown(key, known) for key in given if key not in known)
    return values, notes


def _unknown(key: str, known: set[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else (f" There are: {', '.join(sorted(known))}." if known else "")
    return f"There is no setting {key[:60]!r} here; it was left out.{hint}"


def _taken(setting: Setting, raw: Any) -> tuple[Value, str | None]:
    if setting.kind == "bool":
        return _truth(setting, raw)
    if setting.kind == "text":
        return _words(setting, raw)
    if setting.kind == "choice":
        if str(raw) in setting.choices:
            return str(raw), None
        return setting.default, (
            f"{setting.key} is one of {', '.join(setting.choices)}; {str(raw)[:40]!r} is none of them, so it is"
            f" {setting.default}."
        )
    if isinstance(raw, str) and not raw.strip():
        # JavaScript takes it as 0, but nobody who leaves a value out means that.
        return setting.default, f"No value was given for {setting.key}: it is left to the engine, {setting.default}."
    number = math.nan if isinstance(raw, bool) else to_number(raw)
    if not math.isfinite(number):
        return setting.default, f"{setting.key} is a number; {str(raw)[:40]!r} is none, so it is {setting.default}."
    bounded = number
    if setting.least is not None:
        bounded = max(bounded, setting.least)
    if setting.most is not None:
        bounded = min(bounded, setting.most)
    is_whole = setting.kind == "int" and (bounded == int(bounded) or not setting.keeps_fractions)
    value: Value = int(bounded) if is_whole else bounded
    if value == bounded == number:
        return value, None
    if bounded != number:
        ends = f"{_shown(setting.least)} to {_shown(setting.most)}"
        return value, f"{setting.key} may be {ends}; {number:g} became {value}."
    return value, f"{setting.key} is a whole number; {number!r} became {value}."


def _shown(bound: float | None) -> str:
    return "any" if bound is None else f"{bound:g}"


def _words(setting: Setting, raw: Any) -> tuple[Value, str | None]:
    text = raw if isinstance(raw, str) else ""
    if text != raw:
        return setting.default, f"{setting.key} is a text; {str(raw)[:40]!r} is none, so it is {setting.default!r}."
    most = int(setting.most) if setting.most is not None else len(text)
    if len(text) > most:
        note = f"{setting.key} may have {most:,} characters; {len(text):,} were given and the rest left out."
        return text[:most], note
    return text, None


def _truth(setting: Setting, raw: Any) -> tuple[Value, str | None]:
    if isinstance(raw, bool):
        return raw, None
    word = str(raw).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE, None
    return setting.default, f"{setting.key} is true or false; {str(raw)[:40]!r} is neither, so it is {setting.default}."
