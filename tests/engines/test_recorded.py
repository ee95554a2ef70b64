"""The session's own windows as a run: item by item, with its boundaries, through the same loop as every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.engines.hosts.recorded import RecordedWindows, recorded_run
from contextviz.engines.reading import material_of
from contextviz.engines.registry import named
from tests.analysis.building import Builder, words
from tests.engines import samples
from tests.engines.building import run, session


def folded() -> Builder:
    """Two turns, a compaction between them: the second window is a summary and the newest message."""
    made = Builder()
    system = made.item("system", "system", words(9, "s"))
    first = made.item("user", "text", "first question", message_index=0)
    made.say("user", ("text", "first question"))
    made.call([system, first], 30, answer="first answer")
    made.say("user", ("text", "second question"))
    summary = made.item("user", "summary", "what was asked", state="summary", reason="summary by compaction 1")
    second = made.item("user", "text", "second question", message_index=2)
    made.compact(0, 1, summary=made.pool.put("what was asked"), tokens_before=30, tokens_after=12)
    made.call([system, summary, second], 20, answer="second answer")
    return made


def test_the_windows_and_the_boundary_are_the_session_s_own() -> None:
    made = folded()
    run_ = recorded_run(material_of(made.transcript, made.pool), made.pool)
    shown = [[made.pool.get(item.text) for item in run_.log.window(call.index)] for call in run_.calls]
    assert shown == [["first question"], ["what was asked", "second question"]]
    (boundary,) = run_.boundaries
    assert (boundary.dropped, boundary.compaction.tokens_before, boundary.compaction.after_call) == ((0, 1), 30, 1)
    assert boundary.compaction.summary is not None
    assert [item.message_index for item in run_.log.window(1)] == [None, 2]
    assert run_.calls[1].kept_items == 0
    assert named("recorded") is RecordedWindows


def test_several_boundaries_before_one_call_drop_once() -> None:
    made = folded()
    made.compact(0, 1).kind = "microcompact"
    run_ = recorded_run(material_of(made.transcript, made.pool), made.pool)
    assert [one.dropped for one in run_.boundaries] == [(), (0, 1)]


def test_other_branches_windows_are_stepped_over() -> None:
    made = folded()
    made.transcript.calls[0].on_active_path = False
    run_ = recorded_run(material_of(made.transcript, made.pool), made.pool)
    assert [call.model_call for call in run_.calls] == [1]
    assert run_.calls[0].items == 2


def test_a_call_without_a_recorded_window_has_an_empty_one() -> None:
    made = folded()
    made.transcript.log.snapshots.pop()
    run_ = recorded_run(material_of(made.transcript, made.pool), made.pool)
    assert [(call.items, call.mode) for call in run_.calls] == [(1, None), (0, "not recorded")]


def test_a_session_without_windows_says_so() -> None:
    material = session([("user", "q"), ("assistant", "a")])
    assert run(RecordedWindows, material).calls[0].mode == "not recorded"
    assert "no recorded windows" in recorded_run(material, Builder().pool).notes[-1]


@pytest.mark.parametrize("folder", ["pi-main", "oc-legacy", "codex-main", "claude-main"])
def test_real_windows_come_back_item_by_item(shared: Path, folder: str) -> None:
    found, pool = samples.sample(shared / "samples" / folder)
    material = samples.material(shared / "samples" / folder)
    made = recorded_run(material, pool)
    places = {one.call_index: at for at, one in enumerate(found[0].log.snapshots)}
    for call in made.calls:
        assert call.model_call is not None
        own = [item for item in found[0].log.window(places[call.model_call]) if item.kind not in ("system", "tools")]
        got = made.log.window(call.index)
        assert [(one.role, one.kind, one.text, one.state) for one in got] == [
            (one.role, one.kind, one.text, one.state) for one in own
        ]
    own_boundaries = [one for one in found[0].compactions if one.on_active_path and one.agent is None]
    assert len(made.boundaries) == len(own_boundaries)
    assert all(boundary.dropped for boundary in made.boundaries)
