"""A conversation while its events come: what both generations of them are made into."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message, Role
from contextviz.events.session import SubAgent, Transcript
from contextviz.events.usage import TokenUsage
from contextviz.sources.openhands.usage import Counted, Ledger, Totals, cost_since, unlogged
from contextviz.sources.openhands.view import Batch, Piece, View, forgets
from contextviz.sources.plain.draft import Draft

# A hostile file may condense at every event: whole windows are named for the first of them only.
MOST_NAMED = 200
# Events that one message is put together from; an honest reply has a few dozen calls of tools at most.
MOST_CALLS = 500
LOST = "the conversation was condensed too often to follow; what was taken away since is shown as if it were there"


@dataclass(frozen=True, slots=True)
class Here:
    """Where an event stands: its id, the same where it is a number, its time and line."""

    name: str
    number: int | None
    at: datetime | None
    line: int | None


@dataclass(slots=True)
class Folding:
    """What a condensation's event says."""

    names: set[str]
    start: int | None
    end: int | None
    summary: str | None
    offset: int | None
    response_id: str | None = None


class StreamDraft(Draft):
    """A draft whose compactions have their calls already: looking for them one by one takes hours where a file has
    100,000 condensations and 100,000 calls."""

    def finish(self) -> Transcript:
        """See Draft.finish."""
        compactions, self.transcript.compactions = self.transcript.compactions, []
        try:
            return super().finish()
        finally:
            self.transcript.compactions = compactions


class Stream:
    """Puts events into a draft, for the agent whose turn it is. Delegates' events lie between the event that asks for
    them and the one that tells their result."""

    def __init__(self, draft: Draft, ledger: Ledger, model: str | None):
        self.draft = draft
        self.ledger = ledger
        self.model = model
        self.agent: str | None = None
        self.trigger: str | None = None
        self._delegates: list[tuple[str | None, str]] = []
        self._views: dict[str | None, View] = {}
        self._batches: dict[tuple[str | None, str], Batch] = {}
        self._calls: dict[tuple[str | None, str], Batch] = {}
        self._replies: set[tuple[str | None, str]] = set()
        self._totals: Totals | None = None
        self._has_gap = False
        self._last_turn: dict[str | None, int] = {}

    def view(self) -> View:
        """The events of the agent whose turn it is."""
        if self.agent not in self._views:
            self._views[self.agent] = View(self.draft, self.agent)
        return self._views[self.agent]

    def silent(self, here: Here) -> None:
        """An event of the history that no model is shown."""
        self.view().add(Piece("silent", here.name, here.number))

    def say(
        self, role: Role, native: str, blocks: Sequence[Block], here: Here, *, is_human: bool = False,
        sent: list[Block] | None = None, reason: str = "",
    ) -> Message:  # fmt: skip
        """A message that is sent from here on (`sent`: other blocks than it shows)."""
        message = self._message(role, native, blocks, here, is_human=is_human)
        self.view().add(Piece("message", here.name, here.number, message, sent, reason=reason))
        return message

    def answer(self, blocks: Sequence[Block], here: Here) -> Message:
        """What a model said, without calls of tools; its call is `called` before it is `shown`."""
        return self._message("assistant", "assistant", blocks, here)

    def shown(self, message: Message, here: Here, sent: list[Block] | None = None) -> None:
        """Let an answer follow in the window, as it is sent back to the model."""
        self.view().add(Piece("message", here.name, here.number, message, sent))

    def batch_of(self, reply: str) -> Batch | None:
        """The calls of a reply that is known already, unless there are more of them than one message is given."""
        found = self._batches.get((self.agent, reply))
        return found if found is None or len(found.message.entry_ids) < MOST_CALLS else None

    def calls(self, reply: str, message: Message, sent: list[Block], ids: list[str], here: Here) -> None:
        """A reply's calls of tools, sent when all of `ids` are answered."""
        batch = Batch(message, sent, ids)
        self._batches[self.agent, reply] = batch
        self._calls.update({(self.agent, one): batch for one in ids})
        self.view().add(Piece("calls", here.name, here.number, batch=batch, calls=tuple(ids)))

    def more_calls(self, batch: Batch, blocks: Sequence[Block], ids: list[str], here: Here) -> None:
        """A further event of the same reply: the message grows where the event brings calls that it did not have."""
        message = batch.message
        message.entry_ids = (*message.entry_ids, here.name)
        self.draft.transcript.entry_times.setdefault(here.name, here.at)
        if ids:
            message.blocks = (*message.blocks, *blocks)
            batch.blocks.extend(blocks)
            batch.calls.extend(ids)
            self._calls.update({(self.agent, one): batch for one in ids})
        self.view().add(Piece("calls", here.name, here.number, batch=batch, calls=tuple(ids)))

    def result(self, call: str | None, blocks: Sequence[Block], native: str, here: Here) -> None:
        """A call's result; one whose call is not known is shown, and sent to nobody."""
        message = self._message("tool", native, blocks, here)
        batch = self._calls.get((self.agent, call or ""))
        if batch is not None:
            batch.is_answered = True
        self.view().add(Piece("result", here.name, here.number, message, call=call))

    def called(
        self, message: Message, usage: TokenUsage | None, reply: str | None, here: Here, *,
        model: str | None = None, more: TokenUsage | None = None, cost: float | None = None,
    ) -> None:  # fmt: skip
        """The model call that a message is the answer of, with the window as it stands. `usage` is the reply's own;
        where it has none, `more` is what the running totals grew by, and `cost` what the running cost did. A reply is
        one call, in however many events it is."""
        if reply is not None:
            if (self.agent, reply) in self._replies:
                return
            self._replies.add((self.agent, reply))
        own = usage if usage is not None and usage.is_real else more
        listed = self.ledger.place(reply) if reply else self.ledger.place_like(own)
        response = reply or (listed.response_id if listed is not None else None)
        window = listed.window if listed is not None else None
        call = self.draft.call(
            _completed(own, listed, cost), id=response or message.id, response_id=response, at=here.at,
            model=model or (listed.model if listed is not None else None) or self.model, agent=self.agent,
            message=message, window=window or (self._totals.window if self._totals is not None else None),
            line=here.line,
        )  # fmt: skip
        if call is None and reply is not None:
            call = self._uncounted(message, reply, here, model or self.model)
        if call is not None:
            message.model = call.model
            self._last_turn[self.agent] = call.index
        view = self.view()
        self.draft.snapshot(call, basis="partial" if view.is_lost else "rules", note=LOST if view.is_lost else None)

    def _uncounted(self, message: Message, reply: str, here: Here, model: str | None) -> ModelCall:
        """A call whose reply is written and whose usage is not."""
        calls = self.draft.transcript.calls
        call = ModelCall(
            len(calls), reply, reply, here.at, model, TokenUsage(), self.agent, basis="unknown",
            message_index=message.index, entry=message.id, line=here.line,
        )  # fmt: skip
        calls.append(call)
        message.call_index = call.index
        return call

    def since(self, totals: Totals | None) -> tuple[TokenUsage | None, float | None]:
        """What the running totals of a call's event have more than those before it, as its usage and cost. Both are
        None where a call or a condensation without totals came between: it is in the same difference."""
        if totals is None:
            self._has_gap = True
            return None, None
        before, self._totals = self._totals, totals
        had_gap, self._has_gap = self._has_gap, False
        if had_gap or (before is None and self.draft.transcript.calls):
            return None, None
        return totals.since(before), cost_since(totals, before)

    def delegate(self, here: Here, kind: str | None, task: str | None) -> None:
        """The turn goes to a delegate, until `back`."""
        self._delegates.append((self.agent, here.name))
        self.agent = f"delegate-{here.name}"
        self.draft.transcript.subagents.append(SubAgent(self.agent, kind, task, here.name))

    def back(self) -> None:
        """The turn goes back to the agent that asked."""
        if self._delegates:
            self.agent = self._delegates.pop()[0]

    def awaits(self, name: str | None) -> bool:
        """Whether the delegate whose turn it is was asked for by this event."""
        return bool(self._delegates) and self._delegates[-1][1] == name

    def fold(self, folding: Folding, here: Here, *, drops_summary: bool, totals: Totals | None = None) -> None:
        """A condensation: the compaction, the summariser's call where its usage is known, and the window after it."""
        draft, view = self.draft, self.view()
        spent, cost = self.since(totals)
        number = len(draft.transcript.compactions) + 1
        text = None if folding.summary is None else draft.pool.put(folding.summary)
        before = view.names() if number <= MOST_NAMED else set()
        piece = None if text is None else Piece(
            "summary", here.name, here.number, summary=text, reason="summary of the events taken away",
        )  # fmt: skip
        done = view.condense(
            forgets(folding.names, folding.start, folding.end), piece, folding.offset, drops_summary=drops_summary
        )
        names, gone = done if done is not None else ([], 0)
        shown = names if number <= MOST_NAMED else []
        kept = list(dict.fromkeys(name for name in shown if name in before))
        draft.transcript.compactions.append(Compaction(
            here.name, number, here.line, draft.file, here.at, "trim" if text is None else "summary",
            trigger=self.trigger or "auto", summary=text, first_kept=kept[0] if kept else None, kept=kept,
            context_items=list(dict.fromkeys(shown)), agent=self.agent, before_call=self._last_turn.get(self.agent),
            problem=_problem(folding, gone, is_lost=done is None), message_index=len(draft.transcript.messages),
        ))  # fmt: skip
        draft.transcript.entry_times[here.name] = here.at
        self.trigger = None
        listed = self.ledger.place(folding.response_id) or self.ledger.place_like(spent)
        response = folding.response_id or (listed.response_id if listed is not None else None)
        self.draft.call(
            _completed(spent, listed, cost), id=response or here.name, response_id=response, at=here.at,
            model=(listed.model if listed is not None else None) or self.model, agent=self.agent, purpose="summary",
            line=here.line,
        )  # fmt: skip

    def end(self) -> None:
        """What only the end tells. It may be called again after more events."""
        transcript = self.draft.transcript
        turns: dict[str | None, list[int]] = {}
        for call in transcript.calls:
            if call.purpose == "turn":
                turns.setdefault(call.agent, []).append(call.index)
        for one in transcript.compactions:
            own = turns.get(one.agent, [])
            place = bisect_right(own, -1 if one.before_call is None else one.before_call)
            one.after_call = own[place] if place < len(own) else None
        counts: dict[str | None, int] = {}
        for message in transcript.messages:
            counts[message.agent] = counts.get(message.agent, 0) + 1
        for agent in transcript.subagents:
            agent.message_count = counts.get(agent.id, 0)
        transcript.unlogged_usage = unlogged(self.ledger, [call.usage for call in transcript.calls], self._totals)
        session = self.draft.session
        last = self._last_turn.get(None)
        if last is not None and (window := transcript.calls[last].window) is not None:
            session.window, session.window_basis = window, "reported"
        session.model = session.model or self.model

    def _message(
        self, role: Role, native: str, blocks: Sequence[Block], here: Here, *, is_human: bool = False
    ) -> Message:
        name = here.name if here.name not in self.draft.transcript.entry_times else None
        return self.draft.message(
            role, native, blocks, id=name, at=here.at, line=here.line, agent=self.agent, is_human=is_human
        )


def _completed(usage: TokenUsage | None, listed: Counted | None, cost: float | None) -> TokenUsage | None:
    """A call's usage: the reply's own, with what only the list knows; the list's where the reply has none."""
    other = listed.usage if listed is not None else TokenUsage()
    found = usage if usage is not None and usage.is_real else other
    costs = (found.cost_usd, other.cost_usd, cost)
    reasons = (found.reasoning_tokens, other.reasoning_tokens)
    return replace(
        found, cost_usd=next((one for one in costs if one is not None), None),
        reasoning_tokens=next((one for one in reasons if one is not None), None),
    )  # fmt: skip


def _problem(folding: Folding, gone: int, *, is_lost: bool) -> str | None:
    if is_lost:
        return LOST
    if folding.summary is not None and folding.offset is None:
        return "the summary has no place in the window, so the client does not show it"
    return None if gone or folding.summary is not None else "it takes nothing out of the window"
