"""What takes messages out of a window: compactions, truncations, clearing, going back."""

from __future__ import annotations

from typing import Any

from contextviz.events.compaction import Compaction, CompactionKind
from contextviz.sources.copilot_cli.calls import Calls
from contextviz.sources.copilot_cli.event import Event
from contextviz.sources.copilot_cli.usage import usage_of
from contextviz.sources.copilot_cli.window import TRIMMED, Windows, wrapped
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_dict, as_float, as_id, as_int, as_text

Json = dict[str, Any]
# A hostile log may compact at every line: prompts are repeated in so many summaries, and so many characters of them.
MOST_WRAPPED = 200
MOST_PROMPT_CHARS = 500_000
# Going back looks through the whole session.
MOST_REWINDS = 1000


class Cuts:
    """Takes what is cut out of the windows."""

    def __init__(self, draft: Draft, windows: Windows, calls: Calls) -> None:
        self._draft = draft
        self._windows = windows
        self._calls = calls
        self._prompts: list[str] = []
        self._prompt_chars = 0
        self._before: dict[str | None, Json] = {}

    def prompt(self, text: str) -> None:
        """A prompt of the user, which later summaries repeat."""
        self._prompt_chars += len(text)
        if self._prompt_chars <= MOST_PROMPT_CHARS:
            self._prompts.append(text)

    def limit(self, data: Json) -> None:
        """The size of the window, where an event tells it."""
        limit = as_int(data.get("tokenLimit"))
        if limit:
            self._draft.session.window, self._draft.session.window_basis = limit, "reported"

    def started(self, data: Json, event: Event) -> None:
        """A compaction begins; what it says of the window stands where its end says nothing."""
        self.limit(data)
        self._before[event.agent] = data

    def completed(self, data: Json, event: Event) -> None:
        """A compaction is done, or failed."""
        self.limit(data)
        began = self._before.pop(event.agent, {})
        used = as_dict(data.get("compactionTokensUsed"))
        self._calls.summary(usage_of(used), event, as_text(used.get("model")) or as_text(began.get("model")))
        if data.get("success") is False:
            counters = self._draft.session.counters
            counters["failed_compactions"] = counters.get("failed_compactions", 0) + 1
            why = (as_text(data.get("error")) or "no reason is written")[:200]
            self._draft.problem("failed_compaction", f"a compaction failed: {why}", "info", line=event.line)
            return
        before = as_int(data.get("preCompactionTokens"))
        one = self._add(
            event, "summary", as_text(data.get("trigger")) or as_text(began.get("trigger")),
            before if before is not None else as_int(began.get("currentTokens")),
            as_int(data.get("postCompactionTokens")),
        )  # fmt: skip
        milliseconds = as_float(used.get("duration"))
        one.duration_seconds = milliseconds / 1000 if milliseconds else None
        summary = as_text(data.get("summaryContent"))
        pool = self._draft.pool
        one.summary = pool.put(summary) if summary else None
        prompts = self._prompts if event.agent is None and one.number <= MOST_WRAPPED else []
        self._windows.summarised(event.agent, pool.put(wrapped(summary or "", prompts)), name=event.id)
        one.context_items = self._windows.names(event.agent)

    def truncated(self, data: Json, event: Event) -> None:
        """Messages were left out to make the window fit."""
        self.limit(data)
        if not as_int(data.get("messagesRemovedDuringTruncation")):
            return
        one = self._add(
            event, "trim", as_text(data.get("performedBy")), as_int(data.get("preTruncationTokensInMessages")),
            as_int(data.get("postTruncationTokensInMessages")),
        )  # fmt: skip
        one.problem = TRIMMED
        self._windows.trimmed(event.agent)

    def cleared(self, data: Json, event: Event) -> None:
        """The conversation begins anew."""
        self._add(event, "reset", None, None, None)
        self._prompts.clear()
        self._windows.cleared(event.agent)

    def rewound(self, data: Json, event: Event) -> None:
        """Back to before an event: its message and those after it are off the path."""
        transcript = self._draft.transcript
        wanted = as_id(data.get("upToEventId"))
        counters = self._draft.session.counters
        counters["rewinds"] = counters.get("rewinds", 0) + 1
        if counters["rewinds"] > MOST_REWINDS:
            text = f"line {event.line} goes back once more than {MOST_REWINDS} times, which is not followed"
            self._draft.problem("lost_reset", text, line=event.line)
            return
        start = next((one.index for one in transcript.messages if one.id == wanted and one.on_active_path), None)
        if start is None:
            text = f"line {event.line} goes back to an event that no message is of: {(wanted or 'none')[:80]}"
            self._draft.problem("dangling_parent", text, line=event.line, value=(wanted or "")[:80])
            return
        gone = [one for one in transcript.messages[start:] if one.on_active_path]
        for message in gone:
            message.on_active_path = False
            if message.call_index is not None:
                transcript.calls[message.call_index].on_active_path = False
        self._windows.without(frozenset(one.index for one in gone), frozenset(one.id or "" for one in gone))

    def _add(
        self, event: Event, kind: CompactionKind, trigger: str | None, before: int | None, after: int | None
    ) -> Compaction:
        number = len(self._draft.transcript.compactions) + 1
        one = Compaction(
            event.id, number, event.line, self._draft.file, event.at, kind, trigger=trigger and trigger[:80],
            tokens_before=before, tokens_after=after, agent=event.agent,
        )  # fmt: skip
        self._draft.compaction(one, is_here=True)
        return one
