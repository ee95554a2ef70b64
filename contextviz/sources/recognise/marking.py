"""Engines' artefacts in what any reader read: items and messages get their right kinds, events are noted."""

from __future__ import annotations

from dataclasses import replace

from contextviz.events.artefacts import Artefact, counts_in, event_of, reason_for, segment_of
from contextviz.events.engine_event import EngineEvent, in_time_order
from contextviz.events.message import Block, Message
from contextviz.events.problem import ReadProblem
from contextviz.events.session import Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.sources.recognise.pool import Found, WatchedPool
from contextviz.sources.recognise.retrievals import asked_in, note_results

MOST_EVENTS = 5_000


def recognise(transcript: Transcript, pool: WatchedPool) -> None:
    """Give blocks and window items that are an engine's their kind, state and reason, and note the events.

    Sums do not change by it: an item keeps its text, and only its category may be another. Nothing becomes a
    compaction (engines.md 8.3 takes those from logs, stores and hosts).
    """
    events: list[EngineEvent] = []
    seen: set[str] = set()
    for position, read in enumerate(transcript.messages):
        message, found = _marked_message(read, pool.found)
        # In place of the reader's own, which it may go on from (Memory).
        transcript.messages[position] = message
        for event in found:
            # A summary is made once, however often it is sent.
            name = f"{event.engine} {event.data.get('id')}" if event.type == "summary.created" else ""
            if name not in seen:
                events.append(event)
            if name:
                seen.add(name)
        events.extend(asked_in(message, transcript, pool))
    note_results(events, transcript)
    left = len(events) - MOST_EVENTS
    if left > 0:
        text = f"{left} more traces of context engines are not listed; the first {MOST_EVENTS} are"
        transcript.problems.append(ReadProblem("many_artefacts", text, "info", next(iter(transcript.files), None)))
    transcript.engine_events = in_time_order([*transcript.engine_events, *events[:MOST_EVENTS]])
    if pool.found:
        _mark_items(transcript, pool.found)


def _marked_message(message: Message, found: Found) -> tuple[Message, list[EngineEvent]]:
    if found.keys().isdisjoint(block.text.digest for block in message.blocks):
        return message, []
    blocks = list(message.blocks)
    events: list[EngineEvent] = []
    for number, block in enumerate(message.blocks):
        for artefact in found.get(block.text.digest, ()):
            if not counts_in(artefact, role=message.role, kind=block.kind, is_human=message.is_human,
                             tool_name=block.tool_name):  # fmt: skip
                continue
            blocks[number] = _marked_block(blocks[number], artefact)
            events.append(event_of(artefact, message, number))
    if all(one is other for one, other in zip(blocks, message.blocks, strict=True)):
        return message, events
    # What an engine hands to the model as a user's message was written by no person.
    is_human = message.is_human and any(block.kind in ("text", "image") for block in blocks)
    return replace(message, blocks=tuple(blocks), is_human=is_human), events


def _marked_block(block: Block, artefact: Artefact) -> Block:
    segment = segment_of(artefact)
    is_other = segment is not None and segment.kind is not None and block.kind in ("text", "system")
    return replace(block, kind=segment.kind) if is_other and segment and segment.kind else block


def _mark_items(transcript: Transcript, found: Found) -> None:
    table = transcript.log.table
    for position, item in enumerate(table.items):
        artefacts = found.get(item.text.digest)
        if artefacts:
            table.items[position] = _marked_item(item, artefacts, transcript.messages)
    table.settle()


def _marked_item(item: ContextItem, artefacts: tuple[Artefact, ...], messages: list[Message]) -> ContextItem:
    message = messages[item.message_index] if item.message_index is not None else None
    is_human = item.role == "user" if message is None else message.is_human
    for artefact in artefacts:
        if not counts_in(artefact, role=item.role, kind=item.kind, is_human=is_human, tool_name=item.tool_name):
            continue
        segment = segment_of(artefact)
        if segment is None:
            held = f", with {reason_for(artefact)}"
            return item if item.reason.endswith(held) else replace(item, reason=item.reason + held)
        if item.kind == "summary" or item.state not in ("verbatim", "injected", "derived"):
            return item  # its reader knows more of it
        return replace(item, kind=segment.kind or item.kind, state=segment.state, reason=reason_for(artefact))
    return item
