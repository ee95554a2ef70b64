"""The order of the readable copies: facts, messages, calls, compactions, summaries, topics, problems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from contextviz.services.export import shown

TITLES = {
    "messages": "Transcript",
    "calls": "Model calls",
    "compactions": "Compactions",
    "summaries": "Summary nodes",
    "topics": "Topics",
    "topic_events": "What happened to topics",
    "problems": "What could not be read as it stands",
}


class ReadableCopy(ABC):
    """A copy for people. Sections of TITLES are written, the others are in the JSON copy alone."""

    suffix = ""

    def __init__(self) -> None:
        self._section = ""

    @abstractmethod
    def begin(self, head: dict[str, Any]) -> Iterator[str]:
        """Everything before the first record."""

    @abstractmethod
    def title(self, text: str) -> str:
        """A section's heading."""

    @abstractmethod
    def entry(self, title: str, parts: list[tuple[str, str]]) -> Iterator[str]:
        """A heading with texts under it, each with a heading of its own ("" for none)."""

    @abstractmethod
    def head_row(self, cells: tuple[str, ...]) -> str:
        """A table's beginning."""

    @abstractmethod
    def row(self, cells: list[str]) -> str:
        """A table's row."""

    @abstractmethod
    def table_end(self) -> str:
        """A table's end."""

    @abstractmethod
    def line(self, text: str) -> str:
        """A line of a list."""

    def piece(self, section: str, record: dict[str, Any]) -> Iterator[str]:
        """One record."""
        if section not in TITLES:
            return
        if section != self._section:
            yield from self._leave()
            self._section = section
            yield self.title(TITLES[section])
            if section == "calls":
                yield self.head_row(shown.CALLS)
        yield from self._record(section, record)

    def _leave(self) -> Iterator[str]:
        if self._section == "calls":
            yield self.table_end()

    def _record(self, section: str, record: dict[str, Any]) -> Iterator[str]:
        if section == "messages":
            parts = [(shown.block_title(block), shown.text_of(block["content"])) for block in record["blocks"]]
            yield from self.entry(shown.message_title(record), parts)
        elif section == "calls":
            yield self.row(shown.call_cells(record))
        elif section == "compactions":
            facts = zip(shown.COMPACTIONS, shown.compaction_cells(record), strict=True)
            title = " · ".join(f"{name} {value}" for name, value in facts)
            yield from self.entry(title[0].upper() + title[1:], [("summary", shown.text_of(record["summary"]))])
        elif section == "summaries":
            title = (
                f"{record['id']} · {record['kind']}, depth {record['depth']} · {shown.tokens(record['tokens'])} tokens"
            )
            yield from self.entry(title, [("", shown.text_of(record["text"]))])
        elif section == "topics":
            notes = [("THREAD", shown.text_of(record["thread"])), ("STATUS", shown.text_of(record["status_note"]))]
            title = " · ".join(part for part in (record["name"], record["status"]) if part)
            yield from self.entry(title, [one for one in notes if one[1]])
        elif section == "topic_events":
            told = (record["at"], record["kind"].replace("_", " "), record["topic"], record["task"], record["summary"])
            yield self.line(" · ".join(part for part in told if part))
        else:
            yield self.line(shown.problem_line(record))
