from __future__ import annotations

from typing import Any

import pytest

from contextviz.engines.cortext import (
    Cortext,
    bridge_text,
    cost_series,
    folder_name,
    message_text,
    neutralise,
    protect_tail_of,
    read_anchors,
)
from contextviz.engines.engine import AssembleRequest, CompactRequest
from contextviz.engines.material import CallPoint, Material
from contextviz.engines.scoring import Bm25
from contextviz.events.message import Role
from contextviz.events.run import Run
from tests.engines.building import message, run, session


def talk(turns: int, words: int = 30) -> list[tuple[Role, str]]:
    made: list[tuple[Role, str]] = []
    for turn in range(turns):
        made += [("user", f"question {turn} about subject{turn} " + "word " * words), ("assistant", f"answer {turn}.")]
    return made


def told(made: Run, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in made.events if event.type == kind]


def test_nothing_is_left_out_before_the_host_asks() -> None:
    made = run(Cortext, session(talk(3)))

    assert [call.mode for call in made.calls] == ["full", "full", "full"]
    assert not made.boundaries
    assert any("simulated" in note for note in made.notes)
    assert made.scorer == "bm25"


def test_the_window_moves_to_a_user_message_and_the_rest_is_archived() -> None:
    made = run(Cortext, session(talk(12)), window=300, protectTail=2)
    moved = told(made, "window.moved")

    assert made.boundaries and moved
    assert moved[0]["role"] == "user" and moved[0]["dropped"] == len(made.boundaries[0].dropped)
    texts = {original.seq for original in made.originals}
    assert set(made.boundaries[0].dropped) <= texts
    last = made.log.window(len(made.calls) - 1)
    assert [item.reason for item in last[:2]] == ["recalled into the system prompt", "stands for what was archived"]
    assert last[1].text.chars == len(bridge_text("hybrid"))
    dropped = [seq for boundary in made.boundaries for seq in boundary.dropped]
    assert len(dropped) == len(set(dropped))


def test_full_mode_keeps_the_newest_turn_alone() -> None:
    made = run(Cortext, session(talk(12)), window=300, compactionMode="full")
    after = made.calls[made.boundaries[0].compaction.after_call or 0]

    assert after.items <= 5
    assert {boundary.compaction.kind for boundary in made.boundaries} == {"trim"}


def test_without_user_messages_nothing_is_archived() -> None:
    made = run(Cortext, session([("assistant", "word " * 300)] * 4), window=100)

    assert not made.boundaries
    assert made.calls[-1].is_over
    assert any(data["compacted"] is False for data in told(made, "compaction.finished"))


def test_one_message_larger_than_the_window_stays_and_is_flagged() -> None:
    made = run(Cortext, session([("user", "word " * 500), ("assistant", "yes")]), window=100)

    assert made.calls[0].is_over and made.calls[0].items == 1


def test_bad_settings_are_sentences() -> None:
    made = run(Cortext, session(talk(1)), window=0, protecttail=3, compactionMode="half", recallLimit=900)

    assert any("protectTail" in note for note in made.notes)
    assert any("hybrid" in note for note in made.notes)
    assert made.settings["recallLimit"] == 64


def test_a_session_without_messages() -> None:
    assert run(Cortext, Material(points=[CallPoint(0)])).calls[0].items == 0


def test_what_is_recalled_names_its_messages_and_never_the_question() -> None:
    turns: list[tuple[Role, str]] = [("user", "the freeze ends on friday"), ("assistant", "noted"),
                                     ("user", "when does the freeze end"), ("assistant", "friday")]  # fmt: skip
    made = run(Cortext, session(turns))

    assert told(made, "recall.injected")[-1]["ids"] == "0"


def test_the_cost_of_writing_turn_by_turn() -> None:
    made = run(Cortext, session(talk(4)), hintRecommendedAt=3, hintRequiredAt=6)
    costs = cost_series(made.events)

    assert [cost.turn for cost in costs] == [1, 2, 3, 4]
    assert [cost.writes for cost in costs] == [2, 2, 2, 2]
    assert [cost.hint for cost in costs] == ["none", "recommended", "required", "required"]
    assert all(cost.lookups == 2 for cost in costs)  # one recall, one segment of the gate


def test_the_gate_fires_on_what_is_archived_and_stages_it_for_the_next_turn() -> None:
    turns = [*talk(8), ("user", "and now"), ("assistant", "question 0 about subject0 again."), ("user", "go on"),
             ("assistant", "done.")]  # fmt: skip
    made = run(Cortext, session(turns), window=300, protectTail=1)

    fired = told(made, "gate.fired")
    assert fired and fired[-1]["stream"] == "assistant"
    assert told(made, "recall.injected")[-1]["staged"] >= 1
    assert not told(run(Cortext, session(turns), window=300, interruptGate=False), "gate.segment")


class Listener:
    """A host that only remembers what it is told."""

    def __init__(self) -> None:
        self.told_kinds: list[str] = []
        self.session_id, self.agent, self.scorer = "s", "main", Bm25

    def now(self) -> int:
        return 1

    def told(self, kind: str, data: Any, quality: str) -> None:
        self.told_kinds.append(kind)

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


def test_an_anchor_whose_message_is_gone_is_given_up() -> None:
    host: Any = Listener()
    engine = Cortext(host, run(Cortext, session([])).settings | {"protectTail": 1})  # type: ignore[arg-type]
    messages = [message(at, "user" if at % 2 == 0 else "assistant", f"text {at}", turn=at // 2 + 1) for at in range(8)]
    engine.ingest_batch(messages)
    engine.assemble(AssembleRequest(messages, 0, 0))
    assert engine.compact(CompactRequest(100, 200)).compacted
    assert engine.assemble(AssembleRequest(messages, 0, 1)).mode == "windowed"
    shorter = engine.assemble(AssembleRequest(messages[1:], 0, 2))

    assert shorter.mode == "full" and len(shorter.parts) == 7
    assert "window.cleared" in host.told_kinds


@pytest.mark.parametrize(
    ("given", "taken"), [(0, 0), (64, 64), (65, 6), (-1, 6), ("x", 6), (2.5, 6), (None, 0), (float("nan"), 6)]
)
def test_a_protected_tail_that_is_none_is_six(given: Any, taken: int) -> None:
    assert protect_tail_of(given) == taken


def test_hostile_texts_and_broken_states() -> None:
    assert neutralise("a</CORTEXT_memory>\x00b end  system") == "a b"
    assert read_anchors("{") == read_anchors("[]") == read_anchors('{"s-x": {"role": 1}}') == {}
    assert folder_name("..") == "cortext" and folder_name("a/b") == "a_b"
    assert message_text([{"type": "toolCall", "name": "x", "arguments": {"a": "y" * 3000}}]).endswith("y…")
    assert message_text({"text": 1}) == ""
