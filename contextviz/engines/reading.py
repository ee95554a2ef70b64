"""From a session that was read to what a replay is given: its own messages in order, and where models were called.

What a client or an engine made of the messages (summaries, repaired results) is left out and counted in the notes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from itertools import accumulate, pairwise

from contextviz.engines.material import CallPoint, Material, Piece, Recorded, RecordedSummary, ReplayMessage
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.message import Block, Message
from contextviz.events.session import Session, Transcript
from contextviz.events.text import TextPool
from contextviz.tokens.windows import window_of

# What was left out, and the sentence that says so; how many messages comes in the middle.
_SENTENCES = {
    "agents": "Messages of other agents left out, since each agent has a window of its own: {:,}.",
    "branches": "Messages on other branches left out, since a replay follows the one that the session ended on: {:,}.",
    "summaries": "Messages with what the client made of earlier ones (summaries), which was left out: {:,}.",
    "repairs": "Messages with a tool result that a repair wrote, which was left out: {:,}.",
    "system": "Messages with the system prompt or tools, which are counted beside the messages: {:,}.",
    "empty": "Messages without content left out: {:,}.",
    "images": "Messages with images, which are kept without their content and count no tokens: {:,}.",
    "uncalled": "Messages of the model that belong to no reported call, for which no window is made: {:,}.",
}


def material_of(transcript: Transcript, pool: TextPool, *, agent: str | None = None) -> Material:
    """What replays of `transcript` are given; `agent` chooses a sub-agent (None: the main one).

    Messages are those of the active branch, also from before compactions. Linear in the session.
    """
    session = transcript.session
    reading = _Reading(transcript, pool, agent)
    reading.read()
    calls = [one for one in transcript.calls if one.agent == agent and one.purpose == "turn" and one.on_active_path]
    points, point_notes = reading.points(calls)
    window, window_notes = _window(session, calls)
    system, basis = _system(transcript, reading, points, calls)
    compactions = [one for one in transcript.compactions if one.agent == agent and one.on_active_path]
    place = _places(transcript, reading)
    return Material(
        messages=reading.messages, points=points, summaries=_summaries(compactions, place, pool),
        window=window, model=session.model, system_tokens=system, system_basis=basis,
        session_id=session.id, agent=agent or session.agent or "",
        notes=[*reading.notes(), *point_notes, *window_notes],
        recorded=_recorded(transcript, pool, agent, reading, compactions),
    )  # fmt: skip


class _Reading:
    """The messages, and what was found on the way."""

    def __init__(self, transcript: Transcript, pool: TextPool, agent: str | None) -> None:
        self._transcript = transcript
        self._pool = pool
        self._agent = agent
        self._left: Counter[str] = Counter()
        self._other_calls = {call.index for call in transcript.calls if call.purpose != "turn"}
        # A result rarely says which tool it is of; its call does.
        self._tools = {
            block.tool_call_id: block.tool_name
            for message in transcript.messages
            for block in message.blocks
            if block.kind == "tool_call" and block.tool_call_id and block.tool_name
        }
        self.messages: list[ReplayMessage] = []
        self.kept: list[Message] = []
        self.answers: dict[int, int] = {}  # by call: how many messages there were before its answer
        self.tokens: list[int] = []  # estimated, by message

    def read(self) -> None:
        """Go through the session once."""
        turn = 0
        for message in self._transcript.messages:
            if message.agent != self._agent:
                self._left["agents"] += 1
            elif not message.on_active_path:
                self._left["branches"] += 1
            elif message.call_index in self._other_calls:
                self._left["summaries"] += 1
            else:
                turn = self._take(message, turn)

    def _take(self, message: Message, turn: int) -> int:
        if message.call_index is not None:
            self.answers.setdefault(message.call_index, len(self.messages))
        reasons = {_reason(block) for block in message.blocks} if message.blocks else {"empty"}
        blocks = [(index, block) for index, block in enumerate(message.blocks) if _reason(block) is None]
        if not blocks:
            self._left[next((one for one in _SENTENCES if one in reasons), "empty")] += 1
            return turn
        for reason in ("summaries", "repairs", "system"):
            self._left[reason] += reason in reasons
        self._left["images"] += any(block.kind == "image" for _, block in blocks)
        turn += message.role == "user"
        pieces = tuple(self._piece(index, block) for index, block in blocks)
        self.messages.append(
            ReplayMessage(
                len(self.messages), message.role, pieces, turn, _milliseconds(message.at), message.id, message.index
            )
        )
        self.kept.append(message)
        self.tokens.append(sum(block.text.estimated_tokens for _, block in blocks if block.kind != "image"))
        return turn

    def _piece(self, index: int, block: Block) -> Piece:
        is_image = block.kind == "image"
        return Piece(
            block.kind, "" if is_image else self._pool.get(block.text), index, None if is_image else block.text,
            block.tool_name or self._tools.get(block.tool_call_id or ""), block.tool_call_id, block.is_error,
            block.media_bytes,
        )  # fmt: skip

    def points(self, calls: Sequence[ModelCall]) -> tuple[list[CallPoint], list[str]]:
        """Where models were called, and what is to be said of it."""
        indexes = [message.index for message in self.kept]
        found: list[CallPoint] = []
        by_time = lost = 0
        for call in calls:
            at = self.answers.get(call.index)
            if at is None and call.message_index is not None:
                at = bisect_left(indexes, call.message_index)
            elif at is None and call.at is not None and self.times:
                at = bisect_left(self.times, round(call.at.timestamp() * 1000))
                by_time += 1
            if at is None:
                lost += 1
            else:
                found.append(CallPoint(at, call.index))
        if not found:
            return self._guessed()
        found.sort(key=lambda point: (point.messages, point.model_call or 0))
        self._left["uncalled"] = sum(one.role == "assistant" and one.call_index is None for one in self.kept)
        said = [f"Reported calls that name no message, placed by their time: {by_time:,}."] if by_time else []
        if lost:
            said.append(f"Reported calls that name no message and have no time, for which no window is made: {lost:,}.")
        return found, said

    @cached_property
    def times(self) -> list[int]:
        """When each message had come, never falling; empty where no message has a time."""
        known = [message.at for message in self.messages]
        first = next((at for at in known if at is not None), None)
        return [] if first is None else list(accumulate((at if at is not None else first for at in known), max))

    def _guessed(self) -> tuple[list[CallPoint], list[str]]:
        roles = [message.role for message in self.messages]
        starts = [at for at, role in enumerate(roles) if role == "assistant" and (not at or roles[at - 1] != role)]
        if starts:
            note = "The session reports no model calls: one is taken to have been made before each answer of the model."
            return [CallPoint(at) for at in starts], [note]
        note = "The session has no answers of a model: a call is taken to have been made after each user message."
        ends = [CallPoint(at + 1) for at, role in enumerate(roles) if role == "user"]
        return ends, [note] if roles else ["No message of this agent is in the session."]

    def notes(self) -> list[str]:
        """What was left out."""
        return [sentence.format(self._left[key]) for key, sentence in _SENTENCES.items() if self._left[key]]


def _reason(block: Block) -> str | None:
    """Why a block is left out; None where it stays."""
    if block.kind in ("system", "tools"):
        return "system"
    if block.kind == "summary":
        return "summaries"
    if block.is_synthetic:
        return "repairs"
    return None if block.text.chars or block.media_bytes or block.base64_chars else "empty"


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _window(session: Session, calls: Sequence[ModelCall]) -> tuple[int | None, list[str]]:
    if session.window:
        return session.window, []
    reported = max((call.window or 0 for call in calls), default=0)
    if reported:
        return reported, []
    model = session.model or ""
    windows = session.configuration.windows if session.configuration else {}
    named = [size for name, size in windows.items() if model and (name == model or name.endswith(f"/{model}"))]
    if named:
        return named[0], [f"The window of {named[0]:,} tokens is from the agent's configuration."]
    largest = max((call.usage.prompt_tokens or 0 for call in calls), default=0)
    known = window_of(session.model, largest_prompt=largest)
    return known, [f"The window of {known:,} tokens is from a table by the model's name."] if known else []


def _system(
    transcript: Transcript, reading: _Reading, points: Sequence[CallPoint], calls: Sequence[ModelCall]
) -> tuple[int | None, str]:
    """What the first call's request held beside the messages, and how that is known."""
    if not points or points[0].model_call is None:
        return None, "unknown"
    first = points[0]
    place = next((at for at, one in enumerate(transcript.log.snapshots) if one.call_index == first.model_call), None)
    items = transcript.log.window(place) if place is not None else []
    beside = [item for item in items if item.kind in ("system", "tools")]
    held = sum(item.text.estimated_tokens for item in beside)
    if {item.kind for item in beside} == {"system", "tools"}:
        return held, "session"
    prompt = next((call.usage.prompt_tokens for call in calls if call.index == first.model_call), None)
    if prompt:
        return max(0, prompt - sum(reading.tokens[: first.messages])), "derived"
    return (held, "session") if beside else (None, "unknown")


def _places(transcript: Transcript, reading: _Reading) -> Callable[[Compaction], int]:
    """How many of the material's messages were there before a compaction."""
    path = transcript.tree.active_path if transcript.tree else []
    position = {entry: place for place, entry in enumerate(path)}
    entries = [max((position.get(one, -1) for one in _entries(message)), default=-1) for message in reading.kept]
    indexes = [message.index for message in reading.kept]
    is_ordered = all(one <= other for one, other in pairwise(entries))

    def place(one: Compaction) -> int:
        if is_ordered and one.id in position:
            return bisect_left(entries, position[one.id])
        if one.message_index is not None:
            return bisect_left(indexes, one.message_index)
        if one.after_call in reading.answers:
            return reading.answers[one.after_call]
        if one.at is not None and reading.times:
            return bisect_left(reading.times, round(one.at.timestamp() * 1000))
        return len(indexes)

    return place


def _entries(message: Message) -> tuple[str, ...]:
    return message.entry_ids or ((message.id,) if message.id else ())


def _summaries(
    compactions: Sequence[Compaction], place: Callable[[Compaction], int], pool: TextPool
) -> list[RecordedSummary]:
    told = [RecordedSummary(place(one), pool.get(one.summary)) for one in compactions if one.summary is not None]
    return sorted((one for one in told if one.text), key=lambda one: one.messages)


def _recorded(
    transcript: Transcript, pool: TextPool, agent: str | None, reading: _Reading, compactions: Sequence[Compaction]
) -> Recorded | None:
    agents = {call.index: call.agent for call in transcript.calls}
    places = tuple(
        place
        for place, one in enumerate(transcript.log.snapshots)
        if one.call_index in agents and agents[one.call_index] == agent
    )
    if not places:
        return None
    seqs = {message.index: seq for seq, message in enumerate(reading.kept)}
    return Recorded(transcript.log, places, pool.get, seqs, tuple(compactions))
