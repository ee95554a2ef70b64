"""What there is to tell of a transcript: one piece of news for each message, call, compaction and decision."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeVar

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Message
from contextviz.events.session import Transcript
from contextviz.events.times import EARLIEST

NewsKind = Literal[
    "session", "message", "call", "compaction_started", "compaction", "evaluation", "summary", "subagent", "topic",
    "error", "decision",
]  # fmt: skip
NEWS_KINDS: tuple[NewsKind, ...] = (
    "session", "message", "call", "compaction_started", "compaction", "evaluation", "summary", "subagent", "topic",
    "error", "decision",
)  # fmt: skip
MOST_WORDS = 200
# Decisions that are told by the messages, calls and summaries that they are of.
_TOLD_ELSEWHERE = frozenset({"message.ingested", "llm.call", "summary.created", "compaction.finished", "gate.segment"})
_KINDS: dict[str, NewsKind] = {
    "compaction.evaluated": "evaluation", "compaction.started": "compaction_started", "engine.error": "error",
}  # fmt: skip
Item = TypeVar("Item")
Spoken = TypeVar("Spoken", Message, ModelCall)


@dataclass(frozen=True, slots=True)
class News:
    """One thing that happened. `key` makes it one within its session; `place` is its index in its list."""

    kind: NewsKind
    key: str
    at: datetime | None
    call_index: int | None = None
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of each there were when the session was saved last; `of_agents` where it had sub-agents: messages and
    calls of each agent ("" is the session's own), whose lists only grow."""

    messages: int = 0
    calls: int = 0
    compactions: int = 0
    nodes: int = 0
    subagents: int = 0
    decisions: int = 0
    of_agents: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def counts_of(transcript: Transcript) -> Counts:
    """The same of a transcript."""
    return Counts(
        len(transcript.messages), len(transcript.calls), len(transcript.compactions),
        len(transcript.store.nodes) if transcript.store else 0, len(transcript.subagents),
        len(transcript.engine_events), _of_agents(transcript),
    )  # fmt: skip


def _of_agents(transcript: Transcript) -> dict[str, tuple[int, int]]:
    messages = Counter(agent_of(one) for one in transcript.messages)
    calls = Counter(agent_of(one) for one in transcript.calls)
    return {agent: (messages[agent], calls[agent]) for agent in messages.keys() | calls.keys()}


def agent_of(item: Message | ModelCall) -> str:
    """Whose it is, as rows say it: "" for the session's own."""
    return (item.agent or "")[:MOST_WORDS]


def news_of(transcript: Transcript, before: Counts, since: datetime) -> list[News]:
    """What is new: everything that an agent has beyond what it had before (a sub-agent's messages come between those
    that were there), and what is not older than `since` wherever it stands."""
    found: list[tuple[datetime | None, News]] = []
    of_agents = before.of_agents or {"": (before.messages, before.calls)}
    for message in _fresh_of(transcript.messages, {agent: known for agent, (known, _) in of_agents.items()}, since):
        found.append((message.at, _message(message)))
    for call in _fresh_of(transcript.calls, {agent: known for agent, (_, known) in of_agents.items()}, since):
        found.append((call.at, _call(call)))
    for compaction in _fresh(transcript.compactions, before.compactions, since):
        found.append((compaction.at, _compaction(compaction)))
    for event in _fresh(transcript.engine_events, before.decisions, since):
        if event.type not in _TOLD_ELSEWHERE or event.did_not_fire:
            found.append((event.at, _decision(event)))
    if transcript.store:
        for node in transcript.store.nodes[before.nodes :]:
            data = {"node": _words(node.id), "depth": node.depth, "tokens": node.tokens}
            found.append((node.created_at, News("summary", _key("n", node.id), node.created_at, data=data)))
    for agent in transcript.subagents[before.subagents :]:
        data = {"agent": _words(agent.id), "task": _words(agent.task)}
        found.append((None, News("subagent", _key("a", agent.id), None, data=data)))
    return list(_in_order(found))


def _fresh(items: Sequence[Any], known: int, since: datetime) -> Iterable[Any]:
    for item in items[:known]:
        if item.at is not None and item.at >= since:
            yield item
    yield from items[known:]


def _fresh_of(items: Sequence[Spoken], known: Mapping[str, int], since: datetime) -> Iterator[Spoken]:
    seen: Counter[str] = Counter()
    for item in items:
        agent = agent_of(item)
        seen[agent] += 1
        if seen[agent] > known.get(agent, 0) or (item.at is not None and item.at >= since):
            yield item


def _in_order(found: list[tuple[datetime | None, News]]) -> Iterator[News]:
    """By time; what has none stays behind what it came after."""
    latest = EARLIEST
    keyed = []
    for place, (at, news) in enumerate(found):
        latest = latest if at is None else at
        keyed.append((latest, place, news))
    for _, _, news in sorted(keyed, key=lambda one: one[:2]):
        yield news


def _message(message: Message) -> News:
    tools = [block.tool_name for block in message.blocks if block.kind == "tool_call" and block.tool_name]
    data = {
        "message": message.index, "role": message.role, "agent": _words(message.agent),
        "tokens": sum(block.text.estimated_tokens for block in message.blocks) if message.blocks else None,
        "tools": [_words(t) for t in tools[:5]],
        "is_error": any(block.is_error for block in message.blocks),
    }  # fmt: skip
    return News("message", _key("m", message.agent, message.id or message.index), message.at, message.call_index, data)


def _call(call: ModelCall) -> News:
    usage = call.usage
    data = {
        "model": _words(call.model), "agent": _words(call.agent), "prompt": usage.prompt_tokens,
        "cached": usage.cache_read_tokens, "output": usage.output_tokens, "basis": call.basis, "purpose": call.purpose,
    }  # fmt: skip
    return News("call", _key("c", call.agent, call.id or call.index, call.response_id), call.at, call.index, data)


def _compaction(one: Compaction) -> News:
    data = {
        "number": one.number, "kind": one.kind, "trigger": _words(one.trigger), "before": one.tokens_before,
        "after": one.tokens_after, "seconds": one.duration_seconds, "agent": _words(one.agent),
    }  # fmt: skip
    return News("compaction", _key("k", one.agent, one.id or one.number), one.at, one.before_call, data)


def _decision(event: EngineEvent) -> News:
    kind = "evaluation" if event.did_not_fire else _KINDS.get(event.type, "decision")
    few = {name: _words(value) if isinstance(value, str) else value for name, value in list(event.data.items())[:12]}
    data = {"type": event.type, "engine": _words(event.engine), "data": few}
    return News(kind, _key("e", event.file, event.line, event.type, event.at), event.at, data=data)


def _words(text: str | None) -> str | None:
    return None if text is None else text[:MOST_WORDS]


def _key(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")).hexdigest()
