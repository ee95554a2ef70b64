"""Rules over a history: where each comes true, once for each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contextviz.analysis.live.alarms import History, alarms
from contextviz.events.call import ModelCall
from contextviz.events.compaction import Compaction
from contextviz.events.usage import TokenUsage

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def call(index: int, prompt: int, read: int | None = 0, written: int | None = 0, model: str = "m") -> ModelCall:
    usage = TokenUsage(prompt - (read or 0) - (written or 0), read, written, 5)
    return ModelCall(index, f"c{index}", None, T0 + timedelta(minutes=index), model, usage)


def fold(number: int, minute: int, after_call: int | None = None) -> Compaction:
    return Compaction(f"k{number}", number, None, "f", T0 + timedelta(minutes=minute), "summary", after_call=after_call,
                      tokens_before=900, tokens_after=None)  # fmt: skip


def test_fill_is_told_each_time_it_passes_from_below() -> None:
    history = History([call(n, p) for n, p in enumerate([700, 800, 900, 300, 850])], [], 1000)
    found = alarms("fill_above", {"percent": 80}, history)
    assert [one.call_index for one in found] == [1, 4]
    assert found[0].sentence == "the window is 80 % full: 800 of 1,000 tokens"
    assert alarms("fill_above", {"percent": 80}, History(history.calls, [], None)) == []


def test_overflow() -> None:
    history = History([call(n, p) for n, p in enumerate([900, 1001, 1200, 1000])], [], 1000)
    assert [one.call_index for one in alarms("overflow", {}, history)] == [1]


def test_compactions_and_several_in_a_short_time() -> None:
    history = History(
        [], [fold(1, 0), fold(2, 10), fold(3, 20), fold(4, 29), fold(5, 90), fold(6, 95), fold(7, 99)], None
    )
    assert [one.compaction for one in alarms("compaction", {}, history)] == [1, 2, 3, 4, 5, 6, 7]
    assert alarms("compaction", {}, history)[0].sentence == "compaction 1: 900 → — tokens by the client's count"
    crowded = alarms("compactions_within", {"count": 3, "minutes": 20}, history)
    assert [one.compaction for one in crowded] == [3, 7]


def test_a_prefix_break_is_what_the_bill_shows() -> None:
    rule = {"percent": 50, "tokens": 1000}
    calls = [call(0, 2000, 0, 2000), call(1, 2100, 2000, 100), call(2, 2200, 300, 0), call(3, 2300, 2200, 0)]
    assert [one.call_index for one in alarms("prefix_break", rule, History(calls, [], None))] == [2]
    assert alarms("prefix_break", rule, History(calls, [fold(1, 0, after_call=2)], None)) == []
    other = [*calls[:2], call(2, 2200, 300, 0, model="other")]
    assert alarms("prefix_break", rule, History(other, [], None)) == []
    silent = [call(0, 2000, None, None), call(1, 2000, None, None)]
    assert alarms("prefix_break", rule, History(silent, [], None)) == []
