from __future__ import annotations

import random
import time

import pytest

from contextviz.analysis.replay import CallNeeds, Need, Needs, needs_of, negative_control, recall
from contextviz.analysis.replay.finding import Finder
from contextviz.analysis.replay.intervals import intervals
from contextviz.analysis.replay.steps import steps
from contextviz.events.run import WindowLog
from tests.analysis.replay.building import RunBuilder, said

np = pytest.importorskip("numpy")
FAR = 20_000


def need(text: str, distance: int = FAR) -> Need:
    return Need("path", text, (text,), 0, distance)


def needs(*calls: tuple[int, tuple[Need, ...]]) -> Needs:
    return Needs([CallNeeds(*one) for one in calls])


def test_recall_is_the_share_that_stands_in_the_window() -> None:
    made = RunBuilder()
    one, two = made.item("user", "src/a.py here"), made.item("user", "mysrc/b.py there")
    made.call(one, two)
    made.call(two)
    asked = needs((0, (need("src/a.py"), need("src/b.py"))), (1, (need("src/a.py", 5), need("mysrc/b.py"))))
    found = recall(made.run, made.pool, asked)
    # Call 0: src/a.py is there, src/b.py only as a part of a longer word. Call 1: the far one is, the near one left.
    assert (found.of_call(0), found.of_call(1), found.of_call(2)) == (0.5, 0.5, None)
    assert (found.near.found, found.near.needed, found.near.value) == (0, 1, 0.0)
    assert (found.far.found, found.far.needed) == (2, 3)
    assert [(one.call, one.need.canonical) for one in found.missed] == [(0, "src/b.py"), (1, "src/a.py")]
    assert sum(needed for _, needed, _, _ in found.bands) == 4


def test_a_window_is_followed_through_moves_removals_and_whole_windows() -> None:
    chance = random.Random(7)
    made = RunBuilder()
    items = [made.item("user", f"src/f{number}.py") for number in range(30)]
    windows = [chance.sample(range(30), chance.randrange(30)) for _ in range(100)]
    for window in windows:
        made.call(*(items[number] for number in window))
    asked = needs(*((call, tuple(need(f"src/f{number}.py") for number in range(30))) for call in range(100)))
    found = recall(made.run, made.pool, asked)
    assert found.found.sum(axis=1).tolist() == [len(window) for window in windows]
    held: list[int] = []
    for call, (gone, came) in enumerate(steps(made.run.log)):
        for position in gone:
            held.remove(position)
        held.extend(came)
        assert sorted(held) == sorted(made.run.log.positions(call))


def test_reach_adds_what_is_behind_a_verified_handle_that_stands_in_the_window() -> None:
    made = RunBuilder()
    original = "the file src/gone.py was long"
    handle = made.pool.put(original).handle
    made.original(handle, original)
    made.original("ab" * 12, "src/false.py under a hash that is not its own")
    marker = made.item("tool", f'stub hash="{handle}"', state="stub")
    wrong = made.item("tool", f'stub hash="{"ab" * 12}"', state="stub")
    made.call(marker, wrong)
    made.call(wrong)
    asked = tuple(need(text) for text in ("src/gone.py", "src/false.py"))
    found = recall(made.run, made.pool, needs((0, asked), (1, asked)))
    assert found.found.sum() == 0
    assert found.reached.sum(axis=1).tolist() == [1, 0]
    assert (found.far_reach.found, found.far_reach.needed) == (1, 4)


def test_an_original_that_was_altered_is_not_recoverable() -> None:
    made = RunBuilder()
    ref = made.pool.put("src/gone.py")
    made.original(ref.handle, "src/gone.py")
    made.pool.texts[ref.digest] = "src/gone.py and more"
    made.call(made.item("tool", f"see {ref.handle}", state="stub"))
    assert recall(made.run, made.pool, needs((0, (need("src/gone.py"),)))).reached.sum() == 0


def test_a_summary_id_reaches_the_messages_below_it_only_where_it_is_shown() -> None:
    history = said(("user", "src/old.py"), ("user", "src/older.py"))
    made = RunBuilder()
    made.node("sum_1", [0])
    made.node("sum_2", [1])
    made.node("sum_3", made_from=["sum_1", "sum_2"])
    made.call(made.item("user", '<summary id="sum_3">both</summary>', "summary", "summary"))
    made.call(made.item("user", "both", "summary", "summary", entry="sum_3"))
    made.call(made.item("user", "somebody says sum_3"))
    asked = (need("src/old.py"), need("src/older.py"))
    found = recall(made.run, made.pool, needs(*((call, asked) for call in range(3))), history=history)
    assert found.reached.sum(axis=1).tolist() == [2, 0, 0]


def test_keep_all_meets_every_need_and_another_session_none() -> None:
    turns = [("user", "src/one.py and LIMIT_MAX=3 in v1.2.3"), ("assistant", "read src/one.py v1.2.3 LIMIT_MAX=3")]
    history = said(*turns)  # type: ignore[arg-type]
    own = needs_of(history, [1])
    made = RunBuilder()
    made.call(made.item("user", turns[0][1]))
    assert own.total >= 2
    assert recall(made.run, made.pool, own).found.sum() == own.total
    other = needs_of(said(("user", "lib/far/away.go OTHER_KEY"), ("assistant", "lib/far/away.go OTHER_KEY")), [1])
    control = negative_control(made.run, made.pool, other)
    assert (control.found, control.needed, control.value) == (0, other.total, 0.0)
    assert negative_control(made.run, made.pool, Needs()).value is None


def test_a_tool_call_is_read_by_its_values() -> None:
    made = RunBuilder()
    made.call(made.item("assistant", '{"name":"run","arguments":{"command":"say \\"hi there\\""}}', "tool_call"))
    asked = needs((0, (Need("command", 'say "hi there"', ('say "hi there"',), 0, 0),)))
    assert recall(made.run, made.pool, asked).found.sum() == 1


def test_finder_finds_words_by_themselves() -> None:
    finder = Finder(["src/a.py", "a.py", "???", "src/b.py"])
    assert finder.found_in("look: src/a.py???") == (0, 1, 2)
    assert finder.found_in("xsrc/a.pyx") == ()
    assert finder.found_in("") == ()


def test_intervals_hold_the_pooled_share_and_are_the_same_every_time() -> None:
    found = np.array([[1], [0], [1], [1]])
    needed = np.ones((4, 1), dtype=int)
    first = intervals(found, needed)[0]
    assert first is not None
    assert first[0] < 0.75 < first[1] and first[0] >= 0 and first[1] <= 1
    assert intervals(found, needed)[0] == first
    assert intervals(np.ones((5, 1)), np.ones((5, 1)))[0] == (1.0, 1.0)
    assert intervals(found[:1], needed[:1]) == [None]
    assert intervals(found, np.array([[1], [0], [0], [0]])) == [None]


def test_ten_thousand_calls_with_long_windows_are_about_a_second() -> None:
    made = RunBuilder()
    items = [made.item("user", f"message {number} of src/f{number % 997}.py") for number in range(10_500)]
    window: list[int] = []
    log = WindowLog(made.run.log.table)
    made.run.log = log
    numbers = [log.table.intern(item) for item in items]
    for call in range(10_000):
        after = numbers[max(0, call - 800) : call + 1]
        log.add(window, after, 0 if call >= 800 else len(window))
        window = after
    asked = needs(*((call, (need(f"src/f{call * 7 % 997}.py"), need("src/f1.py", 3))) for call in range(10_000)))
    start = time.perf_counter()
    found = recall(made.run, made.pool, asked)
    shares = found.shares()
    assert time.perf_counter() - start < 8  # about half a second; whole windows, scanned anew, would be minutes
    # The newest message that names the file of call c is (−6c mod 997) back; the window holds 800 before the newest.
    held = sum(-6 * call % 997 <= min(800, call) for call in range(10_000))
    assert (shares[1].found, shares[1].needed) == (held, 10_000) and shares[1].interval is not None
