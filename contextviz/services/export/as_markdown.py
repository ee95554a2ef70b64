"""A copy as Markdown: a transcript's words stand in fences that nothing in them can close."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from contextviz.services.export import shown
from contextviz.services.export.readable import ReadableCopy

# What Markdown, or HTML inside it, gives a meaning to.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&$:@^=])")
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
        return "| " + " | ".join(escaped(cell) for cell in cells) + " |\n"

    def table_end(self) -> str:
        """Nothing: a blank line ends a table."""
        return "\n"

    def line(self, text: str) -> str:
        """A line of a list."""
        return f"- {escaped(text)}\n"

    def end(self) -> Iterator[str]:
        """The end."""
        yield from self._leave()


def escaped(text: str) -> str:
    """Words in one line that Markdown shows as they are."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def fenced(text: str) -> str:
    """A text between fences longer than any in it."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n\n"
