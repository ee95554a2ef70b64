"""A text as other programs would read it: escapes undone, broken lines joined; with the way back to the text itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

Replace = Callable[[re.Match[str]], str]
MOST_NESTED = 3  # JSON within JSON within JSON

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_JSON = re.compile(r"""\\(?:u(?P<hex>[0-9a-fA-F]{4})|(?P<plain>["\\/'])|(?P<blank>[nrt]))""")
_PERCENT = re.compile(r"%(?P<hex>[2-7][0-9a-fA-F])")
_ENTITY = re.compile(
    r"&(?:#(?P<number>[0-9]{1,6})|#[xX](?P<hex>[0-9a-fA-F]{1,5})|(?P<name>quot|amp|lt|gt|apos|colon|equals|num));"
)
_NAMES = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'", "colon": ":", "equals": "=", "num": "#"}
# A line's end with what may stand round it in the middle of one value: closing and opening quotes, a plus, a
# backslash, the next line's indentation, and the marks that diffs, quotations and numbered listings put before it.
_LINES = re.compile(
    r"""["'`]?[ \t]{0,8}[+&.\\]?[ \t]{0,8}\r?\n[ \t]{0,200}"""
    r"""(?:[>|#*+-]{1,3}[ \t]|[0-9]{1,6}(?:→|[:|\t])[ \t]{0,4})?["'`]?"""
    r"""|["'`][ \t]{0,4}[+.&][ \t]{0,4}["'`]"""
)


@dataclass(frozen=True, slots=True)
class View:
    """A text after replacements; `span` leads from its characters to those of the text it was made from."""

    text: str
    parent: View | None = None
    # Each replacement: where it begins and ends here, and in the parent
    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)
    _from: list[int] = field(default_factory=list)
    _until: list[int] = field(default_factory=list)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the first text that `start` up to `end` stand for."""
        if self.parent is None:
            return start, end
        return self.parent.span(self._place(start)[0], self._place(max(end - 1, start))[1])

    def _place(self, position: int) -> tuple[int, int]:
        at = bisect_right(self._starts, position) - 1
        if at < 0:
            return position, position + 1
        if position < self._ends[at]:
            return self._from[at], self._until[at]
        moved = self._until[at] + position - self._ends[at]
        return moved, moved + 1

    def replaced(self, pattern: re.Pattern[str], replace: Replace) -> View:
        """A view of this one with every match replaced; this one itself where nothing matches."""
        parts: list[str] = []
        made = View("", self)
        length = position = 0
        for match in pattern.finditer(self.text):
            new = replace(match)
            if new == match[0]:
                continue
            parts += [self.text[position : match.start()], new]
            length += match.start() - position
            made._starts.append(length)
            length += len(new)
            made._ends.append(length)
            made._from.append(match.start())
            made._until.append(match.end())
            position = match.end()
        if not parts:
            return self
        parts.append(self.text[position:])
        return View("".join(parts), self, made._starts, made._ends, made._from, made._until)


def decoded(text: str) -> View:
    """The text without invisible characters, and with JSON, percent and HTML escapes undone."""
    view = View(text)
    if not text.isascii():
        view = view.replaced(_INVISIBLE, lambda match: "")
    for _ in range(MOST_NESTED):
        if "\\" not in view.text:
            break
        before, view = view, view.replaced(_JSON, _json)
        if view is before:
            break
    if "%" in view.text:
        view = view.replaced(_PERCENT, _percent)
    if "&" in view.text:
        view = view.replaced(_ENTITY, _entity)
    return view


def joined(view: View) -> View:
    """The view with its lines joined as one value broken over them would be."""
    return view.replaced(_LINES, lambda match: "")


def joined_text(text: str) -> str:
    """The words of `joined` alone: ten times as fast, for texts in which nothing will be found."""
    return _LINES.sub("", text)


def _json(match: re.Match[str]) -> str:
    if match["hex"]:
        return chr(int(match["hex"], 16))
    return match["plain"] or {"n": "\n", "r": "\r", "t": "\t"}[match["blank"]]


def _percent(match: re.Match[str]) -> str:
    return chr(int(match["hex"], 16))


def _entity(match: re.Match[str]) -> str:
    if match["name"]:
        return _NAMES[match["name"]]
    number = int(match["number"]) if match["number"] else int(match["hex"], 16)
    return chr(number) if 9 <= number < 0xD800 else match[0]
