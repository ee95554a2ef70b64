"""A small session with one of everything, built by hand, and the numbers that go with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction, ContextRef, StoreMessage, SummaryNode, SummaryStore
from contextviz.events.message import Block, Message, ToolPair
from contextviz.events.problem import ReadProblem
from contextviz.events.session import LineCounts, Session, SubAgent, Transcript, TreeFacts
from contextviz.events.snapshot import ContextItem
from contextviz.events.text import TextPool
from contextviz.events.topic import Topic, TopicEvent
from contextviz.events.usage import TokenUsage
from contextviz.store.writes import Derived

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    """A minute of the session's day, with microseconds so that their loss would show."""
    return datetime(2026, 2, 1, 9, 0, 0, 123457, tzinfo=UTC) + timedelta(minutes=minute)


def transcript(pool: TextPool, *, turns: int = 3, key: str = "session-1") -> Transcript:
    """A session of `turns` calls, each with a question and an answer, and one of every other kind of row."""
    made = Transcript(Session(key, "test", "1", agent="main", title="A title", started_at=at(0), ended_at=at(turns)))
    made.session.hints = {"compaction_count": 1}
    made.session.counters = {"rows": 7}
    made.files = ["a.jsonl"]
    made.lines = LineCounts(10, 8, 1, [3], {3: ["e3"]}, 1, [4], {"odd": 1})
    made.entries = 9
    for turn in range(turns):
        add_turn(made, pool, turn)
    made.pairs = [ToolPair("a0", 1, 0, "q1", 2, 0), ToolPair(None, 1, 1)]
    made.compactions = [
        Compaction(
            "c1", 1, 5, "a.jsonl", at(1), "summary", "auto", 900, 100, pool.put("what was said before"), "q1",
            ["q1", "a1"], ["summary c1", "q1"], before_call=0, after_call=1, duration_seconds=1.5,
        )
    ]  # fmt: skip
    made.subagents = [SubAgent("helper", "explore", "look around", "a0", 2)]
    made.tree = TreeFacts(2, "q1", "a2", ["q0", "a0"], ["x"], 1)
    made.context_at_end = ["summary c1", "q2"]
    made.entry_times = {"q0": at(0), "a0": None}
    made.problems = [ReadProblem("malformed_line", "line 3 is malformed", "warning", "a.jsonl", 3, None, 5)]
    made.store = summary_store(pool)
    made.topics = [Topic("work", "Work", "#123456", "active", at(0), at(2), thread=pool.put("thread note"))]
    made.topic_events = [TopicEvent("t1", "context_switch", "work", at(0), artifacts=["a"], active_topics=["work"])]
    return made


def add_turn(made: Transcript, pool: TextPool, turn: int) -> None:
    """One question, one answer, one call with its window."""
    question = pool.put(f"question number {turn}")
    answer = pool.put(f"answer number {turn}")
    first = len(made.messages)
    made.messages.append(
        Message(first, f"q{turn}", f"a{turn - 1}" if turn else None, "user", "user", (Block("text", question),),
                at(turn), first + 1, "a.jsonl", is_human=True, entry_ids=(f"q{turn}",))
    )  # fmt: skip
    blocks = (
        Block("text", answer),
        Block("tool_call", pool.put('{"name":"read","arguments":{}}'), tool_name="read", tool_call_id=f"call{turn}"),
    )
    made.messages.append(
        Message(first + 1, f"a{turn}", f"q{turn}", "assistant", "assistant", blocks, at(turn), first + 2, "a.jsonl",
                model="m", call_index=turn, entry_ids=(f"a{turn}", f"a{turn}b"))
    )  # fmt: skip
    usage = TokenUsage(10 + turn, 20, 5, 7, 1, 5, 0, 0.25)
    made.calls.append(
        ModelCall(turn, f"msg{turn}", f"resp{turn}", at(turn), "m", usage, window=1000, message_index=first + 1,
                  entry=f"a{turn}", line=first + 2)
    )  # fmt: skip
    items = [ContextItem("system", "system", pool.put("be helpful"), reason="system prompt")]
    for message in made.messages[: first + 1]:
        items.extend(
            ContextItem(message.role, block.kind, block.text, message.id, message.index, tool_name=block.tool_name)
            for block in message.blocks
        )
    made.log.add(turn, items, basis="rules")


def summary_store(pool: TextPool) -> SummaryStore:
    """A store with a leaf and a condensed node over it."""
    leaf = SummaryNode(
        "s1", "leaf", 0, 0, 12, pool.put("leaf summary"), [], ["s2"], ["1", "2"], False, "m", at(0), at(1)
    )
    top = SummaryNode("s2", "condensed", 1, 1, 6, pool.put("top summary"), ["s1"], [], [], True, created_at=at(2))
    rows = [StoreMessage(str(n), "7", n, "user", pool.put(f"row {n}"), 3, at(n), None, f"q{n}") for n in (1, 2, 3)]
    context = [ContextRef("summary", "s2"), ContextRef("message", "3")]
    return SummaryStore("lossless-claw", "lcm.db", ["7"], [leaf, top], rows, context, {"rows": 3, "note": None})


def derived(made: Transcript) -> Derived:
    """Numbers as services would give them; here a token is what the pool says."""
    sums = [
        {"user": sum(item.text.estimated_tokens for item in made.log.window(place))}
        for place in range(len(made.log.snapshots))
    ]
    categories = ["user"] * len(made.log.table.items)
    numbers = {"call_count": len(made.calls), "message_count": len(made.messages), "cost_usd": 0.75}
    return Derived(numbers, categories, sums, b"strips", b"compositions")
