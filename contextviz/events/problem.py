"""What could not be read as it stands: a value that is counted, listed and shown, never an exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """One finding about the input. `code` is one of inspect.md's; `message` is a sentence for a person."""

    code: str
    message: str
    severity: Severity = "warning"
    file: str | None = None
    line: int | None = None
    entry: str | None = None
    value: str | int | None = None
