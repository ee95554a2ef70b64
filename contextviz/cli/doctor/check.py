"""One thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """`state`: ok, note (worth knowing) or problem; `todo` says what to do about a problem, "" elsewhere."""

    part: str
    name: str
    state: Literal["ok", "note", "problem"]
    text: str
    todo: str = ""
