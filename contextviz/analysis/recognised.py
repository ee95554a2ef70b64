"""Summaries that context engines left in a session's own messages, as nodes of its graph (engines.md 8.2, 8.3).

The engine's store is not there, so a node knows what the message says of itself and no more: what a lossless-claw or
OpenVole summary stands for stays unknown, a flowctx layer names the turns that it covers.
"""

from __future__ import annotations

from dataclasses import dataclass

from contextviz.events.compaction import ContextRef, SummaryNode, SummaryStore
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Message
from contextviz.events.session import Transcript

MOST_COVERED = 200_000  # message ids of all nodes together


@dataclass(frozen=True, slots=True)
class Recognised:
    """A recognised summary with the message that it is."""

    event: EngineEvent
    message: Message


def recognised_summaries(events: list[EngineEvent], messages: dict[int, Message]) -> list[Recognised]:
    """The summaries among `events` that stand in one of `messages` (by index), of the main agent's active path."""
    found = []
    for event in events:
        if event.type != "summary.created" or "artefact" not in event.data:
            continue
        index, block = event.data.get("message"), event.data.get("block")
        message = messages.get(index) if isinstance(index, int) else None
        if message is None or message.agent is not None or not message.on_active_path or message.id is None:
            continue
        if isinstance(block, int) and block < len(message.blocks):
            found.append(Recognised(event, message))
    return found


def add_recognised(store: SummaryStore, transcript: Transcript) -> None:
    """Put the recognised summaries of a session into the graph made from its compactions, as rolling nodes.

    A text that a compaction left is its node already. A summary is in the window where its message is.
    """
    known = {node.text.digest for node in store.nodes}
    found = [
        one for one in recognised_summaries(transcript.engine_events, dict(enumerate(transcript.messages)))
        if one.message.blocks[_block(one.event)].text.digest not in known
    ]  # fmt: skip
    if not found:
        return
    names = {str(one.event.data["id"]) for one in found}
    turns = _turns(transcript) if any(one.event.data.get("turn_start") for one in found) else {}
    made: dict[str, SummaryNode] = {}
    left = MOST_COVERED
    for one in found:
        node = node_of(one, names)
        # The turns are the message's own claim: thousands of them may each claim the whole session.
        span = _span(one.event, max(turns, default=0)) if left > 0 else range(0)
        node.covers = [name for turn in span for name in turns.get(turn, ())][:left]
        left -= len(node.covers)
        made.setdefault(node.id, node)
        for source in node.made_from:
            if source in made:
                made[source].consumers.append(node.id)
    store.nodes.extend(made.values())
    places = {one.message.id: made[str(one.event.data["id"])] for one in found}
    for at, item in enumerate(store.context):
        summary = places.get(item.id) if item.kind == "message" else None
        if summary is not None:
            summary.in_context = True
            store.context[at] = ContextRef("summary", summary.id)


def node_of(one: Recognised, names: set[str]) -> SummaryNode:
    """The node of one recognised summary; `names` are the summaries that are known beside it."""
    data, text = one.event.data, one.message.blocks[_block(one.event)].text
    sources = [name for name in str(data.get("sources") or "").split() if name in names]
    return SummaryNode(
        str(data["id"]), "rolling", 0, None, text.estimated_tokens, text, sources, created_at=one.message.at
    )


def _block(event: EngineEvent) -> int:
    return int(event.data.get("block") or 0)


def _span(event: EngineEvent, most: int) -> range:
    first, last = event.data.get("turn_start"), event.data.get("turn_end")
    return range(int(first), min(int(last), most) + 1) if first and last else range(0)


def _turns(transcript: Transcript) -> dict[int, list[str]]:
    """The messages of each turn, a turn being counted by what people said, from 1 (engines.md 8.1)."""
    turns: dict[int, list[str]] = {}
    number = 0
    for message in transcript.messages:
        if message.agent is not None or not message.on_active_path or message.id is None:
            continue
        number += message.is_human and message.role == "user"
        if not any(block.kind in ("summary", "injected") for block in message.blocks):
            turns.setdefault(number, []).append(message.id)
    return turns
