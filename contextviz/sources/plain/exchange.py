"""Requests that carry the whole window, one after another: messages once, a snapshot each, shrinks told.

Every request of a chat body log or of a GenAI trace repeats what came before it. What is new in it is the
conversation; what is missing from it was taken away by the client (formats.md F and trap 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message, Role
from contextviz.events.snapshot import SnapshotBasis
from contextviz.events.usage import TokenUsage
from contextviz.sources.plain.draft import Draft, item_of

SHRINK_SHARE = 0.6
INFERRED = "inferred: the request is much smaller than the one before it, and messages of it are missing"
Key = tuple[object, ...]


@dataclass(slots=True)
class Said:
    """One message of a request or an answer."""

    role: Role
    native_role: str
    blocks: tuple[Block, ...]
    id: str | None = None
    at: datetime | None = None

    @property
    def key(self) -> Key:
        """What makes it the same message in the next request: tool ids where it has any, else its texts. Thinking
        is often left out when a message is sent again."""
        ids = tuple(
            (block.kind, block.tool_call_id) for block in self.blocks if block.kind in ("tool_call", "tool_result")
        )
        if ids and all(name for _, name in ids):
            return (self.role, ids)
        texts = tuple(
            (block.kind, block.text.digest, block.base64_chars) for block in self.blocks if block.kind != "thinking"
        )
        return (self.role, texts)


@dataclass(slots=True)
class Exchange:
    """A request with its answer, as far as either is written. `continues` says that `context` follows what the
    provider keeps of the exchange before it (Responses' previous_response_id); `is_partial` that a part of the
    request is not written (`note` says which)."""

    context: list[Said]
    answer: Said | None = None
    usage: TokenUsage | None = None
    model: str | None = None
    response_id: str | None = None
    at: datetime | None = None
    line: int | None = None
    agent: str | None = None
    has_request: bool = True
    is_failed: bool = False
    continues: bool = False
    is_partial: bool = False
    note: str | None = None


@dataclass(slots=True)
class _State:
    """What one agent's last request held. `keys` are its messages' keys, `last` the request, answer included."""

    known: dict[Key, list[Message]] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    context: list[Said] = field(default_factory=list)
    tokens: int | None = None
    call: int | None = None


class RequestLog:
    """Puts exchanges into a draft, in their order."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._states: dict[str | None, _State] = {}

    def add(self, exchange: Exchange) -> None:
        """Add one exchange: its new messages, its call with its window, a compaction where the window shrank."""
        state = self._states.setdefault(exchange.agent, _State())
        basis: SnapshotBasis = "rules" if exchange.continues else "request"
        basis = "partial" if exchange.is_partial else basis
        if exchange.continues:
            exchange.context = [*state.context, *exchange.context]
        pairs = self._matched(exchange, state)
        positions = [position for said, message in pairs for position in self._positions(said, message)]
        names = [message.id or "" for _, message in pairs]
        keys = [said.key for said, _ in pairs]
        table = self._draft.transcript.log.table
        estimate = sum(table.items[position].text.estimated_tokens for position in positions)
        compaction = self._shrunk(exchange, state, keys, estimate, pairs) if exchange.has_request else None
        self._draft.restart(positions, names, agent=exchange.agent)
        self._answered(exchange, state, basis)
        if compaction is not None and state.call is not None:
            compaction.after_call = state.call
        if exchange.has_request:
            state.tokens = estimate
            state.keys = keys
            state.context = list(exchange.context)
        if exchange.answer is not None:
            state.keys.append(exchange.answer.key)
            state.context.append(exchange.answer)

    def _matched(self, exchange: Exchange, state: _State) -> list[tuple[Said, Message]]:
        used: dict[Key, int] = {}
        pairs: list[tuple[Said, Message]] = []
        for said in exchange.context:
            key = said.key
            place = used.get(key, 0)
            known = state.known.setdefault(key, [])
            if place >= len(known):
                known.append(self._new(said, exchange))
            used[key] = place + 1
            pairs.append((said, known[place]))
        return pairs

    def _new(self, said: Said, exchange: Exchange) -> Message:
        return self._draft.message(
            said.role, said.native_role, said.blocks, id=self._free(said.id), at=said.at, line=exchange.line,
            agent=exchange.agent, is_human=said.role == "user" and any(b.kind != "tool_result" for b in said.blocks),
        )  # fmt: skip

    def _free(self, name: str | None) -> str | None:
        return name if name is not None and name not in self._draft.transcript.entry_times else None

    def _positions(self, said: Said, message: Message) -> list[int]:
        """A message's items as this request has them: a block that differs from when it was first sent says so."""
        table = self._draft.transcript.log.table
        own = {(block.kind, block.text.digest) for block in message.blocks}
        found = []
        for block in said.blocks:
            is_same = (block.kind, block.text.digest) in own
            reason = "in the request" if is_same else "changed since it was first sent"
            item = item_of(message, block, reason, "verbatim" if is_same else "truncated")
            found.append(table.intern(item))
        return found

    def _answered(self, exchange: Exchange, state: _State, basis: SnapshotBasis) -> None:
        answer, message = exchange.answer, None
        if answer is not None:
            message = self._draft.message(
                answer.role, answer.native_role, answer.blocks, id=self._free(answer.id or exchange.response_id),
                at=answer.at or exchange.at, line=exchange.line, agent=exchange.agent, model=exchange.model,
                is_human=False,
            )  # fmt: skip
            state.known.setdefault(answer.key, []).append(message)
        call = self._draft.call(
            exchange.usage, id=exchange.response_id, response_id=exchange.response_id, at=exchange.at,
            model=exchange.model, agent=exchange.agent, message=message, line=exchange.line,
        )  # fmt: skip
        state.call = None if call is None else call.index
        if call is None and exchange.is_failed:
            self._draft.transcript.failed_calls += 1
        if exchange.has_request:
            self._draft.snapshot(call, basis=basis, note=exchange.note)
        if message is not None:
            self._draft.put(message, agent=exchange.agent)

    def _shrunk(
        self, exchange: Exchange, state: _State, keys: Sequence[Key], estimate: int,
        pairs: Sequence[tuple[Said, Message]],
    ) -> Compaction | None:  # fmt: skip
        """A compaction where the window lost more than 40 % and messages of it are gone; going back to an earlier
        point of the conversation is none."""
        before = state.tokens
        if before is None or not state.keys or estimate >= before * SHRINK_SHARE:
            return None
        if list(keys) == state.keys[: len(keys)] or list(keys[:-1]) == state.keys[: max(0, len(keys) - 1)]:
            return None
        had = set(state.keys)
        if had <= set(keys):
            return None
        kept = [message.id for (_, message), key in zip(pairs, keys, strict=True) if key in had and message.id]
        number = len(self._draft.transcript.compactions) + 1
        compaction = Compaction(
            f"shrink-{number}", number, exchange.line, self._draft.file, exchange.at, "trim", kept=kept,
            context_items=[message.id or "" for _, message in pairs], problem=INFERRED, agent=exchange.agent,
        )  # fmt: skip
        self._draft.compaction(compaction)
        return compaction
