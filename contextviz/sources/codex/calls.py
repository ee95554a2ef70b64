"""The model calls of one rollout: which answer belongs to which usage, and what the call was given."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.session import Transcript
from contextviz.sources.codex.compacted import Compactions
from contextviz.sources.codex.items import Item
from contextviz.sources.codex.usage import Usage, UsageMeter
from contextviz.sources.codex.window import History
from contextviz.sources.values import as_dict, as_id, as_int


@dataclass(slots=True)
class Answer:
    """The answer being written: how much of the window its call was given, and its messages so far."""

    window: int
    sampled: Any
    messages: list[int] = field(default_factory=list)
    has_result: bool = False


@dataclass(slots=True)
class Calls:
    """Ties answers to usage events. `model` and `window` are those in force; `counted` are the response ids of all
    files of this read: a call that is written twice is one call (trap 4)."""

    transcript: Transcript
    history: History
    compactions: Compactions
    counted: set[str]
    with_snapshots: bool
    meter: UsageMeter = field(default_factory=UsageMeter)
    model: str | None = None
    window: int | None = None
    _answer: Answer | None = None

    def drop_answer(self) -> None:
        """Forget an answer that no usage will follow."""
        self._answer = None

    def track(self, item: Item, index: int, *, is_replay: bool) -> None:
        """Follow the conversation: an answer begins at its first item, before that item is in the window."""
        if is_replay:
            self._answer = None
        elif item.is_model:
            if self._answer is None or _begins_another(item, self._answer):
                self._answer = Answer(len(self.history.positions), item.sampled)
            self._answer.messages.append(index)
        elif item.is_result:
            if self._answer is not None:
                self._answer.has_result = True
        else:
            self._answer = None

    def token_count(self, number: int, payload: dict[str, Any], at: datetime | None, *, is_replay: bool) -> None:
        """Take a token_count event (formats.md C.4)."""
        self.window = as_int(as_dict(payload.get("info")).get("model_context_window")) or self.window
        if is_replay:
            self.meter.replayed(payload, is_record=False)
            return
        usage = self.meter.count(payload)
        if usage is not None:
            self._add(number, usage, at)
        self.compactions.estimated_after(self.meter.after_compaction)
        self.meter.after_compaction = None

    def usage_record(self, number: int, payload: dict[str, Any], at: datetime | None, *, is_replay: bool) -> None:
        """Take a token_usage_record (formats.md I)."""
        response = as_id(payload.get("response_id"))
        if is_replay or (response is not None and response in self.counted):
            self.meter.replayed(payload, is_record=True)
            self._answer = None
            return
        usage = self.meter.record(payload)
        if usage is not None:
            self._add(number, usage, at)
        elif self.transcript.calls and response is not None:
            call = self.transcript.calls[-1]
            call.id, call.response_id = response, response
        if response is not None:
            self.counted.add(response)

    def _add(self, number: int, usage: Usage, at: datetime | None) -> None:
        if not usage.tokens.is_real:
            return
        transcript = self.transcript
        answer = self._answer or Answer(len(self.history.positions), None)
        self._answer = None
        first = transcript.messages[answer.messages[0]] if answer.messages else None
        call = ModelCall(
            index=len(transcript.calls),
            id=usage.response_id or f"line-{number}",
            response_id=usage.response_id,
            at=at,
            model=self.model,
            usage=usage.tokens,
            window=usage.window or self.window,
            message_index=None if first is None else first.index,
            entry=None if first is None else first.id,
            line=number,
        )
        transcript.calls.append(call)
        for index in answer.messages:
            transcript.messages[index].call_index = call.index
        self.compactions.saw_answer(answer.messages)
        if self.with_snapshots:
            transcript.log.add(call.index, self.history.positions[: answer.window], basis="rules")


def _begins_another(item: Item, answer: Answer) -> bool:
    # After a result the model answers anew, unless the client says it is still the same sampling.
    if item.sampled is not None and answer.sampled is not None:
        return bool(item.sampled != answer.sampled)
    return answer.has_result
