"""One conversation's events into a transcript, whichever of the files they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contextviz.events.session import Session, Transcript
from contextviz.sources.lines import Record
from contextviz.sources.openhands.application import Application
from contextviz.sources.openhands.sdk import Sdk
from contextviz.sources.openhands.shapes import generation_of, is_bare_event
from contextviz.sources.openhands.stream import Here, Stream, StreamDraft
from contextviz.sources.openhands.usage import Ledger
from contextviz.sources.plain.draft import Draft
from contextviz.sources.source import ReadOptions
from contextviz.sources.values import as_dict, as_list, as_text

FORMAT = "openhands"
VERSIONS = {"v0": "0", "v1": "1"}
Json = Mapping[str, Any]


class Talk:
    """A transcript while its events come. It is a Script (sources.plain.growing): JSON lines are read on."""

    def __init__(self, session: Session, file: str, options: ReadOptions, ledger: Ledger, model: str | None = None):
        self.draft: Draft = StreamDraft(session, file, options)
        self._stream = Stream(self.draft, ledger, model)
        self._application = Application(self._stream)
        self._sdk = Sdk(self._stream)
        self._events = 0
        self._before: str | None = None

    def take(self, value: Any, *, line: int | None = None, is_answer: bool = False) -> None:
        """Take one event; `is_answer` where it is known to be about the one before it."""
        transcript = self.draft.transcript
        transcript.entries += 1
        transcript.lines.total += 1
        unknown = self._event(value, line, is_answer=is_answer)
        if unknown is not None:
            self.draft.unknown(unknown[:80], line=line)

    def feed(self, record: Record) -> str | None:
        """See Script.feed."""
        return self._event(record.value, record.line, is_answer=False)

    def end(self) -> None:
        """See Script.end."""
        self._stream.end()

    def finish(self) -> Transcript:
        """The finished transcript."""
        self.end()
        return self.draft.finish()

    def _event(self, value: Any, line: int | None, *, is_answer: bool) -> str | None:
        event = as_dict(value)
        self._events += 1
        generation = generation_of(event) or ("v0" if is_bare_event(event) else None)
        if generation is None:
            word = as_text(event.get("kind")) or as_text(event.get("action")) or as_text(event.get("observation"))
            return word or "no event"
        written = event.get("id")
        number = written if isinstance(written, int) and not isinstance(written, bool) else None
        is_named = number is not None or (isinstance(written, str) and written != "")
        name = str(written) if is_named else f"event-{self._events}"
        at = self.draft.time(event.get("timestamp"), f"event {name[:80]}", line=line)
        here = Here(name, number, at, line)
        self.draft.session.format_version = self.draft.session.format_version or VERSIONS[generation]
        before, self._before = self._before, name
        if generation == "v1":
            return self._sdk.add(event, here)
        return self._application.add(event, here, before if is_answer else None)


def stats_of(state: Json, ledger: Ledger) -> None:
    """Put the usages that a conversation's state lists into the ledger: by the models' uses, else its metrics."""
    uses = as_dict(as_dict(state.get("stats")).get("usage_to_metrics"))
    for metrics in uses.values() if uses else [state.get("metrics")]:
        ledger.add(metrics)


def title_of(holders: Sequence[Json]) -> str | None:
    """The first title that is written."""
    return next((title for one in holders if (title := as_text(one.get("title")))), None)


def key_of(row: Json) -> tuple[object, ...] | None:
    """What makes two rows the same run: the instance, how many events it has, and when the first and last were and what
    they say; None without times."""
    history = as_list(row.get("history"))
    ends = [as_dict(one[0] if isinstance(one, list) and one else one) for one in (history[:1] + history[-1:])]
    times = [as_text(one.get("timestamp")) for one in ends]
    said = [str(text)[:1000] for one in ends for text in (one.get("content"), as_dict(one.get("args")).get("content"))]
    return (row.get("instance_id"), len(history), *times, *said) if times and all(times) else None
