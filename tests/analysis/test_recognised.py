from __future__ import annotations

from typing import Any

from contextviz.analysis import recognised
from contextviz.analysis.summary_graph import graph, rolling_store
from contextviz.events.engine_event import EngineEvent
from contextviz.events.message import Message
from tests.analysis.building import Builder


def event(message: Message, name: str, **data: Any) -> EngineEvent:
    """A summary that was recognised in a message."""
    own = {"artefact": "flowctx_summary", "message": message.index, "block": 0, "id": name, "sources": ""}
    return EngineEvent("summary.created", "flowctx", None, "f", None, "disk", "exact", own | data)


def layered(builder: Builder, **data: Any) -> None:
    """Three turns of a person, the first two with answers, and a layer that says it covers turns 1 to 2."""
    for number in (1, 2):
        builder.say("user", ("text", f"question {number}"), is_human=True)
        builder.say("assistant", ("text", f"answer {number}"))
    layer = builder.say("user", ("summary", "goal and state"))
    builder.say("user", ("text", "and now"), is_human=True)
    builder.transcript.engine_events.append(event(layer, "d0-1-2", **{"turn_start": 1, "turn_end": 2} | data))


def test_a_layer_covers_the_turns_that_it_names_and_stands_in_the_window_for_its_message(builder: Builder) -> None:
    layered(builder)
    store = rolling_store(builder.transcript)
    (node,) = store.nodes
    assert (node.id, node.kind, node.covers, node.in_context) == ("d0-1-2", "rolling", ["m0", "m1", "m2", "m3"], True)
    assert [(item.kind, item.id) for item in store.context][4:] == [("summary", "d0-1-2"), ("message", "m5")]
    # flowctx's port leaves what it covered in the window, and then it is there twice.
    assert [finding.code for finding in graph(store).findings] == ["overlap"]


def test_a_claim_of_more_turns_than_there_are_ends_with_the_session(builder: Builder) -> None:
    layered(builder, turn_end=10**9)
    assert rolling_store(builder.transcript).nodes[0].covers == ["m0", "m1", "m2", "m3", "m5"]


def test_all_claims_together_are_bounded(builder: Builder, monkeypatch: Any) -> None:
    monkeypatch.setattr(recognised, "MOST_COVERED", 5)
    layered(builder)
    layer = builder.say("user", ("summary", "another"))
    builder.transcript.engine_events.append(event(layer, "d0-1-3", turn_start=1, turn_end=3))
    assert [len(node.covers) for node in rolling_store(builder.transcript).nodes] == [4, 1]


def test_sources_are_linked_where_they_are_there_too(builder: Builder) -> None:
    first, second = (builder.say("user", ("summary", text)) for text in ("leaf", "folded"))
    builder.transcript.engine_events += [event(first, "sum_a"), event(second, "sum_c", sources="sum_a sum_b")]
    leaf, folded = rolling_store(builder.transcript).nodes
    assert (folded.made_from, leaf.consumers) == (["sum_a"], ["sum_c"])


def test_events_that_fit_no_message_are_passed_by(builder: Builder) -> None:
    layered(builder)
    good = builder.transcript.engine_events[0]
    wrong = [{"message": 99}, {"message": None}, {"block": 7}]
    builder.transcript.engine_events += [
        EngineEvent(good.type, good.engine, None, "f", None, "disk", "exact", good.data | {"id": "x"} | data)
        for data in wrong
    ]
    assert [node.id for node in rolling_store(builder.transcript).nodes] == ["d0-1-2"]
