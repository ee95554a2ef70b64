from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextviz.sources.context_events import ContextEventsReader
from contextviz.sources.context_events.envelope import TYPES, NoEvent, envelope_of
from tests.sources.context_events.talk import Json, event, talk
from tests.sources.plain.reading import Result, read, write_lines


def result_of(folder: Path, events: list[Json]) -> Result:
    write_lines(folder / "talk.ndjson", events)
    return read(ContextEventsReader(), folder)


def test_messages_and_calls_with_their_windows(tmp_path: Path) -> None:
    found = result_of(tmp_path, talk()).one
    assert (found.session.id, found.session.agent, found.session.model) == ("talk-1", "tidy", "small-1")
    assert (found.session.window, found.session.compaction_threshold) == (1000, 800)
    assert [(m.id, m.role) for m in found.messages] == [("m0", "user"), ("m1", "assistant")]
    assert [(c.usage.input_tokens, c.usage.cache_read_tokens, c.usage.output_tokens) for c in found.calls] == [
        (20, 100, 6), (40, None, 3)]  # fmt: skip
    first, second = (found.log.window(number) for number in range(2))
    assert [(item.kind, item.entry) for item in first] == [("system", None), ("text", "m0")]
    assert [(item.kind, item.entry) for item in second] == [("system", None), ("summary", "n1"), ("injected", None)]
    assert "6 tokens by chars4" in second[2].reason
    assert [one.basis for one in found.log.snapshots] == ["request", "partial"]
    assert found.log.snapshots[1].note == "1 segment came without text: 5 tokens by the engine's own count"


def test_what_comes_without_text_counts_as_unknown_and_not_as_nothing(tmp_path: Path) -> None:
    events = talk()
    del events[1]["data"]["text"]
    inside = event(4, "message.ingested", {"msg": {"id": "m1", "seq": 1, "role": "assistant", "text": "No rain."}})
    found = result_of(tmp_path, [*events[:4], inside]).one
    assert [len(message.blocks) for message in found.messages] == [0, 1]
    assert [item.kind for item in found.log.window(0)] == ["system"]
    assert found.log.snapshots[0].note == "1 segment came without text: 8 tokens by the engine's own count"
    (told,) = [one for one in found.problems if one.code == "content_not_sent"]
    assert told.message.startswith("1 message came without text")


def test_a_check_that_did_not_fire_and_a_compaction_that_did(tmp_path: Path) -> None:
    found = result_of(tmp_path, talk()).one
    (compaction,) = found.compactions
    assert (compaction.tokens_before, compaction.tokens_after, compaction.trigger) == (900, 300, "by hand")
    assert (compaction.before_call, compaction.after_call, compaction.producer) == (0, 1, "tidy")
    assert compaction.message_index is not None, "it stands where its line does"
    (check,) = [one for one in found.engine_events if one.type == "compaction.evaluated"]
    assert check.did_not_fire
    assert (check.data["current"], check.data["threshold"]) == (126, 800)


def test_summaries_topics_and_sub_agents_have_their_places(tmp_path: Path) -> None:
    found = result_of(tmp_path, talk()).one
    assert found.store is not None
    (node,) = found.store.nodes
    assert (node.id, node.kind, node.covers, node.in_context) == ("n1", "leaf", ["m0", "m1"], True)
    assert [one.name for one in found.topics] == ["Weather"]
    assert [(one.id, one.task) for one in found.subagents] == [("a1", "look outside · ok")]
    assert any(one.type == "engine.error" for one in found.engine_events)


def test_the_order_is_that_of_the_numbers_and_what_comes_twice_is_one(tmp_path: Path) -> None:
    events = talk()
    found = result_of(tmp_path, [*reversed(events), events[3]]).one
    assert len(found.calls) == 2
    assert [m.id for m in found.messages] == ["m0", "m1"]
    assert found.session.counters["repeated_events"] == 1


def test_what_is_no_event_is_listed_with_its_line_and_its_reason(tmp_path: Path) -> None:
    wrong = [{**event(20, "llm.call", {"purpose": "brain"}), "type": "tea.made"}, event(21, "llm.call", {})]
    found = result_of(tmp_path, [*talk(), *wrong]).one
    told = {one.line: one.message for one in found.problems if one.code == "not_an_event"}
    assert "tea.made" in told[16]
    assert "lacks purpose" in told[17]
    assert found.lines.unknown == 2


def test_an_attempt_that_compacted_nothing_is_no_boundary(tmp_path: Path) -> None:
    data = {"strategy": "sweep", "tokensBefore": 5, "tokensAfter": 5, "compacted": False}
    found = result_of(tmp_path, [*talk()[:4], event(30, "compaction.finished", data)]).one
    assert not found.compactions
    assert found.engine_events[-1].did_not_fire


@pytest.mark.parametrize("change", [
    {"seq": None}, {"engine": ""}, {"engine": "x" * 33}, {"data": []}, {"v": 2}, {"type": 7}])  # fmt: skip
def test_an_envelope_without_what_it_must_have_is_none(change: Json) -> None:
    with pytest.raises(NoEvent):
        envelope_of({**event(1, "session.bootstrap", {}), **change})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3), max_leaves=9,
)  # fmt: skip
NAMES = ["msg", "tokens", "segments", "total", "node", "ids", "budget", "current", "threshold", "should", "original",
         "kept", "tokensSaved", "tool", "key", "hit", "items", "stream", "chars", "kind", "where", "id", "topic",
         "status", "pending", "purpose", "message", "anchor", "cutIndex", "why", "tokensBefore", "tokensAfter",
         "inputTokens", "text"]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(TYPES)), st.dictionaries(st.sampled_from(NAMES), JSON)), max_size=8))
def test_any_data_is_read_without_a_crash(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, Json]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    events = [event(number, kind, data) for number, (kind, data) in enumerate(told)]
    (folder / "talk.ndjson").write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in [*events, *talk()]))
    assert read(ContextEventsReader(), folder).transcripts


@pytest.mark.parametrize("number", [20.2, True, "20", -1, 2**63, [1], {}])
def test_a_number_that_is_none_refuses_the_event_even_with_an_id(number: object) -> None:
    wrong = {**talk()[0], "id": "e1", "seq": number}

    with pytest.raises(NoEvent, match="is no whole number from 0 to 9223372036854775807"):
        envelope_of(wrong)


@pytest.mark.parametrize(("number", "taken"), [(0, 0), (20.0, 20), (2**63 - 1, 2**63 - 1), (None, None)])
def test_a_number_up_to_the_last_one_is_taken(number: object, taken: int | None) -> None:
    assert envelope_of({**talk()[0], "id": "e1", "seq": number}).seq == taken
