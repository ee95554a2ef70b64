from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contextviz.sources.openhands import OpenHandsReader
from tests.sources.openhands.building import (
    IMAGE,
    condensation,
    event,
    given,
    meta,
    ran,
    reply,
    runs,
    save_events,
    says,
    system,
    totals,
    usage,
    user,
)  # fmt: skip
from tests.sources.plain.reading import Result, read, write, write_lines

Json = dict[str, Any]
R1 = reply("r1", ["c1", "c2"], usage(100, 10, 40), "looking")
R2 = reply("r2", ["c3"], usage(200, 20, 150, 30))
R3 = reply("r3", ["c4"], usage(90))
# Two calls of one reply, run one after the other, then one more call.
THREE = [
    system(0), user(1, "hi"), event(2, "user", action="recall", args={"query": "hi"}),
    runs(3, "c1", R1), ran(4, "c1", R1, "A", 3), runs(5, "c2", R1), ran(6, "c2", R1, "B", 5, 1),
    runs(7, "c3", R2), ran(8, "c3", R2, "C", 7),
]  # fmt: skip


def listed(folder: Path, events: list[Json]) -> Result:
    write(folder / "trajectory.json", events)
    return read(OpenHandsReader(), folder)


def texts(window: list[tuple[str, str, str]]) -> list[str]:
    """A window without its system message and its tools."""
    return [text for role, _, text in window if role != "system"]


def call(name: str) -> str:
    return json.dumps({"name": "execute_bash", "arguments": {"command": name}})


def test_events_that_share_a_reply_are_one_call_and_one_message(tmp_path: Path) -> None:
    result = listed(tmp_path, THREE)
    found = result.one

    assert [(one.id, one.usage.prompt_tokens, one.usage.output_tokens) for one in found.calls] == [
        ("r1", 100, 10),
        ("r2", 200, 20),
    ]
    first = found.calls[0].usage
    assert (first.input_tokens, first.cache_read_tokens, first.cache_write_tokens) == (60, 40, None)
    second = found.calls[1].usage
    assert (second.input_tokens, second.cache_read_tokens, second.cache_write_tokens) == (20, 150, 30)
    assert [one.entry_ids for one in found.messages] == [("0",), ("1",), ("3", "5"), ("4",), ("6",), ("7",), ("8",)]
    assert [(one.call_entry, one.call_block, one.result_entry) for one in found.pairs] == [
        ("3", 1, "4"), ("3", 2, "6"), ("7", 0, "8"),
    ]  # fmt: skip
    assert [one.native_role for one in found.messages if one.role == "tool"] == ["run"] * 3
    assert [block.is_error for one in found.messages if one.role == "tool" for block in one.blocks] == [
        False, True, False,
    ]  # fmt: skip
    assert (found.entries, found.lines.read, found.problems) == (9, 9, [])
    assert found.session.model == "m-1" and found.session.format_version == "0"


def test_windows_hold_a_replys_calls_with_their_results_behind_them(tmp_path: Path) -> None:
    result = listed(tmp_path, THREE)
    first, second = result.windows()

    assert [(role, kind) for role, kind, _ in first] == [("system", "system"), ("system", "tools"), ("user", "text")]
    assert texts(first) == ["hi"]
    assert texts(second) == ["hi", "looking", call("c1"), call("c2"), given("A"), given("B", 1)]
    assert result.one.context_at_end == ["0", "1", "3", "4", "6", "7", "8"]


def test_a_condensation_takes_a_range_out_and_puts_its_summary_at_its_place(tmp_path: Path) -> None:
    fold = condensation(9, forgotten_events_start_id=3, forgotten_events_end_id=6, summary="gist", summary_offset=3)
    result = listed(tmp_path, [*THREE, fold, runs(10, "c4", R3)])
    found = result.one
    (compaction,) = found.compactions

    # The place counts every event that is left, the recall (which no model is shown) too.
    assert texts(result.windows()[2]) == ["hi", "gist", call("c3"), given("C")]
    assert (compaction.id, compaction.kind, compaction.trigger) == ("9", "summary", "auto")
    assert (compaction.before_call, compaction.after_call) == (1, 2)
    assert found.messages[compaction.message_index or 0].id == "10", "it stands where the list has it"
    assert compaction.kept == ["0", "1", "7", "8"] and compaction.first_kept == "0"
    assert compaction.context_items == ["0", "1", "summary 9", "7", "8"]
    assert compaction.summary is not None and result.pool.get(compaction.summary) == "gist"
    assert compaction.problem is None
    assert found.context_at_end == ["0", "1", "summary 9", "7", "8"]


def test_of_a_torn_reply_nothing_is_sent(tmp_path: Path) -> None:
    fold = condensation(9, forgotten_event_ids=[3, 4], summary="gist", summary_offset=2)
    result = listed(tmp_path, [*THREE, fold, runs(10, "c4", R3)])

    assert texts(result.windows()[2]) == ["hi", "gist", call("c3"), given("C")]


def test_a_later_summary_replaces_the_one_before_it_and_a_trim_leaves_it(tmp_path: Path) -> None:
    events = [
        *THREE, condensation(9, forgotten_event_ids=[3, 4, 5, 6], summary="one", summary_offset=2),
        user(10, "more"), condensation(11, forgotten_event_ids=[7, 8]), runs(12, "c4", R3), ran(13, "c4", R3, "D", 12),
        condensation(14, forgotten_event_ids=[10], summary="two", summary_offset=1),
        runs(15, "c5", reply("r4", ["c5"], usage(80))),
    ]  # fmt: skip
    result = listed(tmp_path, events)

    assert texts(result.windows()[2]) == ["hi", "one", "more"]
    assert texts(result.windows()[3]) == ["two", "hi", call("c4"), given("D")]
    assert [one.kind for one in result.one.compactions] == ["summary", "trim", "summary"]
    assert [(one.before_call, one.after_call) for one in result.one.compactions] == [(1, 2), (1, 2), (2, 3)]


def test_a_condensation_that_does_nothing_says_so(tmp_path: Path) -> None:
    nothing, nowhere = condensation(9), condensation(10, forgotten_event_ids=[7, 8], summary="gist")
    found = listed(tmp_path, [*THREE, nothing, nowhere]).one

    assert [one.problem for one in found.compactions] == [
        "it takes nothing out of the window",
        "the summary has no place in the window, so the client does not show it",
    ]
    assert [one.after_call for one in found.compactions] == [None, None]
    assert found.context_at_end == ["0", "1", "3", "4", "6"]


def test_what_called_for_a_condensation_is_told(tmp_path: Path) -> None:
    asked = event(9, action="condensation_request", args={})
    found = listed(tmp_path, [*THREE, asked, condensation(10, forgotten_event_ids=[7, 8])]).one

    assert [one.trigger for one in found.compactions] == ["requested"]


def test_running_totals_give_answers_without_a_reply_their_usage(tmp_path: Path) -> None:
    events = [
        user(0, "hi"),
        says(1, "hello", llm_metrics=totals(100, 10, 0.25)),
        user(2, "more"),
        says(3, "yes", llm_metrics=totals(250, 16, 0.75)),
        says(4, "again, of the same call", llm_metrics=totals(250, 16, 0.75)),
    ]
    found = listed(tmp_path, events).one

    assert [(one.id, one.usage.prompt_tokens, one.usage.output_tokens, one.usage.cost_usd) for one in found.calls] == [
        ("1", 100, 10, 0.25),
        ("3", 150, 6, 0.5),
    ]
    assert [one.basis for one in found.calls] == ["reported", "reported"]
    assert found.unlogged_usage is None


def test_totals_at_a_condensation_are_its_summarisers_own(tmp_path: Path) -> None:
    events = [
        user(0, "hi"), says(1, "hello", llm_metrics=totals(100, 10)),
        condensation(2, forgotten_event_ids=[1], summary="gist", summary_offset=1) | {"llm_metrics": totals(160, 30)},
        says(3, "yes", llm_metrics=totals(200, 35)),
    ]  # fmt: skip
    found = listed(tmp_path, events).one

    assert [(one.purpose, one.usage.prompt_tokens, one.usage.output_tokens) for one in found.calls] == [
        ("turn", 100, 10), ("summary", 60, 20), ("turn", 40, 5),
    ]  # fmt: skip
    assert (found.compactions[0].before_call, found.compactions[0].after_call) == (0, 2)


def test_a_call_behind_an_unmetered_condensation_has_no_usage_of_its_own(tmp_path: Path) -> None:
    events = [
        user(0, "hi"), says(1, "hello", llm_metrics=totals(100, 10)),
        condensation(2, forgotten_event_ids=[1], summary="gist", summary_offset=1),
        says(3, "yes", llm_metrics=totals(200, 35)),
    ]  # fmt: skip
    found = listed(tmp_path, events).one

    assert [one.usage.prompt_tokens for one in found.calls] == [100]
    assert found.unlogged_usage is not None and found.unlogged_usage.prompt_tokens == 100


def test_a_call_without_totals_is_not_counted_again_in_the_next_difference(tmp_path: Path) -> None:
    events = [
        user(0, "hi"), says(1, "hello", llm_metrics=totals(100, 10)), runs(2, "c4", R3), ran(3, "c4", R3, "D", 2),
        says(4, "yes", llm_metrics=totals(300, 30)), says(5, "more", llm_metrics=totals(350, 33)),
    ]  # fmt: skip
    found = listed(tmp_path, events).one

    assert [(one.id, one.usage.prompt_tokens) for one in found.calls] == [("1", 100), ("r3", 90), ("5", 50)]
    assert found.unlogged_usage is not None and found.unlogged_usage.prompt_tokens == 110


def test_a_reply_without_usage_is_a_call_whose_usage_is_not_known(tmp_path: Path) -> None:
    result = listed(tmp_path, [user(0, "hi"), runs(1, "c1", reply("r1", ["c1"], None))])
    (only,) = result.one.calls

    assert (only.basis, only.usage.prompt_tokens, only.usage.output_tokens) == ("unknown", None, None)
    assert texts(result.windows()[0]) == ["hi"]


def test_a_delegates_events_are_a_sub_agents(tmp_path: Path) -> None:
    second = reply("r2", ["d1"], usage(200))
    asked = {"agent": "BrowsingAgent", "inputs": {"task": "look"}}
    events = [
        system(0), user(1, "hi"),
        event(2, action="delegate", args=asked, tool_call_metadata=meta("d1", second)),
        user(3, "TASK: look"), runs(4, "c1", reply("r4", ["c1"], usage(50))),
        event(5, observation="delegate", content="found it", extras={"outputs": {}}, cause=2,
              tool_call_metadata=meta("d1", second)),
        runs(6, "c4", R3),
    ]  # fmt: skip
    result = listed(tmp_path, events)
    found = result.one

    assert [(one.id, one.agent) for one in found.calls] == [("r2", None), ("r4", "delegate-2"), ("r3", None)]
    (agent,) = found.subagents
    assert (agent.kind, agent.task, agent.spawned_by_entry, agent.message_count) == ("BrowsingAgent", "look", "2", 2)
    assert texts(result.windows()[1]) == ["TASK: look"]
    assert [one.is_human for one in found.messages if one.role == "user"] == [True, False]
    assert texts(result.windows()[-1])[-1] == "found it"


def test_what_the_client_recalls_is_injected(tmp_path: Path) -> None:
    extras = {"repo_name": "o/r", "microagent_knowledge": [{"name": "git", "content": "use branches"}], "date": ""}
    recalled = event(1, "environment", observation="recall", content="Added", extras=extras, cause=0)
    nothing = event(2, "environment", observation="recall", content="Added", extras={"microagent_knowledge": []})
    result = listed(tmp_path, [user(0, "hi"), recalled, nothing, says(3, "yes", llm_metrics=totals(9, 1))])

    assert result.windows()[0] == [("user", "text", "hi"), ("user", "injected", "repo_name: o/r\n\nuse branches")]


def test_images_errors_and_what_the_user_does_himself(tmp_path: Path) -> None:
    events = [
        user(0, "see", image_urls=[IMAGE]),
        event(1, "user", action="run", args={"command": "ls"}),
        event(2, "user", observation="run", content="a", extras={"exit_code": 0}, cause=1),
        runs(3, "c4", R3),
        event(4, "environment", observation="error", content="no", extras={"error_id": ""}, cause=3,
              tool_call_metadata=meta("c4", R3)),
        event(5, action="finish", args={"thought": "", "final_thought": "done"},
              tool_call_metadata=meta("c9", reply("r9", ["c9"], usage(70), "all done"))),
        runs(6, "c5", reply("r5", ["c5"], usage(80))),
    ]  # fmt: skip
    result = listed(tmp_path, events)

    assert [block.kind for block in result.one.messages[0].blocks] == ["text", "image"]
    assert result.one.messages[0].blocks[1].base64_chars == 8
    assert [(role, text) for role, _, text in result.windows()[2]][2:] == [
        ("user", "User executed the command:\nls"), ("user", "a"), ("assistant", call("c4")),
        ("tool", "no\n[Error occurred in processing last action]"), ("assistant", "all done"),
    ]  # fmt: skip
    assert [one.result_entry for one in result.one.pairs] == ["4", None, None]


def test_unknown_events_are_counted_and_named(tmp_path: Path) -> None:
    odd = event(1, "environment", observation="weather", content="rain", extras={})
    hidden = event(2, "environment", observation="agent_state_changed", content="", extras={"agent_state": "running"})
    found = listed(tmp_path, [user(0, "hi"), odd, hidden, {"nothing": 1}]).one

    assert found.lines.unknown_types == {"weather": 1, "no event": 1}
    assert (found.lines.total, found.lines.read, found.entries) == (4, 2, 4)
    assert [(one.code, one.value) for one in found.problems] == [
        ("unknown_type", "weather"),
        ("unknown_type", "no event"),
    ]


def test_times_without_a_zone_are_utc_and_a_bad_one_is_told(tmp_path: Path) -> None:
    found = listed(tmp_path, [user(0, "hi"), user(1, "more") | {"timestamp": "yesterday"}]).one

    assert [one.at and one.at.isoformat() for one in found.messages] == ["2026-03-01T10:00:00.250000+00:00", None]
    assert [one.code for one in found.problems] == ["unreadable_time"]


def test_a_folder_of_events_is_one_conversation_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    about = {"conversation_id": "talk-9", "title": "demo", "selected_repository": None, "prompt_tokens": 12,
             "created_at": "2026-03-01T09:00:00Z"}  # fmt: skip
    save_events(tmp_path / "sessions" / "talk-9", [*THREE, user(10, "ten"), user(9, "nine")], about)
    write(tmp_path / "sessions" / "talk-9" / "event_cache" / "0-2.json", THREE[:2])
    result = read(OpenHandsReader(), tmp_path)
    found = result.one

    assert (found.session.id, found.session.title) == ("talk-9", "demo")
    assert found.session.hints == {"prompt_tokens": 12}
    assert [one.id for one in found.messages][-2:] == ["9", "10"]
    assert found.messages[-1].file == "sessions/talk-9/events/10.json"
    roles = {one.path.rsplit("/", 1)[1]: (one.role, one.is_counted) for one in result.files}
    assert roles["metadata.json"] == ("index", False) and roles["0-2.json"] == ("duplicate", False)
    assert roles["10.json"] == ("session", True)
    assert found.lines.total == 11 and len(found.files) == 12


def test_pages_are_read_where_the_events_own_files_are_missing(tmp_path: Path) -> None:
    save_events(tmp_path / "talk", THREE[2:])
    write(tmp_path / "talk" / "event_cache" / "0-3.json", THREE[:3])
    result = read(OpenHandsReader(), tmp_path)

    assert [one.id for one in result.one.messages][:3] == ["0", "1", "3"]
    assert result.one.lines.total == 9


def test_json_lines_of_events_are_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "events.jsonl", [*THREE, '{"id": 9, "sour'])
    found = read(OpenHandsReader(), tmp_path).one

    assert [one.id for one in found.calls] == ["r1", "r2"]
    assert found.lines.malformed == [10] and found.messages[0].line == 1


@pytest.mark.parametrize(
    "damage",
    [
        {"args": None}, {"args": []}, {"source": 7}, {"source": [1]},
        {"tool_call_metadata": 5}, {"timestamp": {}}, {"id": None},
        {"tool_call_metadata": {"model_response": {"id": 3, "choices": 7, "usage": "x"}, "tool_call_id": []}},
        {"llm_metrics": {"accumulated_token_usage": {"prompt_tokens": "many"}, "token_usages": 3}}, {"action": "run\n"},
        {"action": "condensation", "args": {"forgotten_event_ids": 3, "summary": [], "summary_offset": -1}},
    ],
)  # fmt: skip
def test_wrong_types_are_no_crash(tmp_path: Path, damage: Json) -> None:
    result = listed(tmp_path, [user(0, "hi"), *THREE[1:], runs(20, "c4", R3) | damage])

    assert result.one.lines.total == 10
