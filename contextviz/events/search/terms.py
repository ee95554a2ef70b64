"""What a word is, the same for both indexes and for what people type.

A word is a run of letters and digits in small letters; everything else stands between words. Chinese, Japanese and
Korean are written without spaces, so a run of them is indexed as overlapping pairs and its last character alone:
東京都 is 東京, 京都, 都. Then any part of a run is found: two characters and more as neighbouring pairs, one character
as the beginning of a pair.

An index is only as right as these functions stay: a change to them needs a migration that empties both indexes
(store.search).
"""

from __future__ import annotations

import re

WORD = re.compile(r"[^\W_]+")
# Kana, bopomofo, ideographs, hangul; their punctuation and combining marks are no letters, so they end a run.
CJK = re.compile(
    "[\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312d\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4db5\u4e00-\u9fcc\uac00-\ud7a3\uf900-\ufa6d\uff66-\uff9f\U00020000-\U0002b81d\U0002f800-\U0002fa1d]+"
)
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_BACK = {"n": "\n", "t": "\t", "r": "\n", "b": " ", "f": " "}


def plain(text: str) -> str:
    """The text as people read it: in JSON (a tool's arguments) escapes are what they stand for, so that the word
    after a line break is not one that begins with n."""
    if not text.startswith(("{", "[")) or "\\" not in text:
        return text
    return _ESCAPE.sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    escape = match[0][1:]
    if len(escape) == 1:
        return _BACK.get(escape, escape)
    number = int(escape[1:], 16)
    # Halves of a pair, and NUL, are no text.
    return " " if number == 0 or 0xD800 <= number <= 0xDFFF else chr(number)


def spaced(text: str) -> str:
    """The text with each run of CJK as its pairs, ready for a tokeniser that cuts between letters and the rest."""
    readable = plain(text)
    return readable if readable.isascii() else CJK.sub(_pairs, readable)


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run[at : at + 2] for at in range(len(run)))} "


def search_terms(text: str) -> list[str]:
    """The words of `text` in order, as they are indexed."""
    return WORD.findall(spaced(text).lower())


def asked_terms(text: str) -> tuple[tuple[str, ...], bool]:
    """What to look for where a person wrote `text`, and whether the last word is the beginning of one.

    A run of CJK at the end may go on in the text that is found, so the character that ends a run is not asked for.
    """
    words = search_terms(text)
    stripped = text.rstrip()
    if words and stripped and CJK.fullmatch(stripped[-1]):
        if len(words) > 1 and words[-2].endswith(words[-1]) and len(words[-2]) == 2:
            return tuple(words[:-1]), False
        return tuple(words), True
    return tuple(words), False
