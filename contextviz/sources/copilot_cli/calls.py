"""Model calls: what an answer's own event says of its tokens, and what the end of a run adds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.message import Message
from contextviz.events.usage import TokenUsage, sum_usage
from contextviz.sources.copilot_cli.event import Event
from contextviz.sources.copilot_cli.usage import beyond, requests_of, run_usage, usage_of
from contextviz.sources.copilot_cli.window import Mark, Windows
from contextviz.sources.plain.counts import Counts
from contextviz.sources.plain.draft import Draft
from contextviz.sources.values import as_id, as_text

Json = dict[str, Any]


@dataclass(slots=True)
class _Open:
    """An answer whose usage may still come: its call, where its own event told of one, and the window before it."""

    message: Message
    event: Event
    mark: Mark
    response: str | None
    call: ModelCall | None
    model: str | None


class Calls:
    """Makes the calls of a session."""

    def __init__(self, draft: Draft, windows: Windows) -> None:
        self.model: str | None = None
        self._draft = draft
        self._windows = windows
        self._open: dict[str | None, _Open] = {}
        # Calls up to here are in what an earlier run of the program added up.
        self._summed = 0
        self._beyond: list[TokenUsage] = []

    def answered(self, data: Json, event: Event, message: Message, mark: Mark) -> None:
        """An answer. The log keeps only its output tokens; the messages of one response share its id."""
        response = as_id(data.get("apiCallId"))
        last = self._open.get(event.agent)
        counts = Counts()
        usage = counts.apart(output_tokens=counts.answer(data.get("outputTokens"), "outputTokens"))
        if last is not None and response is not None and last.response == response and data.get("chunkCount"):
            last.call = last.call or self._call(usage, last)
            if last.call is not None:
                message.call_index = last.call.index
                had = last.call.usage.output_tokens or 0
                last.call.usage = replace(last.call.usage, output_tokens=max(had, usage.output_tokens or 0))
            return
        self._open[event.agent] = one = _Open(message, event, mark, response, None, message.model)
        one.call = self._call(usage, one)

    def told(self, data: Json, event: Event) -> None:
        """The usage of a call, whole: of the answer before it, or of a call that has none."""
        usage, model = usage_of(data), as_text(data.get("model")) or self.model
        response = as_id(data.get("apiCallId"))
        one = self._open.get(event.agent)
        if one is not None and (response is None or one.response in (None, response)):
            self._open.pop(event.agent)
            if one.call is None:
                one.model = model
                self._call(usage, one)
            elif usage.is_real:
                output = usage.output_tokens if usage.output_tokens is not None else one.call.usage.output_tokens
                one.call.usage = replace(usage, output_tokens=output)
            return
        self._draft.call(usage, id=event.id, response_id=response, at=event.at, model=model, agent=event.agent,
                         line=event.line)  # fmt: skip

    def summary(self, usage: TokenUsage, event: Event, model: str | None) -> None:
        """The call that made a compaction's summary."""
        self._draft.call(usage, id=event.id, at=event.at, model=model or self.model, agent=event.agent,
                         purpose="summary", line=event.line)  # fmt: skip

    def shutdown(self, data: Json, event: Event) -> None:
        """A run of the program ends, with what it used in all; a session that is taken up again has several."""
        calls = self._draft.transcript.calls
        own = [call.usage for call in calls[self._summed :]]
        self._summed = len(calls)
        self._open.clear()
        whole = run_usage(data)
        if whole is None:
            return
        counters, hints = self._draft.session.counters, self._draft.session.hints
        counters["requests"] = counters.get("requests", 0) + requests_of(data)
        before = hints.get("total_tokens")
        hints["total_tokens"] = (before if isinstance(before, int) else 0) + (whole.total_tokens or 0)
        rest, is_over = beyond(whole, own)
        if is_over:
            text = "the events of a run hold more tokens than its own total at the end"
            self._draft.problem("count_mismatch", text, "info", line=event.line, value=whole.total_tokens)
        if rest is not None:
            self._beyond.append(rest)

    def settle(self) -> None:
        """What the runs' totals have beyond the calls that are written down, and the model of the main agent."""
        own = (call.model for call in reversed(self._draft.transcript.calls) if call.agent is None and call.model)
        self._draft.session.model = next(own, None) or self.model
        self._draft.transcript.unlogged_usage = sum_usage(self._beyond) if self._beyond else None

    def _call(self, usage: TokenUsage, one: _Open) -> ModelCall | None:
        event = one.event
        call = self._draft.call(
            usage, id=one.response or event.id, response_id=one.response, at=event.at, model=one.model,
            agent=event.agent, message=one.message, line=event.line,
        )  # fmt: skip
        self._windows.snapshot(call, one.mark)
        return call
