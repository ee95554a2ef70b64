"""Claude Code's compaction: what stays, by hand and against its own boundaries, and the stubs before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.engines.hosts.claude_code import STUB, ClaudeCode
from contextviz.events.message import Role
from tests.engines import samples
from tests.engines.building import run, session
from tests.engines.short import FORTY, turns

LOOP: list[tuple[Role, str]] = [("user", FORTY), *([("assistant", FORTY), ("tool", FORTY)] * 6)]  # type: ignore[list-item]


def test_all_before_the_newest_answer_is_folded() -> None:
    made = run(ClaudeCode, session(turns(4)), threshold=70)
    (boundary,) = made.boundaries
    assert (boundary.messages, boundary.dropped, boundary.compaction.trigger) == (7, (0, 1, 2, 3, 4), "threshold")
    assert [item.kind for item in made.log.window(3)] == ["summary", "text", "text"]


def test_in_the_middle_of_a_turn_the_call_stays_with_its_result() -> None:
    made = run(ClaudeCode, session(LOOP), threshold=70)
    first = made.boundaries[0]
    assert (first.messages, first.dropped) == (7, (0, 1, 2, 3, 4))
    window = made.log.window(first.compaction.after_call or 0)
    assert [item.role for item in window] == ["user", "assistant", "tool"]


def test_an_older_version_keeps_nothing_of_the_past() -> None:
    made = run(ClaudeCode, session(turns(4)), threshold=70, preserveNewest=False)
    assert made.boundaries[0].dropped == (0, 1, 2, 3, 4, 5)
    assert [item.kind for item in made.log.window(3)] == ["summary", "text"]
    within = run(ClaudeCode, session(LOOP), threshold=70, preserveNewest=False)
    assert within.boundaries[0].dropped == (0, 1, 2, 3, 4, 5, 6)


def test_a_share_of_the_window_where_no_threshold_is_set() -> None:
    assert run(ClaudeCode, session(turns(8)), window=100).boundaries[0].messages == 9


def test_stubs_come_first_where_they_are_wanted() -> None:
    loop: list[tuple[Role, str]] = [("user", FORTY)]
    for _ in range(5):
        loop += [("assistant", FORTY), ("tool", "r" * 400)]
    loop.append(("assistant", "end"))
    made = run(ClaudeCode, session(loop), threshold=400, microcompact=True, keepToolResults=2, leastSaved=50)
    first = made.boundaries[0]
    assert (first.compaction.kind, first.dropped) == ("microcompact", (2, 4))
    window = made.log.window(first.compaction.after_call or 0)
    assert [item.state for item in window if item.role == "tool"] == ["stub", "stub", "verbatim", "verbatim"]
    assert {item.text.chars for item in window if item.state == "stub"} == {len(STUB)}
    none = run(ClaudeCode, session(loop), threshold=400, microcompact=True, leastSaved=5000)
    assert {one.compaction.kind for one in none.boundaries} == {"summary"}


def test_every_recorded_boundary_keeps_what_the_rule_keeps(shared: Path) -> None:
    """All four: the newest answer and the results of its tools are the first messages kept."""
    found, _ = samples.sample(shared / "samples" / "claude-main")
    material = samples.material(shared / "samples" / "claude-main")
    told = [one for one in found[0].compactions if one.agent is None]
    assert len(told) == 4
    for one, own in zip(told, material.summaries, strict=True):
        before = material.messages[: own.messages]
        newest = max(message.seq for message in before if message.role == "assistant")
        kept = [message.seq for message in before if message.id in one.kept]
        assert kept == list(range(newest, own.messages))


@pytest.mark.parametrize(("talk", "window"), [
    ([], 100), ([("tool", FORTY)] * 5, 20), ([("assistant", FORTY), ("tool", FORTY)] * 5, 40), (turns(4), 0),
    ([("user", "y" * 900), ("assistant", "a")] * 3, 50),
])  # fmt: skip
def test_bad_input_ends(talk: list[tuple[Role, str]], window: int) -> None:
    given = session(talk)
    made = run(ClaudeCode, given, window=window, microcompact="perhaps", keepToolResults=-1, leastSaved=0)
    assert len(made.calls) == len(given.points)
    assert len([note for note in made.notes if note.startswith(("microcompact ", "keepToolResults "))]) == 2
