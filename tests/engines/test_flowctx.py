from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contextviz.engines.flowctx import (
    FlowctxPort,
    FlowctxSeed,
    Timeline,
    cp_weighted,
    frozen_start,
    hash_of,
)
from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.engines.registry import engines, named
from contextviz.engines.replay import RunRequest, replay
from contextviz.engines.summaries import RuleSummariser, SummariserFailed, SummaryRequest
from contextviz.events.javascript import length16
from contextviz.events.message import Role
from contextviz.events.run import Run
from contextviz.sources.openclaw import OpenClawReader
from contextviz.tokens.pool import MemoryPool
from tests.engines.building import START, run, session
from tests.sources.plain.reading import read

NOTE = RuleSummariser("note", lambda request: f"## TASK / GOAL\n- {len(request.text)} characters")
VERSIONS = pytest.mark.parametrize("engine", [FlowctxSeed, FlowctxPort])
LOG = "\n".join(f"ERROR request {number} dropped after {number * 7} ms" for number in range(40))


def talk(turns: int, tokens: int = 100, answers: int = 1) -> list[tuple[Role, str]]:
    """Turns of a question and answers, each message of `tokens` by four characters a token."""
    made: list[tuple[Role, str]] = []
    for turn in range(turns):
        made.append(("user", f"question {turn} ".ljust(4 * tokens, "q")))
        made += [("assistant", f"answer {turn}.{at} ".ljust(4 * tokens, "a")) for at in range(answers)]
    return made


def windows(made: Run, pool: MemoryPool) -> list[list[str]]:
    return [[pool.get(item.text) for item in made.log.window(call)] for call in range(len(made.calls))]


def with_windows(
    engine: type[FlowctxPort | FlowctxSeed], material: Material, *, window: int | None = None,
    summarise: RuleSummariser = NOTE, **settings: Any,
) -> tuple[Run, list[list[str]]]:  # fmt: skip
    pool = MemoryPool()
    request = RunRequest(settings, window=window, estimator="cp-weighted")
    made = replay(material, engine, request, pool=pool, summarise=summarise)
    return made, windows(made, pool)


def tool_session(text: str, *, name: str = "exec", after: int = 0) -> Material:
    """A question, a call, its result, an answer; then `after` turns more."""
    turns: list[tuple[Role, str]] = [("user", "go"), ("assistant", "running"), ("tool", text), ("assistant", "done")]
    material = session([*turns, *talk(after, 5)])
    result = material.messages[2]
    piece = Piece("tool_result", text, 0, tool_name=name, tool_call_id="call-1")
    material.messages[2] = ReplayMessage(2, "tool", (piece,), result.turn, result.at, "m2", 2)
    return material


# ---- the port ----


def test_the_port_compresses_the_current_turn_at_once_and_keeps_the_original() -> None:
    made, given = with_windows(FlowctxPort, tool_session(LOG * 3), projectionThreshold=200)
    event = next(event for event in made.events if event.type == "block.compressed")

    assert given[1][2] == event.data["markerText"] or str(event.data["markerText"]) in given[1][2]
    assert event.data["hash"] == made.originals[0].handle == hash_of(LOG * 3)
    assert made.originals[0].seq == 2
    assert event.data["callId"] == "call-1"
    assert event.data["originalChars"] == len(LOG * 3)
    assert event.data["projectedChars"] == length16(given[1][2])
    assert event.data["savedTokens"] == cp_weighted(LOG * 3) - cp_weighted(given[1][2])
    assert event.data["largerThanOriginal"] is False
    assert event.data["reversible"] is True
    assert event.quality == "exact"
    assert event.data["expiresAt"] == "2023-11-21T22:13:22Z"


def test_projection_can_be_turned_off() -> None:
    made, given = with_windows(FlowctxPort, tool_session(LOG), projectionThreshold=200, projection=False)

    assert given[1][2] == LOG
    assert made.originals == []


def test_the_port_puts_summaries_in_front_and_removes_nothing() -> None:
    made, given = with_windows(
        FlowctxPort, session(talk(40, 100)), leafChunkTokens=2000, freshTailWindow=4, summaryKeepRecentTurns=0
    )

    assert [node.id for node in made.nodes][:2] == ["d0-1-10", "d0-11-20"]
    assert made.nodes[0].covers == [str(seq) for seq in range(20)]
    assert given[-1][0].startswith("[flowctx-dsh: summary layer depth=0 covering turns 1-10.")
    assert len([text for text in given[-1] if text.startswith("question")]) == 40
    first = made.boundaries[0]
    assert first.dropped == ()
    assert first.compaction.after_call is not None
    # The call that starts the background work does not have its summary yet; the next has.
    assert not given[first.compaction.after_call - 1][0].startswith("[flowctx")
    assert given[first.compaction.after_call][0].startswith("[flowctx")


def test_a_prefix_stays_until_a_summary_is_put_in_front() -> None:
    made, _ = with_windows(
        FlowctxPort, session(talk(40, 100)), leafChunkTokens=2000, freshTailWindow=4, summaryKeepRecentTurns=0
    )
    broken = [call.index for before, call in zip(made.calls, made.calls[1:], strict=False)
              if call.kept_items < before.items]  # fmt: skip

    assert broken == [boundary.compaction.after_call for boundary in made.boundaries][: len(broken)]
    assert broken


def test_the_engine_beneath_compacts_when_the_window_is_nearly_full() -> None:
    made, given = with_windows(FlowctxPort, session(talk(60, 100)), window=5000, layeredSummary=False)
    first = made.boundaries[0]

    assert first.compaction.trigger == "ratio"
    assert first.dropped == tuple(range(len(first.dropped)))
    assert given[first.compaction.after_call or 0][0].startswith("## TASK / GOAL")
    assert all(call.engine_tokens is not None and call.engine_tokens <= 4000 for call in made.calls)
    assert made.nodes[1].made_from == ["compaction-1"]
    assert [one.in_context for one in made.nodes] == [False] * (len(made.nodes) - 1) + [True]


def test_a_summariser_that_fails_is_asked_twice_and_then_nothing_is_dropped() -> None:
    asked = []

    def fail(request: SummaryRequest) -> str:
        asked.append(request)
        raise SummariserFailed("it is not there")

    made, _ = with_windows(
        FlowctxPort, session(talk(21, 100)), window=5000, layeredSummary=False, summarise=RuleSummariser("fails", fail)
    )

    assert made.boundaries == []
    assert len(asked) % 2 == 0 and asked
    assert {event.data["message"] for event in made.events if event.type == "engine.error"} == {"it is not there"}


def test_the_working_memory_stands_in_front_once_it_is_written() -> None:
    material = session([("user", "go"), ("assistant", "x"), ("user", "on"), ("assistant", "y")])
    call = Piece("tool_call", json.dumps({"name": "flowctx_scratch_append", "arguments": {"text": "goal: ship"}}), 0,
                 tool_name="flowctx_scratch_append")  # fmt: skip
    material.messages[1] = ReplayMessage(1, "assistant", (call,), 1, START, "m1", 1)
    _, off = with_windows(FlowctxPort, material)
    _, on = with_windows(FlowctxPort, material, scratchpad=True)

    assert off[1][0] == "go"
    assert on[1][0].startswith('<working_memory chars_current="10" chars_limit="8000">\ngoal: ship\n')


def test_a_call_for_an_original_is_a_hit_or_a_miss() -> None:
    material = tool_session(LOG, after=1)
    text = json.dumps({"name": "flowctx_retrieve", "arguments": {"hash": hash_of(LOG)}})
    piece = Piece("tool_call", text, 0, tool_name="flowctx_retrieve")
    material.messages[3] = ReplayMessage(3, "assistant", (piece,), 1, START, "m3", 3)
    hit = next(
        event for event in run(FlowctxPort, material, projectionThreshold=200).events if event.type == "retrieve"
    )
    miss = next(event for event in run(FlowctxPort, material, projection=False).events if event.type == "retrieve")

    assert (hit.data["hit"], hit.data["chars"]) == (True, len(LOG))
    assert (miss.data["hit"], miss.data["chars"]) == (False, None)


# ---- the seed ----


def test_no_turn_protection_protects_more_than_one_turn_of_it() -> None:
    timeline = Timeline((role, 1) for role, _ in talk(50, 1))

    assert frozen_start(timeline, 64, 0) == 36
    assert frozen_start(timeline, 64, 1) == 98
    assert frozen_start(timeline, 64, 40) == 36
    assert frozen_start(Timeline([("tool", 1)]), 0, 2) == 1
    assert frozen_start(Timeline(), 64, 1) == 0


def test_the_seed_leaves_the_current_turn_whole_and_compresses_it_later() -> None:
    made, given = with_windows(FlowctxSeed, tool_session(LOG, after=2), projectionThreshold=200)

    assert given[1][2] == LOG
    assert "[flowctx: log compressed " in given[2][2]
    assert given[3][2] == given[2][2]
    assert [event.quality for event in made.events if event.type == "block.compressed"] == ["derived"]
    assert made.calls[2].kept_items == 2
    assert made.calls[2].broken_by == "compressed as log"


def test_the_gate_opens_when_the_window_is_full_and_the_session_old_enough() -> None:
    settings: dict[str, Any] = {"leafChunkTokens": 2000, "freshTailWindow": 2, "summaryKeepRecentTurns": 0}
    young = run(FlowctxSeed, session(talk(30, 100)), window=5000, summarise=NOTE, summaryMinTurns=40, **settings)
    roomy = run(FlowctxSeed, session(talk(30, 100)), window=500_000, summarise=NOTE, **settings)
    made, given = with_windows(FlowctxSeed, session(talk(30, 100)), window=10_000, **settings)

    assert young.nodes == roomy.nodes == []
    checks = [event for event in made.events if event.type == "compaction.evaluated"]
    assert len(checks) == 30
    first = next(place for place, event in enumerate(checks) if event.data["should"])
    assert first == 9  # the first turn at which 200 tokens a turn are a fifth of the window
    assert made.boundaries[0].dropped == tuple(range(20))
    assert given[-1][0].startswith("[flowctx: summary layer depth=0 covering turns 1-10.")
    assert given[-1][-1].startswith("<flowctx-handoff-note>\n## TASK / GOAL")
    assert not any("question 3 " in text for text in given[-1])


def test_the_seed_can_leave_history_where_it_is() -> None:
    settings: dict[str, Any] = {"leafChunkTokens": 2000, "freshTailWindow": 2, "summaryKeepRecentTurns": 0}
    made, given = with_windows(
        FlowctxSeed, session(talk(30, 100)), window=10_000, summaryReplacesHistory=False, **settings
    )

    assert made.nodes
    assert sum(text.startswith("question") for text in given[-1]) == 30
    assert all(boundary.dropped == () for boundary in made.boundaries)


def test_the_seed_passes_compaction_through() -> None:
    made = run(FlowctxSeed, session(talk(3, 200)), window=300, summarise=NOTE)

    assert made.boundaries == []
    assert made.calls[-1].is_over


# ---- both, and bad input ----


def test_both_versions_are_registered_and_the_port_is_the_newer() -> None:
    keys = [engine.spec.key for engine in engines()]

    assert keys.index("flowctx@seed-002") < keys.index("flowctx@port-0.1.0")
    assert named("flowctx") is FlowctxPort


@VERSIONS
def test_engine_tokens_are_what_the_windows_hold(engine: type[FlowctxPort | FlowctxSeed]) -> None:
    material = session([*talk(12, 80), ("tool", LOG * 4), *talk(20, 80)])
    made, given = with_windows(engine, material, window=6000, leafChunkTokens=2000, freshTailWindow=3)

    assert made.nodes
    for call, texts in zip(made.calls, given, strict=True):
        assert call.engine_tokens == sum(map(cp_weighted, texts))


@VERSIONS
def test_the_same_session_gives_the_same_bytes(engine: type[FlowctxPort | FlowctxSeed]) -> None:
    material = session([*talk(12, 80), ("tool", LOG * 4), *talk(20, 80)])
    first, second = (run(engine, material, window=6000, summarise=NOTE, leafChunkTokens=2000) for _ in range(2))

    assert first.hash == second.hash
    assert first.settings == second.settings


@VERSIONS
def test_a_refused_summary_is_told_with_what_follows(engine: type[FlowctxPort | FlowctxSeed]) -> None:
    settings: dict[str, Any] = {"leafChunkTokens": 2000, "freshTailWindow": 2, "summaryKeepRecentTurns": 0}
    plain = RuleSummariser("plain", lambda request: "no headings here")
    strict = run(engine, session(talk(30, 100)), window=10_000, summarise=plain, **settings)
    loose = run(engine, session(talk(30, 100)), window=10_000, summarise=plain, requireSections=False, **settings)

    assert not any(one.id.startswith("d") for one in strict.nodes)
    told = [event.data["message"] for event in strict.events if event.type == "engine.error"]
    assert "turns 1 to 10" in str(told[0]) and "never summarised" in str(told[0])
    assert any(one.id == "d0-1-10" for one in loose.nodes)


@VERSIONS
@pytest.mark.parametrize(
    "turns",
    [
        [],
        [("assistant", "hello")],
        [("tool", LOG * 30)] * 9,
        [("system", "s"), ("assistant", "a"), ("tool", ""), ("assistant", "b")],
        [("user", "word " * 9000), ("assistant", "x")],
        [("user", ""), ("assistant", ""), ("user", ""), ("assistant", "")] * 20,
    ],
)
@pytest.mark.parametrize("window", [0, 1, 100, None])
def test_odd_sessions_give_a_result(
    engine: type[FlowctxPort | FlowctxSeed], turns: list[tuple[Role, str]], window: int | None
) -> None:
    material = session(turns)
    material.points.append(CallPoint(len(turns)))
    made = run(engine, material, window=window, summarise=NOTE, freshTailWindow=0, leafChunkTokens=0)

    assert len(made.messages) == len(turns)
    assert len(made.calls) == len(material.points)
    if window == 0:
        assert any("window of 0" in note for note in made.notes)


@VERSIONS
def test_settings_that_are_not_known_or_out_of_range_are_named(engine: type[FlowctxPort | FlowctxSeed]) -> None:
    made = run(engine, session(talk(1)), projectionTreshold=5, freshTailWindow=9999, condenseFanout="many")

    assert any("projectionThreshold?" in note for note in made.notes)
    assert any("9999 became" in note for note in made.notes)
    assert any("condenseFanout is a number" in note for note in made.notes)
    assert made.settings["condenseFanout"] == 6


@VERSIONS
def test_a_message_with_a_time_beyond_all_calendars_has_no_expiry(engine: type[FlowctxPort | FlowctxSeed]) -> None:
    material = tool_session(LOG, after=1)
    piece = Piece("tool_result", LOG, 0, tool_call_id="c")
    material.messages[2] = ReplayMessage(2, "tool", (piece,), 1, None, "m2", 2)
    made = run(engine, material, projectionThreshold=200)

    assert next(event for event in made.events if event.type == "block.compressed").data["expiresAt"] is None


@dataclass
class Told:
    """What one result became, by the id of its message."""

    data: dict[str, Any]
    projected: str | None


def replayed_case(folder: Path) -> tuple[Run, MemoryPool, dict[str, Told], dict[str, str]]:
    found = read(OpenClawReader(), folder / "input")
    material = Material(session_id=found.one.session.id)
    texts: dict[str, str] = {}
    for seq, one in enumerate(found.one.messages):
        pieces = tuple(
            Piece(block.kind, found.text(block), place, block.text, block.tool_name, block.tool_call_id)
            for place, block in enumerate(one.blocks)
        )
        name = one.id or ""
        at = None if one.at is None else round(one.at.timestamp() * 1000)
        material.messages.append(ReplayMessage(seq, one.role, pieces, 1, at, name, seq))
        texts[name] = pieces[0].text
    material.points.append(CallPoint(len(material.messages)))
    made = replay(material, FlowctxPort, RunRequest(), pool=found.pool, summarise=NOTE)
    window = {item.entry: found.pool.get(item.text) for item in made.log.window(0) if item.state == "truncated"}
    told = {}
    for event in made.events:
        if event.type == "block.compressed":
            name = str(material.messages[int(str(event.data["msgSeq"]))].id)
            told[name] = Told(dict(event.data), window.get(name))
    return made, found.pool, told, texts


def test_case_a_result_that_grows_is_shown_as_it_is(shared: Path) -> None:
    folder = shared / "cases" / "reading" / "079-flowctx-replay-inflates-cjk"
    if not folder.is_dir():
        pytest.skip(f"there is no case {folder.name} on this machine")
    wanted = json.loads((folder / "expect.json").read_text(encoding="utf-8"))
    made, pool, told, texts = replayed_case(folder)
    grown, cut = wanted["f3"], wanted["f4"]

    assert {key: made.settings[key] for key in wanted["settings"]} == wanted["settings"]
    assert sorted(told) == ["f3", "f4"]
    assert len([message for message in made.messages if message.role == "tool"]) == wanted["tool_results"]
    f3, f4 = told["f3"].data, told["f4"].data
    assert (f3["originalChars"], f3["originalTokens"]) == (grown["original_chars"], grown["original_est_tokens"])
    assert (f3["strategy"], f3["keptChars"]) == (grown["strategy"], grown["kept_chars"])
    assert (f3["projectedChars"], f3["projectedTokens"]) == (
        grown["projected_utf16_length"], grown["projected_est_tokens"],
    )  # fmt: skip
    assert (f3["savedTokens"], f3["flag"]) == (grown["saved_est_tokens"], grown["flag"])
    assert f3["largerThanOriginal"] is True
    assert f3["markerText"] == wanted["marker_f3"]
    assert (f4["originalChars"], f4["originalTokens"]) == (
        cut["original_utf16_length"], cut["original_est_tokens"],
    )  # fmt: skip
    assert (f4["strategy"], f4["projectedChars"]) == (cut["strategy"], cut["projected_utf16_length"])
    assert f4["loneSurrogate"] is cut["lone_surrogate_in_projection"]
    assert (f3["hash"], f4["hash"]) == (grown["hash"], cut["hash"])
    assert told["f4"].projected is not None
    assert told["f4"].projected.count(cut["shown_with"]) == 1
    originals = {one.handle: pool.get(one.text) for one in made.originals}
    assert originals == {grown["hash"]: texts["f3"], cut["hash"]: texts["f4"]}
    shown = [pool.get(item.text) for item in made.log.window(0)]
    assert all(texts[name] in shown for name in wanted["untouched"])


def test_a_long_session_is_replayed_within_its_time() -> None:
    material = session(talk(1000, 24, 3), window=20_000)
    start = time.process_time()
    made = run(FlowctxPort, material, summarise=NOTE, leafChunkTokens=2000)

    assert len(made.calls) == 3000
    assert time.process_time() - start < 10
