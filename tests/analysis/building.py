"""Small sessions built by hand. A token is a word, so that every table can be checked by counting."""

from __future__ import annotations

from typing import Any

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Kind, Message, Role
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextRef, digest_of
from contextviz.events.usage import TokenUsage


def words(count: int, word: str = "w") -> str:
    """A text of `count` tokens that no other call with another word gives."""
    return " ".join(f"{word}{index}" for index in range(count))


class WordPool:
    """Keeps texts by hash and counts a token for each word."""

    estimator = "words"

    def __init__(self) -> None:
        self.texts: dict[bytes, str] = {}

    def put(self, text: str) -> TextRef:
        """See TextPool.put."""
        digest = digest_of(text)
        self.texts[digest] = text
        return TextRef(digest, len(text), len(text.encode()), len(text.split()))

    def get(self, ref: TextRef) -> str:
        """See TextPool.get."""
        return self.texts[ref.digest]


class Builder:
    """A transcript in the making; `call` records a window, the prompt reported for it, and its answer."""

    def __init__(self) -> None:
        self.pool = WordPool()
        self.transcript = Transcript(Session(id="s", format="test"))

    def item(self, role: Role, kind: Kind, text: str, **more: Any) -> ContextItem:
        """One item of a window."""
        return ContextItem(role, kind, self.pool.put(text), **more)

    def say(self, role: Role, *blocks: tuple[Kind, str], **more: Any) -> Message:
        """One message of the transcript."""
        messages = self.transcript.messages
        made = tuple(Block(kind, self.pool.put(text)) for kind, text in blocks)
        message = Message(
            len(messages), f"m{len(messages)}", None, role, role, made, None, len(messages) + 1, "f", **more
        )
        messages.append(message)
        return message

    def call(
        self, items: list[ContextItem], reported: int | None = None, *, answer: str | None = None, **more: Any
    ) -> ModelCall:
        """One model call that was given `items`."""
        calls = self.transcript.calls
        cache = more.pop("cache_read", None)
        usage = TokenUsage(None if reported is None else reported - (cache or 0), cache, None, 1)
        basis = more.pop("basis", "reported" if reported is not None else "unknown")
        snapshot_basis = more.pop("snapshot_basis", "rules")
        agent = more.pop("agent", None)
        call = ModelCall(len(calls), f"c{len(calls)}", None, None, more.pop("model", "m"), usage, agent, basis=basis)
        for name, value in more.items():
            setattr(call, name, value)
        calls.append(call)
        self.transcript.log.add(call.index, items, basis=snapshot_basis, agent=agent)
        if answer is not None:
            call.message_index = self.say("assistant", ("text", answer), call_index=call.index, agent=agent).index
        return call

    def compact(self, before: int | None, after: int | None, **more: Any) -> Compaction:
        """One compaction between two calls."""
        number = len(self.transcript.compactions) + 1
        found = Compaction(
            f"k{number}", number, None, "f", None, "summary", before_call=before, after_call=after, **more
        )
        self.transcript.compactions.append(found)
        return found
