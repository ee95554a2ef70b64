from __future__ import annotations

from typing import Any

from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.openbrain import OpenBrain, Scored, Thought, merge, read_exchange, read_thoughts
from contextviz.engines.summaries import RuleSummariser, SummariserFailed, SummaryRequest
from contextviz.events.message import Role
from contextviz.events.run import Run
from tests.engines.building import run, session


def talk(turns: int) -> list[tuple[Role, str]]:
    made: list[tuple[Role, str]] = []
    for turn in range(turns):
        made += [("user", f"question {turn} about subject{turn} " + "word " * 20), ("assistant", f"answer {turn}")]
    return made


def told(made: Run, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in made.events if event.type == kind]


def shown(made: Run, call: int) -> list[int | None]:
    return [item.message_index for item in made.log.window(call)]


def test_the_newest_and_the_most_alike() -> None:
    turns: list[tuple[Role, str]] = [("user", "the freeze ends on friday"), ("assistant", "noted"), ("user", "lunch"),
                                     ("assistant", "pizza"), ("user", "when does the freeze end"),
                                     ("assistant", "friday")]  # fmt: skip
    made = run(OpenBrain, session(turns), recentMessages=1)

    assert shown(made, 2) == [0, 4]
    assert told(made, "recall.injected")[-1]["items"] == 1
    assert any("our rule" in note for note in made.notes)
    assert made.qualities["merge"] == "derived" and made.qualities["recall"] == "simulated"


def test_what_left_the_newest_can_be_got_back() -> None:
    made = run(OpenBrain, session(talk(6)), recentMessages=2, semanticSearchLimit=0)

    assert [original.seq for original in made.originals] == list(range(9))
    assert shown(made, 5) == [9, 10]


def test_compaction_archives_once_and_the_summary_is_a_thought() -> None:
    made = run(OpenBrain, session(talk(12)), window=200, recentMessages=8)

    # What slides out of the newest messages is a trim; what is archived is a boundary of its own.
    dropped = [seq for one in made.boundaries if one.compaction.kind == "summary" for seq in one.dropped]
    assert dropped and len(dropped) == len(set(dropped))
    assert made.nodes[0].id == "thought-summary-1"
    assert any(item.kind == "summary" for call in range(len(made.calls)) for item in made.log.window(call))
    assert told(made, "consolidation")[0]["where"] == "compact"


def test_a_summariser_that_fails_changes_nothing() -> None:
    def fails(request: SummaryRequest) -> str:
        raise SummariserFailed("it is asleep")

    made = run(OpenBrain, session(talk(12)), window=200, recentMessages=8, summarise=RuleSummariser("fails", fails))

    assert {one.compaction.kind for one in made.boundaries} <= {"trim"} and not made.nodes
    assert "asleep" in told(made, "engine.error")[0]["message"]


def test_a_subagent_gets_thoughts_and_leaves_one() -> None:
    material = session([("user", "find the freeze date")])
    call = Piece("tool_call", '{"name":"Task","arguments":{}}', 0, tool_name="Task", tool_call_id="c1")
    result = Piece("tool_result", "the freeze ends on friday", 0, tool_name="Task", tool_call_id="c1")
    material.messages += [ReplayMessage(1, "assistant", (call,), 1, None, None, 1),
                          ReplayMessage(2, "tool", (result,), 1, None, None, 2)]  # fmt: skip
    material.points = [CallPoint(3)]
    made = run(OpenBrain, material)

    assert told(made, "agent.spawn")[0]["id"] == "c1"
    assert told(made, "agent.end") == [
        {"seq": 2, "turn": 1, "call": 0, "id": "c1", "status": "completed", "resultChars": 25, "isKnown": True}
    ]


def test_bad_input_is_a_sentence_or_a_flag() -> None:
    large = run(OpenBrain, session([("user", "word " * 500), ("assistant", "yes")]), window=100)
    none = run(
        OpenBrain, session([("assistant", "hello"), ("assistant", "there")]), window=0, recentmessages=1, source=4
    )

    assert large.calls[0].is_over and shown(large, 0) == [0]
    assert shown(none, 1) == [0]
    assert any("recentMessages" in note for note in none.notes) and any("source is a text" in one for one in none.notes)
    assert run(OpenBrain, Material(points=[CallPoint(0)])).calls[0].items == 0


def test_merging_stops_at_the_newest_that_does_not_fit_and_passes_over_others() -> None:
    recent = [Thought("a", "x" * 40, created_at="1"), Thought("b", "y" * 400, created_at="2"),
              Thought("c", "z" * 40, created_at="3")]  # fmt: skip
    found = [Scored(recent[1], 0.9), Scored(Thought("d", "z" * 40, created_at="0"), 0.8), Scored(recent[0], 0.1)]
    made = merge(recent, found, 30)

    assert [(kept.thought.id, kept.segment) for kept in made.kept] == [("a", "recalled"), ("c", "recent")]
    assert (made.tokens, made.duplicates) == (20, 1)
    assert merge(recent, found, 0).kept == ()


def test_answers_of_any_shape() -> None:
    item = {"thought_id": 7, "text": "x", "distance": 0.25}
    for body in ([item], {"items": [item]}, {"data": [{"thought": item}]}):
        assert [(one.thought.id, one.score) for one in read_thoughts(body)] == [("7", 0.75)]
    assert read_thoughts(None) == read_thoughts({"results": [3, None, {"content": "no id"}]}) == []
    broken = read_exchange({"request": {"method": "get", "path": 3}, "response": "no"})
    assert (broken.operation, broken.ok, broken.status) == ("unknown", False, None)
