"""JSON5, as agents write their configuration: comments, bare keys, single quotes, commas at the end.

Read as data and nothing else: no reference is followed, no variable put in, nothing evaluated.
"""

from __future__ import annotations

import math
import re
from typing import Any

import orjson

MOST_NESTED = 100
_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_BARE_KEY = re.compile(r"[A-Za-z_$][\w$]*|\w[\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]{1,32}|Infinity|NaN|(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,5})?)"
)
_PLAIN = {'"': re.compile(r'[^"\\\n\r]*'), "'": re.compile(r"[^'\\\n\r]*")}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_HEX = {"x": 2, "u": 4}
_WORDS = (("true", True), ("false", False), ("null", None))


class NotJson5(ValueError):
    """The text is not one JSON5 value; the message says where, never what stands there."""


def parse(raw: bytes) -> Any:
    """The value of `raw` (UTF-8). Infinity and NaN become None. Raises NotJson5."""
    body = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return _Parser(body.decode("utf-8")).whole()
    except UnicodeDecodeError:
        raise NotJson5("it is not UTF-8") from None


class _Parser:
    def __init__(self, text: str):
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Any:
        value = self._value()
        self._blank()
        if self._at < len(self._text):
            raise self._wrong()
        return value

    def _wrong(self) -> NotJson5:
        return NotJson5(f"line {self._text.count(chr(10), 0, self._at) + 1} is not JSON5")

    def _blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _next(self) -> str:
        self._blank()
        return self._text[self._at : self._at + 1]

    def _value(self) -> Any:
        sign = self._next()
        if sign in ("{", "["):
            self._depth += 1
            if self._depth > MOST_NESTED:
                raise NotJson5(f"it is nested deeper than {MOST_NESTED} levels")
            value = self._object() if sign == "{" else self._array()
            self._depth -= 1
            return value
        if sign in ('"', "'"):
            return self._string(sign)
        for word, meaning in _WORDS:
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return meaning
        return self._number()

    def _object(self) -> dict[str, Any]:
        self._at += 1
        found: dict[str, Any] = {}
        while (sign := self._next()) != "}":
            key = self._string(sign) if sign in ('"', "'") else self._bare_key()
            self._expect(":")
            found[key] = self._value()
            self._comma_or("}")
        self._at += 1
        return found

    def _array(self) -> list[Any]:
        self._at += 1
        found: list[Any] = []
        while self._next() != "]":
            found.append(self._value())
            self._comma_or("]")
        self._at += 1
        return found

    def _comma_or(self, end: str) -> None:
        if self._next() != end:
            self._expect(",")

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise self._wrong()
        self._at += 1

    def _bare_key(self) -> str:
        found = _BARE_KEY.match(self._text, self._at)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        return found.group()

    def _number(self) -> Any:
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        word = found.group().lstrip("+-")
        if word in ("Infinity", "NaN"):
            return None
        value: int | float
        if word[:2].lower() == "0x":
            value = int(word, 16)
        elif word.isdigit():
            value = int(word)
        else:
            value = float(word)
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return -value if found.group().startswith("-") else value

    def _string(self, quote: str) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN[quote].match(self._text, self._at)
            parts.append(plain.group() if plain else "")
            self._at += len(parts[-1])
            sign = self._text[self._at : self._at + 1]
            if sign == quote:
                self._at += 1
                return "".join(parts)
            if sign != "\\":
                raise self._wrong()
            parts.append(self._escaped())

    def _escaped(self) -> str:
        sign = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if sign in _HEX:
            digits = self._text[self._at : self._at + _HEX[sign]]
            self._at += _HEX[sign]
            try:
                return chr(int(digits, 16))
            except ValueError:
                raise self._wrong() from None
        if sign == "\r" and self._text[self._at : self._at + 1] == "\n":
            self._at += 1
        if sign in ("\n", "\r", "\u2028", "\u2029"):
            return ""  # a line that goes on
        return _ESCAPES.get(sign, sign)
