"""A store beside its host's session: compactions placed, windows rebuilt."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from contextviz.events.call import ModelCall
from contextviz.events.message import Block, Message
from contextviz.events.session import Session, Transcript
from contextviz.events.snapshot import ContextItem
from contextviz.events.usage import TokenUsage
from contextviz.sources.attach import attach
from contextviz.tokens.pool import MemoryPool
from tests.sources.lossless_claw.building import transcripts
from tests.sources.lossless_claw.test_reader import folded


def host(pool: MemoryPool, *, ids: bool = True) -> Transcript:
    """The eight messages of `folded` and a ninth and tenth; even ones are calls, whose windows never shrink."""
    transcript = Transcript(Session("s1", "openclaw"))
    window: list[ContextItem] = [ContextItem("system", "system", pool.put("be brief"))]
    for number in range(1, 11):
        role = "user" if number % 2 else "assistant"
        block = Block("text", pool.put(f"text {number}"))
        at = datetime(2026, 11, 30, 8, 0, number, 400_000, tzinfo=UTC)
        index = number - 1
        entry = f"e{number}" if ids else f"other-{number}"
        message = Message(index, entry, None, role, role, (block,), at, number, "host")  # type: ignore[arg-type]
        transcript.messages.append(message)
        if role == "assistant":
            call = ModelCall(len(transcript.calls), None, None, at, None, TokenUsage(1), message_index=index)
            transcript.calls.append(call)
            transcript.log.add(call.index, window, basis="partial")
        window.append(ContextItem(message.role, "text", block.text, entry, index))
    return transcript


def shown(transcript: Transcript, position: int) -> list[str | None]:
    return [item.entry for item in transcript.log.window(position)]


def attached(tmp_path: Path, *, ids: bool = True) -> Transcript:
    pool = MemoryPool()
    (store,) = transcripts(folded(tmp_path / "lcm.db").path, pool)
    session = host(pool, ids=ids)
    attach(session, store)
    return session


def test_the_windows_hold_the_summaries_and_what_is_not_folded(tmp_path: Path) -> None:
    session = attached(tmp_path)
    assert shown(session, 1) == [None, "e1", "e2", "e3"]
    assert shown(session, 2) == [None, "c", "e5"]
    assert shown(session, 3) == [None, "c", "e5", "e6", "e7"]
    assert shown(session, 4) == [None, "c", "d", "e7", "e8", "e9"]
    assert {snapshot.basis for snapshot in session.log.snapshots} == {"rules"}


def test_compactions_stand_between_the_calls_around_them(tmp_path: Path) -> None:
    session = attached(tmp_path)
    assert [(one.before_call, one.after_call) for one in session.compactions] == [(1, 2), (3, 4)]
    assert session.compactions[1].context_items == ["summary c", "summary d", "e7", "e8"]
    assert session.context_at_end == ["summary c", "summary d", "e7", "e8"]
    assert session.store is not None


def test_without_entry_ids_messages_are_matched_by_role_and_text(tmp_path: Path) -> None:
    session = attached(tmp_path, ids=False)
    assert shown(session, 4) == [None, "c", "d", "other-7", "other-8", "other-9"]


def test_windows_are_partial_where_the_replay_does_not_reach_the_stored_context(tmp_path: Path) -> None:
    pool = MemoryPool()
    lcm = folded(tmp_path / "lcm.db")
    lcm.db.execute("DELETE FROM context_items WHERE summary_id='c'")
    lcm.db.commit()
    (store,) = transcripts(lcm.path, pool)
    session = host(pool)
    attach(session, store)
    assert {snapshot.basis for snapshot in session.log.snapshots} == {"partial"}
    assert all(snapshot.note for snapshot in session.log.snapshots)
    assert all(one.problem for one in session.compactions)


def test_a_result_whose_call_was_folded_is_not_sent(tmp_path: Path) -> None:
    pool = MemoryPool()
    (store,) = transcripts(folded(tmp_path / "lcm.db").path, pool)
    session = host(pool)
    table = session.log.table
    for at, item in enumerate(table.items):
        if item.entry in ("e4", "e5", "e6"):
            kind = "tool_call" if item.entry == "e4" else "tool_result"
            table.items[at] = ContextItem(item.role, kind, item.text, item.entry, item.message_index, tool_call_id="c1")  # type: ignore[arg-type]
    attach(session, store)
    assert shown(session, 3) == [None, "c", "e7"]
