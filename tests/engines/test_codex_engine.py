"""Codex's compaction: what stays and in which order, by hand and against its own windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextviz.engines.hosts.codex import Codex, is_put_in
from contextviz.engines.hosts.folding import CHARS_A_TOKEN, message_tokens
from contextviz.engines.material import CallPoint, Material, Piece, ReplayMessage
from contextviz.events.message import Role
from contextviz.events.run import Run
from tests.engines import samples
from tests.engines.building import message, run, session
from tests.engines.short import FORTY, turns


def with_surroundings() -> Material:
    """What the client puts in, then four turns of ten tokens a message."""
    material = Material(session_id="made-up")
    put_in = Piece("injected", FORTY, 0)
    material.messages = [ReplayMessage(0, "developer", (put_in,), 0), ReplayMessage(1, "user", (put_in,), 1)]
    for seq, (role, text) in enumerate(turns(4), start=2):
        if role == "assistant":
            material.points.append(CallPoint(seq))
        material.messages.append(message(seq, role, text))
    return material


def shown(made: Run, call: int) -> list[tuple[str, str]]:
    return [(item.role, item.kind) for item in made.log.window(call)]


def test_the_user_s_messages_stay_and_the_summary_comes_last() -> None:
    made = run(Codex, with_surroundings(), autoCompactTokenLimit=70)
    (boundary,) = made.boundaries[:1]
    assert (boundary.messages, boundary.dropped) == (7, (3, 5))
    assert shown(made, 2) == [
        ("user", "text"), ("user", "text"), ("developer", "injected"), ("user", "injected"), ("user", "text"),
        ("user", "summary"),
    ]  # fmt: skip
    texts = [item.message_index for item in made.log.window(2)]
    assert texts == [2, 4, None, None, 6, None]


def test_what_comes_after_the_fold_follows_the_summary() -> None:
    long = run(Codex, session(turns(14)), autoCompactTokenLimit=200)
    first = long.boundaries[0].messages
    later = next(call.index for call in long.calls if call.messages > first)
    window = shown(long, later)
    assert window[window.index(("user", "summary")) + 1 :][:1] == [("assistant", "text")]


def test_a_share_of_the_window_where_no_limit_is_set() -> None:
    # Ninety of a hundred: the ninth message is the newest question before the fifth call.
    assert run(Codex, session(turns(8)), window=100).boundaries[0].messages == 9


def test_only_some_of_the_user_s_messages_may_stay() -> None:
    made = run(Codex, session(turns(8)), autoCompactTokenLimit=90, keepUserTokens=20)
    first = made.boundaries[0]
    kept = [item.message_index for item in made.log.window(first.compaction.after_call or 0) if item.kind == "text"]
    assert kept == [6, 8]


def test_who_put_it_in() -> None:
    assert is_put_in(message(0, "system", "x"))
    assert not is_put_in(message(0, "user", "x"))
    assert is_put_in(ReplayMessage(0, "user", (Piece("injected", "x", 0),)))
    assert not is_put_in(ReplayMessage(0, "user", (Piece("injected", "x", 0), Piece("text", "y", 1))))


def test_every_recorded_window_keeps_what_the_rule_keeps(shared: Path) -> None:
    """All seven: which messages of the user stay, that the model's do not, and that the summary is last."""
    found, _ = samples.sample(shared / "samples" / "codex-main")
    material = samples.material(shared / "samples" / "codex-main")
    assert len(found[0].compactions) == 7
    for one, own in zip(found[0].compactions, material.summaries, strict=True):
        window = samples.window_after(found[0], one)
        asked = [m.source_index for m in material.messages[: own.messages] if m.role == "user" and not is_put_in(m)]
        summary = next(at for at, item in enumerate(window) if item.kind == "summary")
        assert [item.message_index for item in window[:summary] if item.message_index is not None] == asked
        # Between the older messages of the user and the newest one stands what the client puts in again.
        put_in = [at for at, item in enumerate(window) if item.state == "injected" and item.kind != "system"]
        newest = max(at for at, item in enumerate(window[:summary]) if item.message_index is not None)
        assert put_in and max(put_in) < newest == summary - 1


def test_every_recorded_compaction_is_where_the_request_reached_the_limit(shared: Path) -> None:
    """The last call's tokens and what came since (characters ÷ 4) are over the limit just there, seven of seven."""
    found, _ = samples.sample(shared / "samples" / "codex-main")
    material = samples.material(shared / "samples" / "codex-main")
    assert found[0].session.configuration is not None
    limit = int(found[0].session.configuration.settings["model_auto_compact_token_limit"])
    calls = {call.index: call for call in found[0].calls}
    answers = [point.model_call for point in material.points]
    due = set()
    for number, point in enumerate(material.points[:-1]):
        assert point.model_call is not None
        since = material.messages[point.messages : material.points[number + 1].messages]
        pending = sum(message_tokens(m) for m in since if m.role in ("tool", "user"))
        if (calls[point.model_call].usage.total_tokens or 0) + pending >= limit:
            due.add(point.model_call)
    assert due == {one.before_call for one in found[0].compactions}
    assert set(answers) >= due and CHARS_A_TOKEN == 4


@pytest.mark.parametrize(("talk", "window"), [
    ([], 100), ([("assistant", FORTY), ("tool", FORTY)] * 5, 40), ([("user", "y" * 900), ("assistant", "a")] * 3, 50),
    (turns(4), 0), ([("user", FORTY)] * 5, 20),
])  # fmt: skip
def test_bad_input_ends(talk: list[tuple[Role, str]], window: int) -> None:
    given = session(talk)
    made = run(Codex, given, window=window, compactAt="x", keepUserTokens=-3)
    assert len(made.calls) == len(given.points)
    assert len([note for note in made.notes if note.startswith(("compactAt ", "keepUserTokens "))]) == 2
    if not window:
        assert made.boundaries == []
