"""OpenVole's five-pass trimmer, as it is and with its defect mended (engines document, section 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from contextviz.engines.openvole.budget import estimate_messages
from contextviz.engines.openvole.messages import AgentMessage
from contextviz.events.javascript import length16, slice16

Action = Literal["shrink", "drop", "truncate"]
OLD_RESULT = 2  # iterations after which a result that was seen may be shrunk
OLD_ERROR = 5  # messages from the end behind which an error may go
OLD_WORDS = 8  # messages from the end behind which brain and user messages may be cut
RESULT_KEPT, WORDS_KEPT = 100, 200  # UTF-16 units


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that the trimmer did. `original` is the text before it, `saved` the tokens it gave."""

    message: AgentMessage
    number: int
    action: Action
    saved: int
    original: str


@dataclass(slots=True)
class Trimmed:
    """What is left and what was done. `broken` are messages that were removed or cut although they were protected."""

    messages: list[AgentMessage]
    changes: list[Change] = field(default_factory=list)
    broken: list[AgentMessage] = field(default_factory=list)


def trim_messages(
    messages: Sequence[AgentMessage], available: int, iteration: int, *, fixed: bool = False
) -> list[AgentMessage]:
    """The messages that fit `available` tokens, or as few as the rule leaves. Texts are cut in the given objects."""
    return trim(messages, available, iteration, fixed=fixed).messages


def trim(messages: Sequence[AgentMessage], available: int, iteration: int, *, fixed: bool = False) -> Trimmed:
    """The same, with what was done.

    Upstream keeps protected positions of the list before errors are dropped and goes on using them after it, so that
    whoever moved to such a position is protected instead; `fixed` works the positions out again.
    """
    return _Trimmer(list(messages), available, iteration).run(fixed)


def protected_positions(messages: Sequence[AgentMessage]) -> set[int]:
    """The first and the last user message, the last two of the brain, results that the brain has not seen."""
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    brains = [at for at, message in enumerate(messages) if message.role == "brain"]
    unseen = {at for at, one in enumerate(messages) if one.role == "tool_result" and one.seen_at is None}
    return {*users[:1], *users[-1:], *brains[-2:], *unseen}


class _Trimmer:
    def __init__(self, messages: list[AgentMessage], available: int, iteration: int) -> None:
        self._messages = messages
        self._available = available
        self._iteration = iteration
        self._tokens = estimate_messages(messages)
        self._protected: set[int] = set()
        self._meant: set[int] = set()  # ids of the objects that are meant to be protected
        self._done = Trimmed(messages)

    def run(self, fixed: bool) -> Trimmed:
        if self._tokens > self._available:
            self._protected = protected_positions(self._messages)
            self._meant = {id(self._messages[at]) for at in self._protected}
            for one_pass in (self._results, self._errors, self._brain, self._user, self._anything):
                one_pass()
                if self._tokens <= self._available:
                    break
                if fixed and one_pass == self._errors:
                    self._protected = protected_positions(self._messages)
        self._done.messages = self._messages
        return self._done

    def _note(self, message: AgentMessage, number: int, action: Action, saved: int, original: str) -> None:
        self._tokens -= saved
        self._done.changes.append(Change(message, number, action, saved, original))
        if id(message) in self._meant:
            self._done.broken.append(message)

    def _rewrite(self, message: AgentMessage, number: int, action: Action, content: str) -> None:
        original = message.content
        self._note(message, number, action, message.rewrite(content), original)

    def _results(self) -> None:
        for at, message in enumerate(self._messages):
            if self._tokens <= self._available:
                return
            if message.role != "tool_result" or message.seen_at is None or at in self._protected:
                continue
            if self._iteration - message.seen_at > OLD_RESULT:
                name = message.tool_call.name if message.tool_call else "tool"
                self._rewrite(message, 1, "shrink", f"[{name}: {slice16(message.content, 0, RESULT_KEPT)}...]")

    def _errors(self) -> None:
        """Drops all that qualify, also beyond what is needed."""
        length = len(self._messages)
        self._drop(2, lambda at, one: one.role == "error" and length - at > OLD_ERROR, stops=False)

    def _brain(self) -> None:
        self._cut(3, "brain")

    def _user(self) -> None:
        self._cut(4, "user")

    def _cut(self, number: int, role: str) -> None:
        length = len(self._messages)
        for at, message in enumerate(self._messages):
            if self._tokens <= self._available:
                return
            if message.role != role or length - at <= OLD_WORDS or at in self._protected:
                continue
            if length16(message.content) > WORDS_KEPT:
                self._rewrite(message, number, "truncate", slice16(message.content, 0, WORDS_KEPT) + "...")

    def _anything(self) -> None:
        self._drop(5, lambda at, one: True, stops=True)

    def _drop(self, number: int, qualifies: Callable[[int, AgentMessage], bool], *, stops: bool) -> None:
        kept = []
        for at, message in enumerate(self._messages):
            enough = stops and self._tokens <= self._available
            if enough or at in self._protected or not qualifies(at, message):
                kept.append(message)
                continue
            self._note(message, number, "drop", message.size, message.content)
        self._messages = kept
