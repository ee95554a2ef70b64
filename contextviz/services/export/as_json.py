"""A copy as one JSON object, written in parts. docs/export.schema.json is its schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from contextviz.services.export.records import SECTIONS

SCHEMA = "contextviz.export/1"


class JsonCopy:
    """Every record, a line each, so that a large copy can also be looked through with line tools."""

    suffix = "json"

    def __init__(self) -> None:
        self._section = -1
        self._is_first = True

    def begin(self, head: dict[str, Any]) -> Iterator[str]:
        """The object's beginning: schema, masking, session."""
        fields = {"schema": SCHEMA, **head}
        lines = (f"{_dumped(name)}: {_dumped(value)}" for name, value in fields.items())
        yield "{\n" + ",\n".join(lines)

    def piece(self, section: str, record: dict[str, Any]) -> Iterator[str]:
        """One record of a section; sections come in the order of SECTIONS."""
        yield from self._until(SECTIONS.index(section))
        yield ("\n" if self._is_first else ",\n") + _dumped(record)
        self._is_first = False

    def end(self) -> Iterator[str]:
        """The rest of the sections, which are empty, and the object's end."""
        yield from self._until(len(SECTIONS) - 1)
        yield "\n]\n}\n"

    def _until(self, section: int) -> Iterator[str]:
        while self._section < section:
            closing = "" if self._section < 0 else "\n]"
            self._section += 1
            self._is_first = True
            yield f'{closing},\n"{SECTIONS[self._section]}": ['


def _dumped(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
