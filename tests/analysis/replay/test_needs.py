from __future__ import annotations

from contextviz.analysis.replay import HistoryMessage, Said, foreknown, history_of, needs_of
from contextviz.engines.material import Piece, ReplayMessage
from tests.analysis.replay.building import said


def test_a_need_is_what_the_answer_names_and_the_history_holds() -> None:
    history = said(
        ("user", "Please look at src/app/main.py and RATE_LIMIT"),
        ("assistant", "Reading src/app/main.py, then src/app/unseen.py"),
    )
    found = needs_of(history, [1])
    assert [(one.kind, one.canonical, one.seq) for one in found.calls[0].needs] == [("path", "src/app/main.py", 0)]
    assert (found.answered, found.total, found.left_out) == (1, 1, 0)


def test_the_distance_is_what_was_said_since_the_last_occurrence() -> None:
    history = said(
        ("user", "src/a.py"), ("assistant", "ok"), ("tool", "src/a.py and src/b.py"), ("user", "go on"),
        ("user", "src/b.py"), ("assistant", "src/a.py src/b.py"),
        tokens=[5, 3_000, 7, 1_999, 2_000, 1],
    )  # fmt: skip
    needs = {one.canonical: one for one in needs_of(history, [1, 5]).calls[0].needs}
    assert (needs["src/a.py"].seq, needs["src/a.py"].distance, needs["src/a.py"].band) == (2, 3_999, 1)
    assert (needs["src/b.py"].seq, needs["src/b.py"].distance, needs["src/b.py"].band) == (4, 0, 0)


def test_bands_begin_at_their_bounds() -> None:
    bands = []
    for between in (1_999, 2_000, 9_999, 10_000, 49_999, 50_000):
        history = said(("user", "src/a.py"), ("tool", "x"), ("assistant", "src/a.py"), tokens=[1, between, 1])
        need = needs_of(history, [2]).calls[0].needs[0]
        bands.append((need.band, need.is_far))
    assert bands == [(0, False), (1, False), (1, False), (2, True), (2, True), (3, True)]


def test_thinking_needs_nothing_and_arguments_do() -> None:
    call = Said("tool_call", "read\nsrc/b.py", None)
    history = [
        *said(("user", "src/a.py src/b.py")),
        HistoryMessage(1, "assistant", (Said("thinking", "src/a.py", None), call), 1),
    ]
    assert [one.canonical for one in needs_of(history, [1]).calls[0].needs] == ["src/b.py"]


def test_an_answer_ends_where_the_next_call_or_another_speaker_begins() -> None:
    history = said(
        ("user", "src/a.py src/b.py src/c.py"), ("assistant", "src/a.py"), ("assistant", "src/b.py"), ("tool", "x"),
        ("assistant", "src/c.py"),
    )  # fmt: skip
    found = needs_of(history, [1, 2, 4])
    assert [[one.canonical for one in call.needs] for call in found.calls] == [["src/a.py"], ["src/b.py"], ["src/c.py"]]
    assert [one.call for one in needs_of(history, [1, 1, 4]).calls] == [1, 2]  # of two at one place the last has it


def test_another_spelling_of_one_thing_is_the_same_need() -> None:
    history = said(("user", "see /srv/demo/src/a.py"), ("assistant", "open src/a.py"))
    need = needs_of(history, [1], root="/srv/demo").calls[0].needs[0]
    assert need.spellings == ("/srv/demo/src/a.py", "src/a.py")


def test_a_history_is_made_of_messages_as_a_replay_has_them() -> None:
    call = Piece("tool_call", '{"name":"read","arguments":{"path":"src/a.py","lines":3}}', 0)
    image = Piece("image", "", 1, media_bytes=9)
    history = history_of([ReplayMessage(0, "assistant", (call, image))], lambda text, ref: len(text))
    assert history[0].texts == (Said("tool_call", "read\nsrc/a.py\nlines=3", None),)
    assert history[0].tokens == len(call.text)


def test_the_oracle_is_told_what_recall_will_judge_by() -> None:
    history = said(
        ("user", "see /srv/demo/src/a.py"), ("tool", "src/a.py again"), ("tool", "nothing"), ("user", "src/b.py"),
        ("assistant", "open src/a.py"), ("assistant", "src/b.py"),
    )  # fmt: skip
    by_call, holds = foreknown(history, needs_of(history, [2, 4, 5], root="/srv/demo"), 3)
    assert by_call[0] == frozenset()
    assert [len(one) for one in by_call] == [0, 1, 1]
    assert by_call[1] <= holds[1] and by_call[2] <= holds[3] and 2 not in holds
