"""Cortext's interrupt gate: how a stream of thinking and answer is cut into segments that are asked for (4.7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextviz.events.javascript import length16, slice16, trim

LONG_ENOUGH = 120  # UTF-16 units
_STOP = re.compile(r"[.!?\n]")
_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a run's stream that the engine looks up."""

    run: str
    stream: str
    text: str


@dataclass(slots=True)
class Buffer:
    """What one stream of a run has gathered; `seen` is how many units of its snapshots are known."""

    text: str = ""
    seen: int = 0

    def push(self, increment: str) -> str | None:
        """Take an increment; the segment that it completes: 120 units, or an increment with a full stop, question mark,
        exclamation mark or line end in it."""
        self.text += increment
        if length16(self.text) < LONG_ENOUGH and _STOP.search(increment) is None:
            return None
        whole, self.text = trim(self.text), ""
        return whole or None


@dataclass(slots=True)
class Segmenter:
    """Follows the streams of all runs. Text that no segment has taken when its run ends is never looked up."""

    takes_thinking: bool = True
    _runs: dict[str, dict[str, Buffer]] = field(default_factory=dict)

    def feed(self, event: Mapping[str, Any]) -> Segment | None:
        """Take a live event of the host (1.4): the segment it completes, None for none."""
        stream, data = event.get("stream"), event.get("data")
        run = str(event.get("runId") or "")
        fields: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        if stream == "lifecycle":
            if fields.get("phase") in ("end", "error"):
                self._runs.pop(run, None)
            return None
        if stream not in ("assistant", "thinking") or (stream == "thinking" and not self.takes_thinking):
            return None
        buffer = self._runs.setdefault(run, {}).setdefault(stream, Buffer())
        increment = _increment(buffer, fields)
        segment = buffer.push(increment) if increment else None
        return Segment(run, stream, segment) if segment else None


def _increment(buffer: Buffer, fields: Mapping[str, Any]) -> str:
    delta, text = fields.get("delta"), fields.get("text")
    if isinstance(delta, str):
        buffer.seen = length16(text) if isinstance(text, str) else buffer.seen + length16(delta)
        return delta
    if not isinstance(text, str):
        return ""
    # A snapshot that is shorter than the last one holds nothing new.
    increment = slice16(text, buffer.seen)
    buffer.seen = length16(text)
    return increment


def segments(events: Iterable[Mapping[str, Any]], *, takes_thinking: bool = True) -> list[Segment]:
    """The segments of a whole list of events."""
    follower = Segmenter(takes_thinking)
    return [found for event in events if (found := follower.feed(event)) is not None]


def streamed(buffer: Buffer, text: str) -> Iterator[str]:
    """The segments of a text that came word by word: a transcript does not keep the real increments."""
    for word in _WORD.finditer(text):
        found = buffer.push(word[0])
        if found is not None:
            yield found
