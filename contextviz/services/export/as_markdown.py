"""A copy as Markdown: a transcript's words stand in fences that nothing in them can close."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from contextviz.services.export import shown
from contextviz.services.export.readable import ReadableCopy

# What Markdown (CommonMark, and GitHub's on top of it) would not show as it stands, wherever it is in a line.
_MARKUP = re.compile(
    r"""
    \\(?=[!-/:-@\[-`{-~]|$)                         # a backslash before punctuation, or at the end
    | [`*~]                                         # code, emphasis, struck out
    | (?<!\w) _+ | _+ (?!\w)                        # emphasis; inside a word it is none
    | (?<=\]) [(:]                                  # a link's target or definition; [a name] alone leads nowhere
    | < (?=[A-Za-z/!?])                             # HTML and addresses in angle brackets
    | & (?=(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);)  # a character by its name or number
    | : (?=//) | (?<=www)\. | @ (?=\w)              # addresses and mentions
    | (?<![\w#&]) \# (?=\d)                         # an issue of wherever the copy is pasted
    | \$ (?!\d)                                     # formulas; an amount of money is none
    """,
    re.VERBOSE | re.IGNORECASE,
)
# What begins a heading, list, rule, quotation, table or box to tick; only at the beginning of a line
_BEGINNING = re.compile(r"(?:[-+](?=\s|$)|-(?=[-\s]*$)|>|\[(?=[ xX]\](?:\s|$))|#(?=#{0,5}(?:\s|$)))")
_NUMBERED = re.compile(r"(\d{1,9})(?=[.)](?:\s|$))")
_ENDING = re.compile(r"(?:^|(?<=\s))#+$")  # a heading may be closed so
_TAG = re.compile(r"<[A-Za-z/!?]")
_TICKS = re.compile(r"`{3,}")


class MarkdownCopy(ReadableCopy):
    """For notes, issues and reviews."""

    suffix = "md"

    def begin(self, head: dict[str, Any]) -> Iterator[str]:
        """Title and facts."""
        yield f"# {escaped(head['session']['title'] or head['session']['source_id'])}\n\n"
        for name, value in shown.head_facts(head):
            yield f"- **{escaped(name)}**: {escaped(value)}\n"
        yield f"\n{escaped(shown.NOTE)}\n"

    def title(self, text: str) -> str:
        """A section's heading."""
        return f"\n## {escaped(text)}\n\n"

    def entry(self, title: str, parts: list[tuple[str, str]]) -> Iterator[str]:
        """A heading with fenced texts."""
        yield f"### {escaped(title)}\n\n"
        for name, text in parts:
            if name:
                yield f"{escaped(name)}\n\n"
            if text:
                yield fenced(text)

    def head_row(self, cells: tuple[str, ...]) -> str:
        """A table's beginning."""
        return self.row(list(cells)) + "|" + "---|" * len(cells) + "\n"

    def row(self, cells: list[str]) -> str:
        """A table's row."""
        return "| " + " | ".join(escaped(cell, in_cell=True) for cell in cells) + " |\n"

    def table_end(self) -> str:
        """Nothing: a blank line ends a table."""
        return "\n"

    def line(self, text: str) -> str:
        """A line of a list."""
        return f"- {escaped(text)}\n"

    def end(self) -> Iterator[str]:
        """The end."""
        yield from self._leave()


def escaped(text: str, *, in_cell: bool = False) -> str:
    """Words in one line that Markdown shows as they are: what it would take for markup there has a backslash before it,
    and nothing else has. In a cell of a table that is a bar as well."""
    line = " ".join(str(text).split())
    marked = {at for found in _MARKUP.finditer(line) for at in range(*found.span())}
    marked |= {found.start() for found in (_BEGINNING.match(line), _ENDING.search(line)) if found}
    numbered = _NUMBERED.match(line)
    marked |= {numbered.end()} if numbered else set()
    also = ("|" if in_cell else "") + (">" if _TAG.search(line) else "")
    return "".join(f"\\{char}" if at in marked or char in also else char for at, char in enumerate(line))


def fenced(text: str) -> str:
    """A text between fences longer than any in it."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n\n"
