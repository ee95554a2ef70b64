from __future__ import annotations

from importlib import import_module

import pytest

from contextviz.analysis.replay import CallOutput, bill, coverage, retention, stability, thrash
from contextviz.tokens.prices import Price, PriceTable
from tests.analysis.building import words
from tests.analysis.replay.building import RunBuilder, said

PRICES = PriceTable(
    "t", "2026-01-01",
    (Price("whole", 10.0, 50.0, 1.0, 12.0, 20.0), Price("plain", 10.0, 50.0), Price("short", 10.0, 50.0, 1.0, 12.0,
     None, 200_000)),
)  # fmt: skip


def stepped() -> RunBuilder:
    """Windows of 100, 150 and 90 tokens; the second keeps all of the first, the third only its first 10."""
    made = RunBuilder(system_tokens=1_000)
    head, old, new = (made.item("user", words(size, name)) for size, name in ((10, "h"), (90, "o"), (50, "n")))
    stub = made.item("user", words(80, "s"), reason="cut down", state="stub")
    made.call(head, old)
    made.call(head, old, new)
    made.call(head, stub)
    return made


def test_prefix_share_and_rewrite_factor() -> None:
    found = stability(stepped().run.calls)
    assert (found.kept, found.windows, found.prefix_share) == (110, 240, 110 / 240)
    # New: 100, then 50, then 80; the largest window is 150.
    assert (found.written, found.largest, found.rewrite_factor) == (230, 150, 230 / 150)
    assert [tuple(one) for one in found.culprits] == [("cut down", 1, 80)] and found.breaks == 1


def test_no_calls_have_no_prefix() -> None:
    found = stability([])
    assert (found.prefix_share, found.rewrite_factor, found.breaks) == (None, None, 0)
    one = RunBuilder()
    one.call(one.item("user", "a b"))
    assert (stability(one.run.calls).prefix_share, stability(one.run.calls).rewrite_factor) == (None, 1.0)


def test_a_window_that_only_lost_its_end_broke_the_prefix() -> None:
    made = RunBuilder()
    head, tail = made.item("user", "a b"), made.item("user", "c d e")
    made.call(head, tail)
    made.call(head)
    assert stability(made.run.calls).culprits == [("nothing follows any more", 1, 0)]


def test_a_kept_prefix_is_read_from_the_cache_and_the_rest_is_written() -> None:
    outputs = [CallOutput(7, True, "whole"), CallOutput(8, True, "whole"), CallOutput(9, True, "whole")]
    found = bill(stepped().run, outputs, PRICES)
    # Prompts: 1,100 new; 1,100 kept and 50 new; 1,010 kept and 80 new.
    assert (found.cached, found.written, found.output) == (2_110, 1_230, 24)
    # The windows are counted by an estimator, whatever the provider reported of the answers.
    assert found.tokens == 3_364 and found.basis == "estimated" and found.are_answers_reported
    assert found.cost == pytest.approx((2_110 * 1 + 1_230 * 12 + 24 * 50) / 1e6)


def test_a_model_without_cache_prices_pays_plain_input() -> None:
    found = bill(stepped().run, [CallOutput(1, False, "plain")] * 3, PRICES)
    assert found.cost == pytest.approx((3_340 * 10 + 3 * 50) / 1e6)
    assert found.basis == "estimated" and not found.are_answers_reported


@pytest.mark.parametrize("output", [CallOutput(None, False, "whole"), CallOutput(5, True, None)])
def test_what_is_not_known_is_not_billed(output: CallOutput) -> None:
    found = bill(stepped().run, [CallOutput(1, True, "whole"), output, CallOutput(1, True, "whole")], PRICES)
    assert found.cost is None and found.unpriced.total() == 1
    assert (found.tokens is None) == (output.tokens is None)


def test_a_prompt_above_what_the_price_holds_for_is_not_a_model_without_a_price() -> None:
    made = RunBuilder(system_tokens=200_000)
    for size in (0, 1):
        made.call(made.item("user", words(size + 1, "w")))
    found = bill(made.run, [CallOutput(1, True, "short"), CallOutput(1, True, "unheard-of")], PRICES)
    assert found.cost is None and dict(found.unpriced) == {"long": 1, "model": 1}
    assert found.why_no_cost == (
        "The model is not in the price list for calls: 1."
        " The price list has no price for prompts above 200,000 tokens, which calls have: 1."
    )
    # Other models cost the same above it.
    assert bill(made.run, [CallOutput(1, True, "whole")] * 2, PRICES).cost is not None


def test_no_price_list_and_no_answers_give_no_cost() -> None:
    assert bill(stepped().run, [CallOutput(1, True, "whole")] * 3, None).cost is None
    assert bill(stepped().run, (), PRICES).tokens is None
    assert bill(RunBuilder().run, (), PRICES).tokens is None


def test_coverage_counts_messages_under_exactly_one_standing_summary() -> None:
    made = RunBuilder()
    made.node("a", [0, 1])
    made.node("b", [2, 2])
    made.node("c", made_from=["a", "b"])
    made.node("d", [2])
    made.drop(0, 1, 2, 3)
    found = coverage(made.run)
    # 0 and 1 through c; 2 through c and d; 3 through none.
    assert (found.dropped, found.once, found.share) == (4, 2, 0.5)
    assert (found.overlaps, found.gaps, found.cycles) == ([2], [3], [])
    assert (found.depth, found.fan_in) == (1, 2)


def test_a_summary_that_was_rewritten_stands_for_nothing() -> None:
    made = RunBuilder()
    made.node("old", [0], stands=False)
    made.node("new", [0])
    made.drop(0)
    assert coverage(made.run).share == 1.0


def test_one_source_of_two_summaries_is_covered_twice() -> None:
    made = RunBuilder()
    made.node("a", [0])
    made.node("b", made_from=["a"])
    made.node("c", made_from=["a"])
    made.drop(0)
    assert (coverage(made.run).overlap_count, coverage(made.run).share) == (1, 0.0)


def test_what_hangs_on_a_cycle_is_covered_by_nothing() -> None:
    made = RunBuilder()
    made.node("a", [0], made_from=["b"])
    made.node("b", made_from=["a"])
    made.run.nodes[0].in_context = True
    made.drop(0)
    found = coverage(made.run)
    assert len(found.cycles) == 1 and (found.gaps, found.share) == ([0], 0.0)


def test_summaries_that_do_not_say_what_they_are_of_leave_coverage_unknown() -> None:
    made = RunBuilder()
    made.drop(0)
    made.run.boundaries[0].compaction.kind = "summary"
    assert (coverage(made.run).share, coverage(made.run).gap_count) == (None, 1)


def test_without_boundaries_there_is_no_share() -> None:
    assert coverage(RunBuilder().run).share is None
    made = RunBuilder()
    made.drop(0)
    assert (coverage(made.run).share, coverage(made.run).depth) == (0.0, None)


def test_losses_are_pooled_over_boundaries() -> None:
    history = said(("user", "src/kept.py and src/lost.py"), ("user", "src/back.py"), ("user", "lib/deep/variant.py"))
    made = RunBuilder()
    original = "src/back.py"
    handle = made.pool.put(original).handle
    made.original(handle, original)
    made.call(made.item("user", "x"))
    made.drop(0, 1)
    marker = f'[flowctx-dsh: text compressed 9→1 chars. Retrieve original via flowctx_retrieve(hash="{handle}").]'
    made.call(made.item("user", "src/kept.py", "summary", "summary"), made.item("tool", marker, state="stub"))
    made.drop(2)
    made.call(made.item("user", "variant.py"))
    found = retention(made.run, made.pool, history)
    assert dict(found.states) == {"kept": 1, "lost": 1, "recoverable": 1, "variant": 1}
    assert (found.rows, found.retention, found.reach, found.staleness) == (4, 0.25, 0.75, 0.0)
    assert (found.boundaries, found.read, found.chosen, found.notes) == (2, 2, [1, 2], [])


def test_what_is_kept_and_no_longer_true_is_stale() -> None:
    history = said(("user", "old/file.py"), ("assistant", "rm old/file.py"))
    made = RunBuilder()
    made.call()
    made.drop(0, 1)
    made.call(made.item("user", "the file old/file.py", "summary", "summary"))
    found = retention(made.run, made.pool, history)
    assert found.states["stale"] == 1
    assert found.staleness == found.states["stale"] / (found.states["stale"] + found.states["kept"])


def test_a_boundary_that_no_call_follows_is_not_read() -> None:
    made = RunBuilder()
    made.drop(0)
    made.run.boundaries[0].compaction.after_call = None
    assert retention(made.run, made.pool, said(("user", "src/a.py"))).retention is None


def test_many_boundaries_are_read_at_even_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("contextviz.analysis.replay.retention"), "MOST_CHARS", 100)
    history = said(*(("user", f"src/file{number}.py") for number in range(40)))
    made = RunBuilder()
    for number in range(40):
        made.drop(number)
        made.call(made.item("user", words(20)))
    found = retention(made.run, made.pool, history)
    assert (found.boundaries, found.read) == (40, 8) and found.chosen == [1, 6, 11, 16, 21, 26, 31, 36]
    assert found.notes == ["8 of 40 boundaries were read, evenly spaced."]


@pytest.mark.parametrize(
    ("turns", "caught"),
    [([1, 2, 3], 3), ([1, 5, 10], 3), ([1, 5, 11], 0), ([1, 2], 0), ([1, 2, 3, 20, 21, 40], 3), ([1, 5, 9, 13], 4)],
)
def test_thrash_is_three_boundaries_within_ten_turns(turns: list[int], caught: int) -> None:
    made = RunBuilder()
    made.turns(*turns)
    for number in range(len(turns)):
        made.drop(number, messages=number + 1)
    assert thrash(made.run) == caught
