"""What the Lab's address says: runs compared, call, view, boundary, and what a form holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

from django.urls import reverse

RECORDED = "recorded"
MOST_RUNS_SHOWN = 4
KEY_CHARS = 8
View = Literal["lists", "composition", "graphs", "what-if"]
# Each with its name and the key that chooses it.
VIEWS: tuple[tuple[View, str, str], ...] = (
    ("lists", "Assembled lists", "1"), ("composition", "Composition", "2"), ("graphs", "Summary graphs", "3"),
    ("what-if", "What if", "v"),
)  # fmt: skip
_BIGGEST = 2**31


@dataclass(frozen=True, slots=True)
class LabPlace:
    """A place in the Lab. Calls are numbers that people read, from 1; a slot is a run's place in `runs`, from 1."""

    session_id: int
    # Keys of the runs compared: "recorded", or the end of a run's id
    runs: tuple[str, ...] = ()
    # The call at the play-head, None for the last one
    call: int | None = None
    view: View = "lists"
    # A boundary whose details are shown: slot and number
    boundary: tuple[int, int] | None = None
    # A summary whose text is shown: slot and id
    node: tuple[int, str] | None = None
    # The run whose whole window is listed, and the first row of the list shown (from 0)
    only: int | None = None
    start: int = 0
    # Whether rows that are the same in every window are listed too
    is_whole: bool = False
    # The run that the what-if starts from
    slot: int | None = None
    # The engine whose form stands open, "" for none
    engine: str = ""
    # What of the address could not be understood, each as a sentence
    notices: tuple[str, ...] = ()

    @property
    def query(self) -> dict[str, Any]:
        """The parameters that differ from the defaults."""
        found: dict[str, Any] = {
            "runs": ",".join(self.runs) or None, "call": self.call,
            "view": self.view if self.view != "lists" else None,
            "boundary": f"{self.boundary[0]}.{self.boundary[1]}" if self.boundary else None,
            "node": f"{self.node[0]}.{self.node[1]}" if self.node else None, "only": self.only,
            "from": self.start + 1 if self.start else None, "all": 1 if self.is_whole else None, "slot": self.slot,
            "engine": self.engine or None,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def url(self, name: str = "lab", anchor: str = "", **changes: Any) -> str:
        """The address of this place with `changes`, on the Lab's page or the address called `name`."""
        query = replace(self, **changes).query
        address = reverse(name, args=[self.session_id])
        return address + (f"?{urlencode(query, safe=',')}" if query else "") + (f"#{anchor}" if anchor else "")

    def at(self, call: int) -> str:
        """The same view at another call."""
        return self.url(call=call, boundary=None, node=None, start=0)


def parse(session_id: int, query: Mapping[str, str]) -> LabPlace:
    """The place that a query string names; what cannot be understood is said in `notices`."""
    notices: list[str] = []
    asked = [key.strip().lower() for key in query.get("runs", "")[:400].split(",") if key.strip()]
    keys = tuple(dict.fromkeys(_key(key) for key in asked))
    if len(keys) > MOST_RUNS_SHOWN:
        notices.append(f"Four runs can be compared at once; the first four of the {len(keys)} in the address are.")
    view: View = "lists"
    if query.get("view"):
        known = next((name for name, _, _ in VIEWS if name == query["view"]), None)
        view = known or "lists"
        if known is None:
            notices.append(f"There is no view {query['view'][:30]!r} here; the lists are shown.")
    call = _number(query.get("call", ""))
    if query.get("call") and call is None:
        notices.append(f"{query['call'][:30]!r} is no number of a call; the last call is shown.")
    boundary, node = _pair(query.get("boundary", "")), _pair(query.get("node", ""))
    number = _number(boundary[1]) if boundary else None
    return LabPlace(
        session_id, keys[:MOST_RUNS_SHOWN], call, view,
        (boundary[0], number) if boundary and number else None, node,
        _slot(query.get("only", "")), max((_number(query.get("from", "")) or 1) - 1, 0),
        query.get("all") == "1", _slot(query.get("slot", "")),
        query.get("engine", "")[:80], tuple(notices),
    )  # fmt: skip


def _key(text: str) -> str:
    return text if text == RECORDED else text.replace("-", "")[-KEY_CHARS:]


def _number(text: str) -> int | None:
    found = int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0
    return found if 0 < found < _BIGGEST else None


def _slot(text: str) -> int | None:
    found = _number(text)
    return found if found is not None and found <= MOST_RUNS_SHOWN else None


def _pair(text: str) -> tuple[int, str] | None:
    first, _, rest = text.partition(".")
    slot = _slot(first)
    return (slot, rest[:200]) if slot is not None and rest else None
