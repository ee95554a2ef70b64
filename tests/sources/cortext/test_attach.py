"""Cortext's state beside its host's session: the windows begin at the anchor."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Block, Message
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.sources.attach import attach
from contextviz.sources.joining import fits
from contextviz.sources.windowed import BRIDGE
from contextviz.tokens.pool import MemoryPool

START = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


def host(pool: MemoryPool) -> Transcript:
    """Ten messages `text 1` to `text 10`, the sixth and eighth repeat one text; each even one is a call."""
    transcript = Transcript(Session("S", "openclaw"))
    window = [ContextItem("system", "system", pool.put("be brief"))]
    for number in range(1, 11):
        role = "user" if number % 2 else "assistant"
        text = "again?" if number in (5, 7) else f"text {number}"
        block = Block("text", pool.put(text))
        at, index = START + timedelta(seconds=10 * number), number - 1
        message = Message(index, f"e{number}", None, role, role, (block,), at, number, "host")  # type: ignore[arg-type]
        transcript.messages.append(message)
        transcript.context_at_end.append(f"e{number}")
        if role == "assistant":
            call = ModelCall(len(transcript.calls), None, None, at, None, TokenUsage(1), message_index=index)
            transcript.calls.append(call)
            transcript.log.add(call.index, window, basis="rules")
        window.append(ContextItem(message.role, "text", block.text, f"e{number}", index))
    return transcript


def state(prefix: str, dropped: int, at: datetime, *, cleared: bool = False) -> Transcript:
    """A state as the reader gives it: one anchor."""
    part = Transcript(Session("s-agent_main_S", "cortext"), ["compaction.json"])
    data = {"role": "user", "textPrefix": prefix, "dropped": dropped}
    part.engine_events.append(
        EngineEvent("window.moved", "cortext", at, "compaction.json", None, "disk", "exact", data)
    )
    if cleared:
        part.engine_events.append(EngineEvent("window.cleared", "cortext", None, "compaction.json", None, "disk"))
    part.compactions.append(Compaction("anchor-1", 1, None, "compaction.json", at, "trim", producer="cortext"))
    return part


def shown(transcript: Transcript, call: int) -> list[str | None]:
    return [item.entry for item in transcript.log.window(call)]


def test_from_the_anchor_on_windows_hold_a_bridge_for_what_was_archived() -> None:
    pool = MemoryPool()
    session = host(pool)
    attach(session, state("again?", 4, START + timedelta(seconds=62)), pool)

    assert shown(session, 2) == [None, "e1", "e2", "e3", "e4", "e5"], "the call before it had all"
    assert shown(session, 3) == [None, None, "e5", "e6", "e7"], "the fifth message has four before it"
    assert shown(session, 4) == [None, None, "e5", "e6", "e7", "e8", "e9"]
    bridge = session.log.window(3)[1]
    assert (pool.get(bridge.text), bridge.kind, bridge.basis) == (BRIDGE, "injected", "derived")
    assert [one.basis for one in session.log.snapshots] == ["rules", "rules", "rules", "partial", "partial"]
    (made,) = session.compactions
    assert (made.before_call, made.after_call, made.first_kept) == (2, 3, "e5")
    assert session.context_at_end == ["e5", "e6", "e7", "e8", "e9", "e10"]
    assert session.files == ["compaction.json"]


def test_the_position_decides_between_messages_of_one_text() -> None:
    pool = MemoryPool()
    session = host(pool)
    attach(session, state("again?", 5, START + timedelta(seconds=82)), pool)

    assert shown(session, 4) == [None, None, "e7", "e8", "e9"], "the first one of that text with more than five before"


def test_an_anchor_that_is_not_there_shows_the_whole_window() -> None:
    pool = MemoryPool()
    session = host(pool)
    attach(session, state("never said", 2, START + timedelta(seconds=62)), pool)

    assert shown(session, 3) == [None, "e1", "e2", "e3", "e4", "e5", "e6", "e7"]
    assert session.compactions[0].problem is not None and "not in the transcript" in session.compactions[0].problem


def test_a_cleared_anchor_leaves_the_window_at_the_end_whole() -> None:
    pool = MemoryPool()
    session = host(pool)
    attach(session, state("again?", 4, START + timedelta(seconds=62), cleared=True), pool)

    assert session.context_at_end[0] == "e1"
    assert [event.type for event in session.engine_events] == ["window.moved", "window.cleared"]


def test_what_the_log_tells_gives_its_numbers_to_the_state() -> None:
    pool = MemoryPool()
    session = host(pool)
    at = START + timedelta(seconds=62)
    attach(session, state("again?", 4, at), pool)
    log = Transcript(Session("s-agent_main_S", "engine-log"), ["gateway.log"])
    same = Compaction(
        "log-7", 1, 7, "gateway.log", at + timedelta(seconds=1), "trim", None, 900, 400, producer="cortext"
    )
    earlier = replace(same, id="log-2", at=START + timedelta(seconds=42), tokens_before=700, tokens_after=500)
    log.compactions.extend((earlier, same))
    attach(session, log, pool)

    told = [(one.id, one.number, one.tokens_before, one.tokens_after) for one in session.compactions]
    assert told == [("log-2", 1, 700, 500), ("anchor-1", 2, 900, 400)]
    assert session.log.snapshots[2].basis == "partial" and "no longer" in (session.log.snapshots[2].note or "")
    assert session.log.snapshots[1].basis == "rules"


def test_a_scope_key_names_the_session_of_its_key() -> None:
    assert fits("s-agent_main_S", Session("S", "openclaw"))
    assert fits("s-S", Session("S", "openclaw"))
    assert fits("s-agent_main_telegram_42", Session("x", "openclaw", hints={"session_key": "agent:main:telegram:42"}))
    assert not fits("s-agent_main_S", Session("S", "openclaw", hints={"session_key": "agent:main:other"}))
    assert not fits("a-main", Session("main", "openclaw"))
    assert not fits("global", Session("global-one", "openclaw"))
