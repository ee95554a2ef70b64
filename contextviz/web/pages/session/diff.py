"""An edit's arguments as removed and added lines."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from django.utils.safestring import SafeString

from contextviz.events.masking import safe_cut
from contextviz.web.templatetags.masked import masked

LINE_CHARS = 160
_PAIRS = (("old_string", "new_string"), ("oldText", "newText"), ("old_text", "new_text"))


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of an edit."""

    # Whether it is added; else it is removed
    is_added: bool
    # The line with its sign, escaped and bounded
    html: SafeString


def diff_of(arguments: Any, *, most_lines: int) -> tuple[tuple[DiffLine, ...], str]:
    """The first changed lines of an edit, and "+4 −2"; nothing for calls that are no edit."""
    if not isinstance(arguments, dict):
        return (), ""
    for old, new in _PAIRS:
        before, after = arguments.get(old), arguments.get(new)
        if isinstance(before, str) and isinstance(after, str) and len(before) + len(after) < 20_000:
            return _diff(before.splitlines(), after.splitlines(), most_lines)
    return (), ""


def _diff(before: list[str], after: list[str], most: int) -> tuple[tuple[DiffLine, ...], str]:
    lines: list[DiffLine] = []
    removed = added = 0
    for kind, start, stop, from_, to in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        removed += stop - start
        added += to - from_
        lines += [_line("-", line) for line in before[start:stop][:most]]
        lines += [_line("+", line) for line in after[from_:to][:most]]
    return tuple(lines[:most]), f"+{added} −{removed}"


def _line(sign: str, line: str) -> DiffLine:
    cut = line if len(line) <= LINE_CHARS else safe_cut(line, LINE_CHARS) + "…"
    return DiffLine(sign == "+", masked(f"{sign} {cut}"))
