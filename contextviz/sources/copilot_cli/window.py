"""What the next call of each agent is given, as far as the log tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from contextviz.events.call import ModelCall
from contextviz.events.message import Message
from contextviz.events.snapshot import ContextItem, SnapshotBasis
from contextviz.events.text import TextRef
from contextviz.sources.plain.draft import Draft

# The client's own wrapper around what it summarised (seen in requests of a resumed session, 1.0.88).
_BEGIN = "Some of the conversation history has been summarized to free up context.\n\n"
_USERS = "You were originally given instructions from a user over one or more turns. Here were the user messages:\n"
_SUMMARY = "\nHere is a summary of the prior context:\n<summary>\n{}\n</summary>\n"
AFTER = "what the client kept beside its summary is written nowhere; this is what a resumed session is given"
TRIMMED = "which messages the client left out of the window is not written; all are shown"


def wrapped(summary: str, prompts: Iterable[str]) -> str:
    """The message that stands for what was summarised: every earlier prompt of the user, and the summary."""
    said = "".join(f"<user_message>\n{prompt}\n</user_message>\n" for prompt in prompts)
    return _BEGIN + (_USERS + said if said else "") + _SUMMARY.format(summary)


@dataclass(slots=True)
class _Agent:
    """One agent's window: its system prompts by name, and where what follows them begins."""

    heads: dict[str, list[int]] = field(default_factory=dict)
    rest: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    basis: SnapshotBasis = "rules"
    note: str | None = None
    # What the last snapshot held: the system prompts' items, the list they were followed by, and how much of it.
    sent: tuple[tuple[int, ...], list[int], int] | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A window as it stood before an answer whose usage may come later."""

    agent: _Agent
    heads: tuple[int, ...]
    rest: list[int]
    upto: int
    basis: SnapshotBasis
    note: str | None


class Windows:
    """The windows of a session's agents."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._agents: dict[str | None, _Agent] = {}

    def _of(self, agent: str | None) -> _Agent:
        return self._agents.setdefault(agent, _Agent())

    def system(self, agent: str | None, name: str, message: Message) -> None:
        """A system or developer prompt; a later one of the same name takes its place, at the head."""
        self._of(agent).heads[name] = self._draft.items(message)

    def put(self, message: Message, *, agent: str | None) -> None:
        """Let a message follow; what the model thought is not sent again as text."""
        one = self._of(agent)
        one.rest.extend(self._draft.items(message, without_thinking=True))
        one.names.append(message.id or "")

    def mark(self, agent: str | None) -> Mark:
        """The window as it stands."""
        one = self._of(agent)
        heads = tuple(at for head in one.heads.values() for at in head)
        return Mark(one, heads, one.rest, len(one.rest), one.basis, one.note)

    def snapshot(self, call: ModelCall | None, mark: Mark) -> None:
        """Record the marked window as what a call was given."""
        if call is None:
            return
        log, one = self._draft.transcript.log, mark.agent
        heads, rest, count = one.sent or ((), [], 0)
        if one.sent is not None and heads == mark.heads and rest is mark.rest and count <= mark.upto:
            keep, tail = len(heads) + count, mark.rest[count : mark.upto]
            log.add_from(call.index, keep, tail, basis=mark.basis, agent=call.agent, note=mark.note)
        else:
            whole = [*mark.heads, *mark.rest[: mark.upto]]
            log.add(call.index, whole, basis=mark.basis, agent=call.agent, note=mark.note)
        one.sent = (mark.heads, mark.rest, mark.upto)

    def names(self, agent: str | None = None) -> list[str]:
        """The entries of a window behind its system prompts, in order."""
        return list(self._of(agent).names)

    def summarised(self, agent: str | None, text: TextRef, *, name: str) -> None:
        """Begin anew with a summary: `text` is what the model is given for it."""
        item = ContextItem("user", "summary", text, name, None, "summary", "summary of everything before", "derived")
        self._begin(agent, [self._draft.transcript.log.table.intern(item)], [f"summary {name}"], AFTER)

    def cleared(self, agent: str | None) -> None:
        """Begin anew with nothing but the system prompts."""
        self._begin(agent, [], [], None)

    def trimmed(self, agent: str | None) -> None:
        """Messages were left out, and which is not known."""
        one = self._of(agent)
        one.basis, one.note = "partial", TRIMMED

    def without(self, gone: frozenset[int], names: frozenset[str]) -> None:
        """Take the messages of these indexes (and names) out of every window."""
        table = self._draft.transcript.log.table
        for one in self._agents.values():
            one.rest = [at for at in one.rest if table.items[at].message_index not in gone]
            one.names = [name for name in one.names if name not in names]

    def _begin(self, agent: str | None, rest: list[int], names: list[str], note: str | None) -> None:
        one = self._of(agent)
        one.rest, one.names = rest, names
        one.basis, one.note = ("rules" if note is None else "partial"), note
