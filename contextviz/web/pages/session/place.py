"""What a session page's address says: play-heads, agent, page of the transcript, pane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

PANES = ("transcript", "context", "compactions")
BIGGEST = 2**53


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a session. Calls are numbers that people read, from 1; None is the page's own choice."""

    # The session's row id
    session_id: int
    # The sub-agent whose window is shown, None for the main chain
    agent: str | None = None
    # Play-head A: the call that B is compared with
    a: int | None = None
    # Play-head B: the call whose window is shown
    b: int | None = None
    # Messages after this index, or before it
    after: int | None = None
    before: int | None = None
    # The call that the transcript jumps to
    call: int | None = None
    # The message (by index, from 0) that the transcript jumps to
    message: int | None = None
    # The pane that a narrow screen shows
    pane: str = "transcript"
    # Whether messages are shown as they were written, without reading them as Markdown
    is_raw: bool = False
    # What of the address could not be understood, each as a sentence
    notices: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the address says where the transcript begins; else it opens at the session's end."""
        return any(one is not None for one in (self.b, self.call, self.message, self.after))

    @property
    def query(self) -> dict[str, Any]:
        """The parameters that differ from the defaults."""
        found: dict[str, Any] = {
            "agent": self.agent, "a": self.a, "b": self.b, "after": self.after, "before": self.before,
            "call": self.call, "message": self.message, "pane": self.pane if self.pane != "transcript" else None,
            "raw": 1 if self.is_raw else None,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def url(self, name: str = "session", anchor: str = "", **changes: Any) -> str:
        """The address of this place with `changes`, on the session page or the one called `name`."""
        query = replace(self, **changes).query
        address = reverse(name, args=[self.session_id])
        return address + (f"?{urlencode(query)}" if query else "") + (f"#{anchor}" if anchor else "")

    def at_call(self, number: int, **changes: Any) -> str:
        """The address at which the transcript stands at a call."""
        return self.url(
            anchor=f"call-{number}", call=number, message=None, after=None, before=None, pane="transcript", **changes
        )

    def at_message(self, index: int) -> str:
        """The address at which the transcript shows a message, with what led to it."""
        return self.url(
            anchor=f"m-{index}", message=index, after=None, before=None, call=None, pane="transcript"
        )  # fmt: skip


def parse(session_id: int, query: Mapping[str, str]) -> Place:
    """The place that an address names; what cannot be understood falls back and is told."""
    notices: list[str] = []
    numbers = {
        name: _number(name, query.get(name), notices) for name in ("a", "b", "after", "before", "call", "message")
    }
    pane = query.get("pane") or "transcript"
    if pane not in PANES:
        notices.append(f"There is no pane called {pane[:40]!r}; the transcript is shown.")
        pane = "transcript"
    return Place(
        session_id, (query.get("agent") or "")[:200] or None, pane=pane, is_raw=query.get("raw") == "1",
        notices=tuple(notices), **numbers,
    )  # fmt: skip


def _number(name: str, text: str | None, notices: list[str]) -> int | None:
    if not text:
        return None
    lowest = {"after": -1, "before": 0, "message": 0}.get(name, 1)
    try:
        value = int(text) if len(text) < 20 else BIGGEST + 1
    except ValueError:
        value = BIGGEST + 1
    if not lowest <= value <= BIGGEST:
        notices.append(f"{name}={text[:40]} is no number that this page knows; it is left out.")
        return None
    return value
